//! No folder of the two crates has more lines of code, files or `unsafe` than its budget.
//!
//! A line of code has neither only a comment nor nothing, and is not of a module of tests.
//! `DLPACK_BLESS=1 cargo test -p dlpack-tests --test sources budget` writes the table; a number that
//! grows needs a line under "Cost" in `CHANGELOG.md`.

use std::collections::BTreeMap;
use std::{env, fs};

use super::text::{read, root, sources, tokens};

const TABLE: &str = "quality/budget.txt";
const HEAD: &str = "# The most lines of code, files, and uses of `unsafe` that a folder may have.\n\
    # `DLPACK_BLESS=1 cargo test -p dlpack-tests --test sources budget` writes this table.\n\
    # A number that grows needs a line under \"Cost\" in CHANGELOG.md.\n\n";

/// Lines, files and uses of `unsafe`.
type Cost = [usize; 3];

fn cost(code: &str) -> Cost {
    let lines = code.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    [lines, 1, tokens(code).iter().filter(|token| **token == "unsafe").count()]
}

/// The costs of the crates and of each folder and file directly below them.
fn costs() -> BTreeMap<String, Cost> {
    let mut costs = BTreeMap::<String, Cost>::new();
    for package in ["dlpack-traits", "dlpack-derive"] {
        for (name, code) in sources(package) {
            // `export.rs` is the root of the folder `export`.
            let first = name.split(['/', '.']).next().unwrap_or_default();
            let is_folder = root().join(package).join("src").join(first).is_dir();
            let all = format!("{package}/src");
            let folder = format!("{all}/{}", if is_folder { first } else { "." });
            for folder in [all, folder] {
                let sum = costs.entry(folder).or_default();
                *sum = core::array::from_fn(|at| sum[at] + cost(&code)[at]);
            }
        }
    }
    costs
}

#[test]
fn folders_are_within_their_budgets() {
    let row = |folder: &str, [lines, files, uses]: [&str; 3]| {
        format!("{folder:<32}{lines:>8}{files:>8}{uses:>8}\n")
    };
    let mut right = HEAD.to_owned() + &row("folder", ["lines", "files", "unsafe"]);
    let (table, is_blessed) = (read(TABLE), env::var_os("DLPACK_BLESS").is_some());
    for (folder, cost) in costs() {
        let found = table.lines().find(|row| row.split_whitespace().next() == Some(&*folder));
        let budget = found.into_iter().flat_map(str::split_whitespace).skip(1);
        let budget: Vec<usize> = budget.map(|number| number.parse().expect("a number")).collect();
        let is_within = budget.len() == 3 && (0..3).all(|at| cost[at] <= budget[at]);
        assert!(
            is_within || is_blessed,
            "{folder} costs {cost:?}, and its budget in {TABLE} is {budget:?}; take something out, \
             or bless the table and name the cost in CHANGELOG.md"
        );
        let [lines, files, uses] = cost.map(|number| number.to_string());
        right += &row(&folder, [&lines, &files, &uses]);
    }
    if is_blessed {
        fs::write(root().join(TABLE), right).expect("the table can be written");
    }
}
