//! Pages that quote sources have the current text.
//!
//! `<!-- quoted: PATH -->` before a code block marks it as the text of that file,
//! without the comment at its head. `DLPACK_BLESS=1 cargo test -p dlpack-tests --test
//! quoted` rewrites the blocks. `<!-- excerpt: PATH -->` marks the block as a part of
//! that file.
use std::fs;
use std::path::Path;

const PAGES: &[&str] = &["docs/coming-from.md"];
const MARK: &str = "<!-- quoted: ";

const PAGES_WITH_EXCERPTS: &[&str] = &[
    "docs/library-authors.md",
    "docs/reference.md",
    "docs/types-of-other-crates.md",
    "examples/no-python/README.md",
    "examples/ranks/README.md",
    "examples/functions/README.md",
    "examples/jax-ffi/README.md",
    "examples/safetensors/README.md",
    "examples/shared-memory/README.md",
    "examples/torch-operators/README.md",
    "examples/tvm-ffi/README.md",
    "examples/wrapped/README.md",
];
const EXCERPT: &str = "<!-- excerpt: ";

#[test]
fn quoted_blocks_equal_their_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for page in PAGES {
        let path = root.join(page);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(MARK), "{page} quotes nothing");
        let right = quoted(&root, &text);
        if std::env::var_os("DLPACK_BLESS").is_some() {
            write(&path, &text, &right);
        } else {
            assert!(text == right, "{page} quotes an old text; DLPACK_BLESS=1 rewrites it");
        }
    }
}

#[test]
fn excerpts_are_part_of_their_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for page in PAGES_WITH_EXCERPTS {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let parts: Vec<_> = text.split(EXCERPT).skip(1).collect();
        assert!(!parts.is_empty(), "{page} has no excerpt");
        for part in parts {
            let (name, rest) = part.split_once(" -->\n").expect("a mark ends its line");
            let (_, rest) = rest.split_once('\n').expect("a block follows");
            let (code, _) = rest.split_once("```").expect("a block ends");
            let source = fs::read_to_string(root.join(name)).expect(name);
            assert!(source.contains(code), "{page}: {name} does not say\n{code}");
        }
    }
}

/// Writes a page that changed: another test may read it meanwhile.
fn write(path: &Path, text: &str, right: &str) {
    if text != right {
        fs::write(path, right).unwrap();
    }
}

/// The page whose table counts the lines of files, and its number of rows with a file.
const COUNTED: (&str, usize) = ("docs/types-of-other-crates.md", 19);

#[test]
fn counted_lines_are_those_of_the_files() {
    let (page, rows) = COUNTED;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (right, found) = counted(path.parent().unwrap(), &text);
    assert_eq!(found, rows, "rows of {page} that link to a file");
    if std::env::var_os("DLPACK_BLESS").is_some() {
        write(&path, &text, &right);
    } else {
        for (old, new) in text.lines().zip(right.lines()) {
            assert_eq!(old, new, "{page} has an old count; DLPACK_BLESS=1 corrects it");
        }
    }
}

/// The page with the number of lines of each row whose first cell links to a Rust file, and the
/// number of these rows.
fn counted(folder: &Path, page: &str) -> (String, usize) {
    let (mut right, mut rows) = (String::new(), 0);
    for line in page.split_inclusive('\n') {
        let mut cells: Vec<_> = line.split('|').map(str::to_owned).collect();
        let file = cells.get(1).and_then(|cell| {
            let (_, rest) = cell.split_once("](")?;
            let (file, _) = rest.split_once(')')?;
            let file = folder.join(file);
            file.extension().is_some_and(|extension| extension == "rs").then_some(file)
        });
        if let (Some(file), Some(count)) = (file, cells.get_mut(2)) {
            let source = fs::read_to_string(&file).unwrap_or_else(|_| panic!("{}", file.display()));
            *count = format!(" {} ", lines_of_code(&source));
            rows += 1;
        }
        right += &cells.join("|");
    }
    (right, rows)
}

/// Number of lines before the tests without `use`, comments, attributes of the file and empty
/// lines.
fn lines_of_code(source: &str) -> usize {
    let (code, _) = source.split_once("#[cfg(test)]").unwrap_or((source, ""));
    let mut in_use = false;
    let is_code = |line: &&str| {
        in_use |= line.starts_with("use ") || line.starts_with("pub use ");
        let counts = !in_use
            && !line.trim().is_empty()
            && !line.trim_start().starts_with("//")
            && !line.starts_with("#![");
        in_use &= !line.ends_with(';');
        counts
    };
    code.lines().filter(is_code).count()
}

#[test]
fn lines_of_code_are_counted_by_the_rule() {
    for (text, expected) in [
        ("//! A.\n#![forbid(unsafe_code)]\n\nuse a::b;\n", 0),
        ("use a::{\n    b,\n};\n\n/// B.\n#[derive(C)]\nstruct D;\n", 2),
        ("fn a() {\n    // B.\n    c(); // D.\n}\n", 3),
        ("fn a() {}\n\n#[cfg(test)]\nmod tests {}\n", 1),
    ] {
        assert_eq!(lines_of_code(text), expected, "{text}");
    }
}

/// The page, with each quotation as its file is now.
fn quoted(root: &Path, page: &str) -> String {
    let mut parts = page.split(MARK);
    let mut right = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").expect("a mark ends its line");
        let (fence, rest) = rest.split_once('\n').expect("a block follows");
        assert!(fence.starts_with("```"), "no block follows `{name}`");
        let (_, after) = rest.split_once("```\n").expect("a block ends");
        let source = fs::read_to_string(root.join(name)).expect(name);
        let code = without_head(&source);
        let parts = [MARK, name, " -->\n", fence, "\n", code, "```\n", after];
        right += &parts.concat();
    }
    right
}

fn without_head(source: &str) -> &str {
    let mut rest = source;
    while rest.starts_with("//!") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.trim_start_matches('\n')
}

#[test]
fn changed_sources_are_detected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = format!("a\n{MARK}support/lib.rs -->\n```rust\nfn no_more() {{}}\n```\nb\n");
    let right = quoted(root, &page);
    assert!(right.starts_with("a\n") && right.ends_with("```\nb\n"));
    assert!(!right.contains("no_more") && right.contains("mod "));
}
