//! Files of the workspace, and the words of their code.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads a file, by its path from the root.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files below a folder with this extension, except built ones: their paths from that folder,
/// and their texts.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(root().join(folder).join(&inside)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a name");
            let path = format!("{inside}{name}");
            if entry.file_type().expect("a type").is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(format!("{path}/"));
                }
            } else if Path::new(&name).extension().is_some_and(|found| found == extension) {
                let text = read(&format!("{folder}/{path}"));
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// The sources of a crate, without its tests: the path of each file inside of `src`, and its code.
pub(crate) fn sources(package: &str) -> Vec<(String, String)> {
    let mut files = files(&format!("{package}/src"), "rs");
    files.retain(|(name, _)| !name.rsplit('/').any(|part| part.starts_with("tests")));
    for (_, text) in &mut files {
        let (mut lines, mut code) = (text.lines().peekable(), String::new());
        while let Some(line) = lines.next() {
            if line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.ends_with('{')) {
                // The item ends with the first brace that is not indented.
                while lines.next().is_some_and(|line| !line.starts_with('}')) {}
            } else {
                code += line;
                code.push('\n');
            }
        }
        *text = code;
    }
    files
}

/// The words of a code, `::`, and every other character but spaces; nothing of comments and
/// strings.
pub(crate) fn tokens(code: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with(r#"'"'"#) {
            3
        } else if first == '"' {
            let mut escaped = false;
            let end = rest.bytes().skip(1).position(|byte| {
                let ends = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if is_of_word(first) {
            rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(len);
        if !token.starts_with("//") && !token.starts_with('"') {
            tokens.push(token);
        }
        rest = after.trim_start();
    }
    tokens
}

pub(crate) fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
