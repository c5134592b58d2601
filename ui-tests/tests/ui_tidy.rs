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
    for folder in ["derive", "parts", "rustc", "python", "proofs"] {
        let (sources, texts) = (cases(folder, "rs"), cases(folder, "stderr"));
        assert!(!sources.is_empty(), "ui/{folder} has no cases");
        let orphans: Vec<_> = sources.symmetric_difference(&texts).collect();
        assert!(orphans.is_empty(), "an `.rs` or a `.stderr` is missing beside {orphans:#?}");
    }
    assert!(cases("pass", "stderr").is_empty(), "what passes has no text");
}

/// The number of the top-level item that each line of a source belongs to.
fn item_of_lines(source: &str) -> Vec<usize> {
    let mut item = 0;
    let numbered = source.lines().map(|line| {
        let number = item;
        let at_top = !line.starts_with([' ', '}', '#', '/', ')']) || line == "}";
        if at_top && (line.ends_with('}') || line.ends_with(';')) {
            item += 1;
        }
        number
    });
    numbered.collect()
}

/// The line that each error points to.
fn lines_of_errors(text: &str) -> Vec<usize> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("error") {
            let place = lines.by_ref().find(|line| line.trim_start().starts_with("--> "));
            let number = place.and_then(|place| place.rsplit(':').nth(1)?.parse().ok());
            found.push(number.expect("an error has a place"));
        }
    }
    found
}

/// One golden shows the cases of one message: each item has one mistake, which is one
/// error, and an error of the derive has one help.
#[test]
fn one_mistake_is_one_error_and_one_help() {
    for folder in ["derive", "parts", "rustc", "python"] {
        for case in cases(folder, "stderr") {
            let text = text(&case, "stderr");
            let errors = lines_of_errors(&text);
            let items = item_of_lines(&self::text(&case, "rs"));
            let items: BTreeSet<_> = errors.iter().map(|line| items[line - 1]).collect();
            if case.ends_with("several") {
                assert!(errors.len() > items.len(), "{} belongs elsewhere", case.display());
            } else {
                let one = errors.len() == items.len() && !errors.is_empty();
                assert!(one, "an item of {} has several errors", case.display());
            }
            if folder != "rustc" && folder != "python" {
                let helps = lines_with(&text, "= help:");
                assert_eq!(helps, errors.len(), "help in {}", case.display());
            }
        }
    }
}

#[test]
fn items_and_errors_are_found() {
    let source = "use a::b;\n\n#[derive(X)]\npub struct Y {\n    z: u8,\n}\n\nfn main() {}\n";
    assert_eq!(item_of_lines(source), [0, 1, 1, 1, 1, 1, 2, 2]);
    let text = "error: x\n       = help: y\n --> ui/a.rs:5:5\n\nerror[E1]: z\n --> ui/a.rs:12:1\n";
    assert_eq!(lines_of_errors(text), [5, 12]);
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

/// The messages that have a file with cases.
fn messages_with_cases(folder: &str) -> BTreeSet<String> {
    let files = cases(folder, "rs").into_iter().filter_map(|case| {
        let file = case.file_name()?.to_str()?.to_owned();
        (file != "several").then_some(file)
    });
    files.collect()
}

/// The name of a message is the name of its file.
#[test]
fn every_message_has_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dlpack-derive/src/message");
    let files = fs::read_dir(folder).expect("the folder can be read");
    let files = files.map(|entry| entry.expect("the entry can be read").path());
    // What all messages are made of is in `mod.rs`, and those of other derives in `parts.rs`.
    let files = files.filter(|path| !path.ends_with("mod.rs") && !path.ends_with("parts.rs"));
    let messages = files.map(|path| fs::read_to_string(path).expect("the messages can be read"));
    let messages: String = messages.collect();
    let messages = messages.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
    let messages = messages.filter_map(|line| line.split('(').next()).map(str::to_owned);
    assert_eq!(messages.collect::<BTreeSet<_>>(), messages_with_cases("derive"));
}

/// So is that of the other derives.
#[test]
fn every_parts_message_has_a_case() {
    let messages = "../dlpack-derive/src/message/parts.rs";
    let messages = Path::new(env!("CARGO_MANIFEST_DIR")).join(messages);
    let messages = fs::read_to_string(messages).expect("the messages can be read");
    let messages = messages.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
    let messages = messages.filter_map(|line| line.split('(').next()).map(str::to_owned);
    assert_eq!(messages.collect::<BTreeSet<_>>(), messages_with_cases("parts"));
}
