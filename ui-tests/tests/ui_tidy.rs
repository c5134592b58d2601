//! What every case in `ui/` has to have.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder of `ui/`, without their extension, by extension.
fn cases(folder: &str, extension: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("ui").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.insert(path.with_extension(""));
            }
        }
    }
    found
}

fn text(case: &Path, extension: &str) -> String {
    fs::read_to_string(case.with_extension(extension)).expect("the file can be read")
}

fn lines_with(text: &str, start: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with(start)).count()
}

#[test]
fn every_mistake_has_a_text_and_every_text_a_mistake() {
    for folder in ["derive", "companion", "rustc", "proofs"] {
        let (sources, texts) = (cases(folder, "rs"), cases(folder, "stderr"));
        assert!(!sources.is_empty(), "ui/{folder} has no cases");
        let orphans: Vec<_> = sources.symmetric_difference(&texts).collect();
        assert!(orphans.is_empty(), "an `.rs` or a `.stderr` is missing beside {orphans:#?}");
    }
    assert!(cases("pass", "stderr").is_empty(), "what passes has no text");
}

#[test]
fn one_mistake_is_one_error_and_one_help() {
    for case in cases("derive", "stderr").into_iter().chain(cases("companion", "stderr")) {
        let text = text(&case, "stderr");
        let errors = lines_with(&text, "error");
        if case.parent().is_some_and(|folder| folder.ends_with("several")) {
            assert!(errors > 1, "{} belongs elsewhere", case.display());
        } else {
            assert_eq!(errors, 1, "{} has several errors", case.display());
        }
        assert_eq!(lines_with(&text, "= help:"), errors, "help in {}", case.display());
    }
    for case in cases("rustc", "stderr") {
        let errors = lines_with(&text(&case, "stderr"), "error");
        assert_eq!(errors, 1, "{} has several errors", case.display());
    }
}

#[test]
fn texts_name_no_machine() {
    for case in cases("", "stderr") {
        let text = text(&case, "stderr");
        let absolute = |line: &&str| line.contains("> /") || line.contains(":: /");
        let line = text.lines().find(absolute);
        assert_eq!(line, None, "in {}", case.display());
    }
}

/// The name of a message is the name of its folder.
#[test]
fn every_message_has_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dlpack-derive/src/message");
    let files = fs::read_dir(folder).expect("the folder can be read");
    let files = files.map(|entry| entry.expect("the entry can be read").path());
    // What all messages are made of is in `mod.rs`.
    let files = files.filter(|path| !path.ends_with("mod.rs"));
    let messages = files.map(|path| fs::read_to_string(path).expect("the messages can be read"));
    let messages: String = messages.collect();
    let messages = messages.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
    let messages = messages.filter_map(|line| line.split('(').next()).map(str::to_owned);
    let folders = cases("derive", "rs").into_iter().filter_map(|case| {
        let folder = case.parent()?.file_name()?.to_str()?.to_owned();
        (folder != "several").then_some(folder)
    });
    assert_eq!(messages.collect::<BTreeSet<_>>(), folders.collect::<BTreeSet<_>>());
}

/// So is that of the other derives.
#[test]
fn every_companion_message_has_a_case() {
    let messages = "../dlpack-derive/src/companion/message.rs";
    let messages = Path::new(env!("CARGO_MANIFEST_DIR")).join(messages);
    let messages = fs::read_to_string(messages).expect("the messages can be read");
    let messages = messages.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
    let messages = messages.filter_map(|line| line.split('(').next()).map(str::to_owned);
    let folders = cases("companion", "rs").into_iter().filter_map(|case| {
        let folder = case.parent()?.file_name()?.to_str()?.to_owned();
        (folder != "several").then_some(folder)
    });
    assert_eq!(messages.collect::<BTreeSet<_>>(), folders.collect::<BTreeSet<_>>());
}
