//! No folder of the two crates has more lines of code, files or `unsafe` than its budget.
//!
//! A line of code has neither only a comment nor nothing, and is not of a module of tests.
//! `DLPACK_BLESS=1 cargo test -p dlpack-tests --test sources budget` writes the table; a number that grows
//! needs a line under "Cost" in `CHANGELOG.md`.
use core::fmt::Display;
use core::iter;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const TABLE: &str = "quality/budget.txt";
const HEAD: &str = "# The most lines of code, files, and uses of `unsafe` that a folder may have.\n\
    # `DLPACK_BLESS=1 cargo test -p dlpack-tests --test sources budget` writes this table.\n\
    # A number that grows needs a line under \"Cost\" in CHANGELOG.md.\n\n";
const CRATES: [&str; 2] = ["dlpack-traits/src", "dlpack-derive/src"];

/// What a file or a folder costs its readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    lines: usize,
    files: usize,
    r#unsafe: usize,
}

impl Cost {
    /// Counts a file.
    fn of(source: &str) -> Self {
        let mut cost = Self { files: 1, ..Self::default() };
        let mut lines = source.lines().peekable();
        while let Some(line) = lines.next() {
            if line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.ends_with('{')) {
                // An inner module ends with the first brace that is not indented.
                while lines.next().is_some_and(|line| !line.starts_with('}')) {}
                continue;
            }
            let code = line.trim();
            if !code.is_empty() && !code.starts_with("//") {
                cost.lines += 1;
                cost.r#unsafe += uses_of_unsafe(code);
            }
        }
        cost
    }

    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.files += other.files;
        self.r#unsafe += other.r#unsafe;
    }

    fn exceeds(self, budget: Self) -> bool {
        self.lines > budget.lines || self.files > budget.files || self.r#unsafe > budget.r#unsafe
    }
}

/// The number of times that the keyword occurs in a line, outside of strings and comments.
fn uses_of_unsafe(code: &str) -> usize {
    let outside: String = code.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    let outside = outside.split("//").next().unwrap_or_default();
    let words = outside.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '#');
    words.filter(|word| *word == "unsafe").count()
}

/// The costs of the crates and of each folder and file directly below them.
fn costs(root: &Path) -> BTreeMap<String, Cost> {
    let mut costs = BTreeMap::<String, Cost>::new();
    for name in CRATES {
        let sources = root.join(name);
        for path in rust_files(&sources) {
            let inside = path.strip_prefix(&sources).expect("a file of the crate");
            // Files of tests are named so.
            if inside
                .components()
                .any(|part| part.as_os_str().to_string_lossy().starts_with("tests"))
            {
                continue;
            }
            let cost = Cost::of(&fs::read_to_string(&path).expect("a source"));
            let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
            // `export.rs` is the root of the folder `export`.
            let folder = first.trim_end_matches(".rs");
            let folder = if sources.join(folder).is_dir() { folder } else { "." };
            costs.entry(name.to_owned()).or_default().add(cost);
            costs.entry(format!("{name}/{folder}")).or_default().add(cost);
        }
    }
    costs
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

fn table(costs: &BTreeMap<String, Cost>) -> String {
    let row = |folder: &str, cost: [&dyn Display; 3]| {
        format!("{folder:<32}{:>8}{:>8}{:>8}\n", cost[0], cost[1], cost[2])
    };
    let head = row("folder", [&"lines", &"files", &"unsafe"]);
    let rows = costs
        .iter()
        .map(|(folder, Cost { lines, files, r#unsafe })| row(folder, [lines, files, r#unsafe]));
    iter::once(format!("{HEAD}{head}")).chain(rows).collect()
}

fn parsed(table: &str) -> BTreeMap<String, Cost> {
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', 'f']));
    rows.map(|row| {
        let mut words = row.split_whitespace();
        let folder = words.next().expect("a folder").to_owned();
        let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a number");
        (folder, Cost { lines: number(), files: number(), r#unsafe: number() })
    })
    .collect()
}

#[test]
fn folders_are_within_their_budgets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let costs = costs(&root);
    let path = root.join(TABLE);
    if std::env::var_os("DLPACK_BLESS").is_some() {
        fs::write(&path, table(&costs)).expect("the table is written");
        return;
    }
    let budgets = parsed(&fs::read_to_string(&path).expect("the table"));
    for (folder, cost) in costs {
        let budget = budgets.get(&folder).copied().unwrap_or_default();
        assert!(
            !cost.exceeds(budget),
            "{folder} costs {cost:?}, and its budget in {TABLE} is {budget:?}; take something \
             out, or bless the table and name the cost in CHANGELOG.md"
        );
    }
}

#[test]
fn comments_and_tests_cost_nothing() {
    let source = "//! Text.\n\nunsafe fn a() {} // unsafe\nlet b = \"unsafe\";\n\
                  #[cfg(test)]\nmod tests {\n    unsafe {}\n}\nfn c() {}\n";
    assert_eq!(Cost::of(source), Cost { lines: 3, files: 1, r#unsafe: 1 });
}

#[test]
fn tables_are_read_as_they_are_written() {
    let costs = BTreeMap::from([("a/b".to_owned(), Cost { lines: 12, files: 3, r#unsafe: 0 })]);
    assert_eq!(parsed(&table(&costs)), costs);
}
