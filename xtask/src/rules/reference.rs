//! Tests by name, as `docs/soundness.md` and the mutants write them.

use std::path::Path;

use crate::checkout::{has_extension, read};
use crate::outcome::Outcome;

/// Folders of crates with tests of devices, below `tests/devices`.
const DEVICES: [&str; 3] = ["accelerators", "gpu", "vulkan"];

/// What a test is, which says how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A function in a file below `tests/rust`.
    Rust,
    /// A function in a file of a crate below `tests/devices`.
    Device,
    /// A unit test in a file below `dlpack-traits/src`.
    Unit,
    /// A function in a file below `tests/python`.
    Python,
    /// A file below `ui-tests` that must not compile, or an item in it.
    Ui,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    pub(crate) kind: Kind,
    /// The test binary, such as `import` or `gpu/rocm`: the first part of the file's path.
    pub(crate) binary: String,
    /// The name for the test harness, where modules are files.
    pub(crate) name: String,
    /// The path from the root.
    pub(crate) file: String,
}

impl Test {
    /// Reads `file::function`; the file alone, or `file::item`, where it must not compile.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let new = |kind, binary: &str, name: &str, file: String| Self {
            kind,
            binary: binary.to_owned(),
            name: name.to_owned(),
            file,
        };
        if text.starts_with("ui/") {
            let (file, item) = text.split_once("::").unwrap_or((text, ""));
            return Ok(new(Kind::Ui, "", item, format!("ui-tests/{file}")));
        }
        let odd = || format!("`{text}` is not `file::test`");
        let (file, function) = text.split_once("::").ok_or_else(odd)?;
        if has_extension(Path::new(file), "py") {
            return Ok(new(Kind::Python, "", function, format!("tests/python/{file}")));
        }
        let module = file.strip_suffix(".rs").ok_or_else(odd)?;
        let (first, rest) = module.split_once('/').unwrap_or((module, ""));
        if first == "src" {
            let name = format!("{}::tests::{function}", rest.replace('/', "::"));
            return Ok(new(Kind::Unit, "", &name, format!("dlpack-traits/{file}")));
        }
        let is_device = DEVICES.contains(&first);
        let module = if is_device { rest } else { module };
        let name = match module.split_once('/') {
            None => function.to_owned(),
            Some(_) => format!("{}::{function}", module.replace('/', "::")),
        };
        let binary = module.split('/').next().unwrap_or(module);
        if is_device {
            let path = format!("tests/devices/{first}/tests/{module}.rs");
            return Ok(new(Kind::Device, &format!("{first}/{binary}"), &name, path));
        }
        Ok(new(Kind::Rust, binary, &name, format!("tests/rust/{file}")))
    }

    /// Fails where the test is not in the tree.
    pub(crate) fn find(&self, root: &Path) -> Outcome {
        let path = root.join(&self.file);
        let text = read(&path)?;
        let function = self.name.rsplit("::").next().unwrap_or(&self.name);
        let found = match self.kind {
            Kind::Ui => has_error(&text, &read(&path.with_extension("stderr"))?, function),
            Kind::Python => text.contains(&format!("def {function}(")),
            Kind::Rust | Kind::Device | Kind::Unit => is_test(&text, function),
        };
        if found { Ok(()) } else { Err(format!("{} has no test `{function}`", self.file)) }
    }
}

/// Whether a text in Rust has the function, marked as a test.
fn is_test(text: &str, function: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("fn {function}()")) else { return false };
    before.rsplit_once("\n\n").map_or(before, |(_, attributes)| attributes).contains("test]")
}

/// Whether one of the compiler's errors is in a top-level item of the source with this word. Without a
/// word the errors may be about the program as a whole.
fn has_error(source: &str, errors: &str, word: &str) -> bool {
    if word.is_empty() {
        return true;
    }
    let places = errors.lines().filter_map(|line| line.trim_start().strip_prefix("--> ui/"));
    let mut lines = places.filter_map(|place| place.rsplit(':').nth(1)?.parse::<usize>().ok());
    let source: Vec<&str> = source.lines().collect();
    let is_end = |line: &&str| line.starts_with(['}', ')']) || line.is_empty();
    lines.any(|line| {
        let (before, after) = source.split_at(line.clamp(1, source.len()) - 1);
        let start = before.iter().rposition(is_end).map_or(0, |end| end + 1);
        let end = after.iter().position(is_end).map_or(after.len(), |end| end + 1);
        let mut item = before[start..].iter().chain(&after[..end]);
        item.any(|line| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_harness() {
        for (text, binary, name, file) in [
            ("deleter.rs::consumed", "deleter", "consumed", "tests/rust/deleter.rs"),
            ("import/all.rs::a", "import", "import::all::a", "tests/rust/import/all.rs"),
            ("src/strides.rs::a", "", "strides::tests::a", "dlpack-traits/src/strides.rs"),
            ("gpu/rocm.rs::frees", "gpu/rocm", "frees", "tests/devices/gpu/tests/rocm.rs"),
        ] {
            let test = Test::parse(text).unwrap();
            assert_eq!((&*test.binary, &*test.name, &*test.file), (binary, name, file));
        }
        assert!(Test::parse("deleter").is_err());
    }

    #[test]
    fn a_case_of_the_compiler_is_an_item_with_an_error() {
        let source = "fn one() {\n    a\n}\n\nfn two() {\n    b\n}\n\nimpl X for Y {}\n";
        let text = "error: a\n --> ui/rustc/x.rs:2:5\n\nerror: b\n --> ui/rustc/x.rs:9:1\n";
        assert!(has_error(source, text, "one") && has_error(source, text, "Y"));
        assert!(!has_error(source, text, "two"), "no error is in it");
    }

    #[test]
    fn a_function_is_not_yet_a_test() {
        assert!(is_test("/// x\n#[test]\n#[ignore]\nfn b() {}", "b"));
        assert!(!is_test("#[test]\nfn a() {}\n\nfn b() {}", "b"));
    }
}
