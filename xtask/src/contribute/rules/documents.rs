//! Code that documents name by a path, such as `ImportedTensor::from_raw`, the length of the
//! guide's pages about functions, and that of the cells of tables; and `docs/standard.md`, from each
//! clause to the code that keeps it and to its test.

use crate::checkout::{Outcome, read};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::reference::Reference;

/// Folders with sources: the name that documents use for the crate, and the folder.
const CRATES: [(&str, &str); 10] = [
    ("dlpack_traits", "dlpack-traits/src"),
    ("dlpack_derive", "dlpack-derive/src"),
    ("tests", "tests/rust"),
    ("dlpack_tests", "tests/support"),
    ("accelerators", "tests/devices/accelerators/tests"),
    ("gpu", "tests/devices/gpu/tests"),
    ("simulator", "tests/devices/simulator/src"),
    ("vulkan", "tests/devices/vulkan/tests"),
    ("doctor", "tools/doctor/src"),
    ("xtask", "xtask/src"),
];

/// The keywords before the name of an item, and those of types.
const ITEMS: [&str; 10] =
    ["struct", "union", "enum", "trait", "mod", "fn", "type", "static", "const", "macro_rules"];
const TYPES: [&str; 5] = ["struct", "union", "enum", "trait", "type"];

/// Paths, or beginnings of paths, into the standard library and other projects.
const OUTSIDE: [&str; 10] = [
    "Box",
    "isize",
    "serde",
    "sycl",
    // Of bytes and polars, in docs/types-of-other-crates.md.
    "bytes",
    "Bytes::from_owner",
    "Buffer::from_owner",
    // Of dlpark and image, in docs/coming-from.md.
    "image",
    "Managed::from_raw",
    "metadata::Fixed",
];

/// The pages of the guide that each show one task of a function over arrays.
const FUNCTION_PAGES: [&str; 10] = [
    "accept_array",
    "keep_argument",
    "return_array",
    "change_in_place",
    "release_gil",
    "rayon",
    "async_functions",
    "device_functions",
    "generic_tensors",
    "errors",
];

/// The maximum number of lines of each of them.
const MOST_LINES: usize = 60;

/// The maximum number of words in the cell of a table.
const MOST_WORDS: usize = 25;

/// Folders of pages that commands write.
const GENERATED: [&str; 2] = ["/docs/generated/", "/docs/records/"];

/// What documents name that is not defined, a sentence for each name; and pages that are too long.
pub(super) fn problems(root: &Path, index: &Index) -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    let mut tree = Vec::new();
    files(root, "", &mut tree)?;
    for page in pages(root)? {
        let text = read(&page)?;
        let page = page.strip_prefix(root).unwrap_or(&page).display();
        for (number, name) in references(&text) {
            if !resolves(name, index) {
                problems.push(format!("{page}:{number}: `{name}` is not defined under this path"));
            }
        }
        for (number, file) in in_backquotes(&text).filter(|(_, code)| is_file(code)) {
            if !is_in(&tree, file) {
                problems.push(format!("{page}:{number}: there is no file `{file}`"));
            }
        }
    }
    let is_written = |file: &str| GENERATED.iter().any(|folder| file.starts_with(folder));
    let is_page = |file: &&String| Path::new(file).extension().is_some_and(|it| it == "md");
    for page in tree.iter().filter(is_page).filter(|file| !is_written(file)) {
        for (number, cell) in long_cells(&read(&root.join(&page[1..]))?) {
            problems.push(format!(
                "{page}:{number}: a cell has more than {MOST_WORDS} words; move what follows its \
                 first sentence below the table: {cell}"
            ));
        }
    }
    for name in FUNCTION_PAGES {
        let page = format!("dlpack-traits/src/guide/{name}.md");
        problems.extend(too_long(&page, &read(&root.join(&page))?));
    }
    Ok(problems)
}

/// The problem of a page about functions that has too many lines.
fn too_long(page: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MOST_LINES).then(|| {
        format!(
            "{page}: expected at most {MOST_LINES} lines, as in each page of the guide about \
             functions, got {lines}; shorten the page"
        )
    })
}

/// The cells of tables with too many words, with the numbers of their lines.
fn long_cells(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with("| "));
    let cells = rows.flat_map(|(at, row)| row.split(" | ").map(move |cell| (at + 1, cell)));
    cells.filter(|(_, cell)| cell.trim_matches('|').split_whitespace().count() > MOST_WORDS)
}

/// The pages for people who change this project.
fn pages(root: &Path) -> Outcome<Vec<PathBuf>> {
    let folder = root.join("docs");
    let unreadable = |error| format!("{} cannot be read ({error}).", folder.display());
    let mut pages = vec![root.join("CONTRIBUTING.md")];
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

fn resolves(name: &str, index: &Index) -> bool {
    let is_outside = |outside: &str| {
        name.strip_prefix(outside).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    OUTSIDE.iter().any(|outside| is_outside(outside)) || index.has(name)
}

/// Adds all files below a folder, by their paths from the root.
fn files(folder: &Path, name: &str, found: &mut Vec<String>) -> Outcome {
    let unreadable = |error| format!("{} cannot be read ({error}).", folder.display());
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(last) = path.file_name().and_then(|last| last.to_str()) else { continue };
        let name = format!("{name}/{last}");
        if !path.is_dir() {
            found.push(name);
        } else if !["target", ".git", ".venv", "__pycache__", "node_modules"].contains(&last) {
            files(&path, &name, found)?;
        }
    }
    Ok(())
}

/// Whether code is the path of a file of the project, in full or from some folder on.
fn is_file(code: &str) -> bool {
    let path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let extension = Path::new(code).extension().and_then(|extension| extension.to_str());
    code.chars().all(path)
        && extension.is_some_and(|extension| ["md", "py", "rs", "toml", "txt"].contains(&extension))
}

fn is_in(tree: &[String], file: &str) -> bool {
    let end = format!("/{file}");
    tree.iter().any(|path| path.ends_with(&end))
}

/// The paths between backquotes outside of code blocks, with the numbers of their lines.
fn references(text: &str) -> impl Iterator<Item = (usize, &str)> {
    in_backquotes(text).filter_map(|(number, code)| Some((number, path_in(code)?)))
}

/// The text between backquotes outside of code blocks, with the numbers of its lines.
fn in_backquotes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        !in_block && !fence
    });
    lines.flat_map(|(at, line)| line.split('`').skip(1).step_by(2).map(move |code| (at + 1, code)))
}

/// The path in `a::b`, `a::b()` or `a::b(x)`.
fn path_in(code: &str) -> Option<&str> {
    let path = code.split('(').next().unwrap_or(code);
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    (path.contains("::") && path.split("::").all(is_name)).then_some(path)
}

/// The sources of one module, read as text.
#[derive(Debug)]
struct Module {
    /// The crate, and the names of folders and of the file.
    path: Vec<String>,
    /// What it defines: items, fields and variants.
    names: HashSet<String>,
    /// Its types, and the words in the headers of its implementations.
    types: HashSet<String>,
    /// The words of `pub use`.
    exports: HashSet<String>,
}

/// The definitions of the Rust sources: enough to find a reference to a wrong module or type.
#[derive(Debug, Default)]
pub(super) struct Index {
    modules: Vec<Module>,
    /// Type aliases, and the types that they stand for.
    aliases: HashSet<(String, String)>,
}

impl Index {
    /// Reads all sources below `root`.
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let mut index = Self::default();
        for (name, folder) in CRATES {
            let mut tree = Vec::new();
            files(&root.join(folder), "", &mut tree)?;
            for file in tree.iter().filter_map(|file| file.strip_suffix(".rs")) {
                let names = file.split('/').filter(|it| !["", "lib", "main", "mod"].contains(it));
                let path: Vec<&str> = [name].into_iter().chain(names).collect();
                index.add(&path, &read(&root.join(format!("{folder}{file}.rs")))?);
            }
        }
        Ok(index)
    }

    /// Adds a file that is this module.
    pub(super) fn add(&mut self, path: &[&str], text: &str) {
        let path = path.iter().map(|&name| name.to_owned()).collect();
        let (mut names, mut types, mut exports) = (HashSet::new(), HashSet::new(), HashSet::new());
        for statement in text.split(';').filter_map(|it| Some(it.rsplit_once("\npub")?.1)) {
            if let Some((_, list)) = statement.split_once("use ").filter(|it| it.0.len() < 10) {
                exports.extend(words(list).map(str::to_owned));
                exports.extend(list.ends_with('*').then(|| "*".to_owned()));
            }
        }
        let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        let mut in_header = false;
        for line in lines {
            let all: Vec<&str> = words(line).collect();
            if let Some((alias, of)) = line.split_once("type ").and_then(|it| it.1.split_once('='))
            {
                let of = of.split(['<', ';']).next().and_then(|of| words(of).last());
                let alias = words(alias).next().zip(of);
                self.aliases.extend(alias.map(|(name, of)| (name.to_owned(), of.to_owned())));
            }
            for pair in all.windows(2) {
                if ITEMS.contains(&pair[0]) {
                    names.insert(pair[1].to_owned());
                    types.extend(TYPES.contains(&pair[0]).then(|| pair[1].to_owned()));
                }
            }
            in_header |= line.starts_with("impl") || line.starts_with("unsafe impl");
            if in_header {
                types.extend(all.iter().map(|&word| word.to_owned()));
                in_header = !line.contains('{');
            }
            let member = all.iter().find(|word| !["pub", "crate", "super"].contains(word));
            names.extend(member.map(|&word| word.to_owned()).filter(|word| {
                let rest = line.split_once(word.as_str()).map_or("", |(_, rest)| rest);
                let is_variant = word.starts_with(char::is_uppercase);
                (rest.starts_with(':') && !rest.starts_with("::"))
                    || (is_variant && (rest.is_empty() || rest.starts_with([',', ' ', '('])))
            }));
        }
        self.modules.push(Module { path, names, types, exports });
    }

    /// Whether something is defined under a path such as `b::f`: in a module or type `b`,
    /// or in one that `b` re-exports.
    pub(super) fn has(&self, reference: &str) -> bool {
        let wanted: Vec<String> = reference.split("::").map(str::to_owned).collect();
        let Some((name, outer)) = wanted.split_last() else { return false };
        self.modules.iter().any(|module| {
            module.path.ends_with(&wanted)
                || (module.names.contains(name) && self.is_within(module, outer))
                || (outer.split_last().is_some_and(|(last, rest)| {
                    module.path.last() == Some(last)
                        && self.exports(module, name)
                        && rest.iter().all(|it| module.path.contains(it))
                }))
        })
    }

    fn is_within(&self, module: &Module, outer: &[String]) -> bool {
        let Some((last, rest)) = outer.split_last() else { return true };
        let mut aliases = self.aliases.iter().filter(|(alias, _)| alias == last);
        let is_here = module.path.last() == Some(last)
            || module.types.contains(last)
            || aliases.any(|(_, of)| module.types.contains(of));
        is_here
            && rest.iter().all(|name| {
                module.path.contains(name)
                    || module.types.contains(name)
                    || self
                        .modules
                        .iter()
                        .any(|it| it.path.last() == Some(name) && self.exports(it, last))
            })
    }

    fn exports(&self, module: &Module, name: &str) -> bool {
        let all = |it: &Module| it.path.starts_with(&module.path) && it.names.contains(name);
        module.exports.contains(name)
            || (module.exports.contains("*") && self.modules.iter().any(all))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// What is wrong with the page, a sentence for each mistake.
pub(super) fn problems_of_the_standard(root: &Path, index: &Index) -> Outcome<Vec<String>> {
    let page = read(&root.join("docs/standard.md"))?;
    let header = read(&root.join("dlpack-traits/src/ffi.rs"))?;
    let mut problems: Vec<String> = names_of(&header)
        .filter(|name| !page.contains(&format!("`{name}`")))
        .map(|name| format!("docs/standard.md says nothing of `{name}`"))
        .collect();
    for row in rows_of_clauses(&page) {
        problems.extend(check_clause(root, &row, index).map(|what| format!("{}: {what}", row[0])));
    }
    Ok(problems)
}

/// The names that the C header has, but for fields.
fn names_of(header: &str) -> impl Iterator<Item = &str> {
    header.lines().filter_map(|line| {
        let words = line.strip_prefix("pub ")?;
        let rest = ["const ", "struct ", "type "].iter().find_map(|it| words.strip_prefix(it))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

/// The cells of each row that has code and tests.
fn rows_of_clauses(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect::<Vec<_>>())
        .filter(|cells| cells.len() == 4 && cells[0] != "clause")
}

/// What a row names that is not there.
fn check_clause(root: &Path, row: &[&str], index: &Index) -> Option<String> {
    let [_, _, code, tests] = row else { return Some("it has not four cells".to_owned()) };
    if code_in(code).next().is_none() || code_in(tests).next().is_none() {
        return Some("it names no code, or no test".to_owned());
    }
    for name in code_in(code) {
        if !index.has(name) {
            return Some(format!("`{name}` is not defined under this path"));
        }
    }
    code_in(tests).find_map(|test| Reference::parse(test).and_then(|it| it.find(root)).err())
}

/// What stands between backquotes.
fn code_in(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_outside_of_code_blocks() {
        let text =
            "`a::b` and `c`, `a::b::C::d()`\n```rust\n`e::f`\n```\n`g.rs::h` `I::J(x)` `<K>::l`";
        let found: Vec<_> = references(text).collect();
        assert_eq!(found, [(1, "a::b"), (1, "a::b::C::d"), (5, "I::J")]);
    }

    #[test]
    fn files_are_found_by_the_end_of_their_path() {
        assert!(is_file("managed/packet.rs") && is_file("Cargo.toml"));
        assert!(!is_file("managed/") && !is_file("a.rs::b") && !is_file("tests/*.txt"));
        let tree = ["/dlpack-traits/src/managed/packet.rs".to_owned()];
        assert!(is_in(&tree, "managed/packet.rs") && is_in(&tree, "packet.rs"));
        assert!(!is_in(&tree, "import/packet.rs") && !is_in(&tree, "et.rs"));
    }

    #[test]
    fn a_page_about_functions_has_at_most_60_lines() {
        let text = |lines| "line\n".repeat(lines);
        assert_eq!(too_long("guide/errors.md", &text(MOST_LINES)), None);
        let problem = too_long("guide/errors.md", &text(MOST_LINES + 1)).unwrap();
        assert!(problem.contains("guide/errors.md: expected at most 60 lines"), "{problem}");
        assert!(problem.contains("got 61; shorten the page"), "{problem}");
    }

    #[test]
    fn cells_of_tables_are_short() {
        let words = |count| "word ".repeat(count);
        let text = format!("{}\n| a | {} |\n| b | {}|\n", words(30), words(25), words(26));
        let found: Vec<_> = long_cells(&text).map(|(number, _)| number).collect();
        assert_eq!(found, [3]);
    }

    /// A function of this name exists, in another module than the document names: a search
    /// for the last name in all sources accepts the reference.
    #[test]
    fn a_reference_to_a_wrong_module_is_a_problem() {
        let mut index = Index::default();
        index.add(&["raw"], "fn claims() {}");
        index.add(&["tensor"], "fn dims() {}");
        assert!(resolves("raw::claims", &index));
        assert!(index.has("dims") && !resolves("raw::dims", &index));
        assert!(resolves("Box::leak", &index) && !resolves("Boxed::leak", &index));
    }

    #[test]
    fn definitions_are_found_in_their_module_or_type() {
        let mut index = Index::default();
        index.add(&["traits"], "mod import;\npub use import::{Error, Node};\n");
        let uses = "pub(crate) mod raw;\npub use node::{\n    Error,\n    Node,\n};\n";
        index.add(&["traits", "import"], uses);
        let raw = "fn take() {}\nimpl<'a, T> Checked<'a, T>\nwhere\n    T: Copy,\n{\n    \
                   pub(super) const unsafe fn check(&self) {}\n}\n";
        index.add(&["traits", "import", "raw"], raw);
        let node = "pub struct Node {\n    pub strides: u8,\n}\npub enum Error {\n    Empty,\n}\n";
        index.add(&["traits", "import", "node"], node);
        for name in [
            "take",
            "raw::take",
            "traits::import::raw::take",
            "import::raw",
            "raw::Checked::check",
            "Node::strides",
            "import::Error::Empty",
            "import::Node",
            "traits::Error",
        ] {
            assert!(index.has(name), "{name}");
        }
        for name in ["node::take", "import::take", "Node::check", "raw::dims", "raw::Error"] {
            assert!(!index.has(name), "{name}");
        }
    }

    #[test]
    fn names_are_read() {
        let header =
            "pub struct DLDevice {\n    pub device_id: i32,\n}\npub const kDLCPU: X = 1;\n";
        assert_eq!(names_of(header).collect::<Vec<_>>(), ["DLDevice", "kDLCPU"]);
    }

    #[test]
    fn rows_that_lack_something_are_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut index = Index::default();
        index.add(&["raw"], "fn take() {}");
        let of = |line: &str| check_clause(&root, &rows_of_clauses(line).next().unwrap(), &index);
        let table = "`import/rejects.rs::null_is_rejected`";
        assert_eq!(of(&format!("| a | b | `raw::take` | {table} |")), None);
        assert!(of(&format!("| a | b | `tak` | {table} |")).unwrap().contains("`tak`"));
        assert!(
            of("| a | b | `take` | `import/rejects.rs::no_such` |").unwrap().contains("no_such")
        );
        assert!(of("| a | b | `take` | none |").unwrap().contains("no test"));
    }
}
