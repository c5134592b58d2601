//! The code and the tests in the README exist in the sources.

use std::fs;
use std::path::Path;

#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn the_code_in_the_readme_is_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: String = ["src/backend.rs", "src/tensor.rs", "tests/conform.rs"]
        .iter()
        .map(|file| fs::read_to_string(folder.join(file)).unwrap())
        .collect();
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let blocks: Vec<&str> = readme
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert!(blocks.len() >= 7, "only {} blocks", blocks.len());
    for block in blocks {
        assert!(sources.contains(block), "the sources do not say\n{block}");
    }
}

/// Every test that the README names exists.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn the_tests_in_the_readme_are_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let tests = fs::read_to_string(folder.join("tests/sync_for.rs")).unwrap();
    let mut named = 0;
    for word in readme.split('`').skip(1).step_by(2) {
        let words = word.split('_').count();
        if words > 4 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            assert!(tests.contains(&format!("fn {word}()")), "no test `{word}`");
            named += 1;
        }
    }
    assert!(named >= 5, "only {named} tests are named");
}
