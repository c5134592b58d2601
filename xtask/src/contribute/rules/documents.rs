//! Code that documents name by a path, such as `ImportedTensor::from_raw`, the length of the
//! guide's pages about functions, and that of the cells of tables.

use crate::checkout::{Outcome, read};
use std::path::{Path, PathBuf};

use super::index::Index;

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
    for page in tree.iter().filter(|file| file.ends_with(".md") && !is_written(file)) {
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
        index.add(&["raw".to_owned()], "fn claims() {}");
        index.add(&["tensor".to_owned()], "fn dims() {}");
        assert!(resolves("raw::claims", &index));
        assert!(index.has("dims") && !resolves("raw::dims", &index));
        assert!(resolves("Box::leak", &index) && !resolves("Boxed::leak", &index));
    }
}
