//! Tests by name, as `docs/soundness.md` and the mutants write them.

use crate::checkout::read;
use std::path::{Path, PathBuf};

/// Folders of crates with tests of devices.
const DEVICES: [&str; 3] = ["accelerators", "gpu", "vulkan"];

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reference {
    /// A function in a file below `tests/rust`.
    Rust {
        /// The test binary: the first part of the file's path.
        binary: String,
        /// Its name for the test harness: modules are files.
        name: String,
        /// The file.
        file: String,
    },
    /// A function in a file of a crate with tests of devices: `tests/devices/gpu`,
    /// `tests/devices/accelerators`, `tests/devices/vulkan`.
    Device {
        /// The folder of the crate, and the test binary.
        binary: String,
        /// Its name for the test harness.
        name: String,
        /// The file.
        file: String,
    },
    /// A unit test in a file below `dlpack-traits/src`.
    Unit {
        /// Its name for the test harness.
        name: String,
        /// The file.
        file: String,
    },
    /// A function in a file below `tests/python`.
    Python {
        /// The file.
        file: String,
        /// The function.
        name: String,
    },
    /// A file below `ui-tests` that must not compile, and the name of an item with an
    /// error where the file has several.
    Ui {
        /// The file.
        file: String,
        /// The item.
        item: Option<String>,
    },
}

impl Reference {
    /// Reads `file::function`; the file alone, or `file::item`, where it must not compile.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("ui/") {
            let (file, item) = match text.split_once("::") {
                Some((file, item)) => (file, Some(item.to_owned())),
                None => (text, None),
            };
            return Ok(Self::Ui { file: file.to_owned(), item });
        }
        let odd = || format!("`{text}` is not `file::test`");
        let (file, function) = text.split_once("::").ok_or_else(odd)?;
        if Path::new(file).extension().is_some_and(|extension| extension == "py") {
            return Ok(Self::Python { file: file.to_owned(), name: function.to_owned() });
        }
        let module = file.strip_suffix(".rs").ok_or_else(odd)?;
        if let Some(module) = module.strip_prefix("src/") {
            let name = format!("{}::tests::{function}", module.replace('/', "::"));
            return Ok(Self::Unit { name, file: file.to_owned() });
        }
        let in_binary = |module: &str| match module.split_once('/') {
            None => (module.to_owned(), function.to_owned()),
            Some((binary, _)) => {
                (binary.to_owned(), format!("{}::{function}", module.replace('/', "::")))
            }
        };
        if let Some((folder, rest)) = module.split_once('/').filter(|(f, _)| DEVICES.contains(f)) {
            let (binary, name) = in_binary(rest);
            let (binary, rest) = (format!("{folder}/{binary}"), format!("{rest}.rs"));
            return Ok(Self::Device { binary, name, file: format!("{folder}/tests/{rest}") });
        }
        let (binary, name) = in_binary(module);
        Ok(Self::Rust { binary, name, file: file.to_owned() })
    }

    /// Fails where the test is not in the tree.
    pub(crate) fn find(&self, root: &Path) -> Result<(), String> {
        let (file, function) = match self {
            Self::Ui { file, item } => {
                let path = root.join("ui-tests").join(file);
                let text = path.with_extension("stderr");
                if !path.is_file() || !text.is_file() {
                    return Err(format!("there is no ui-tests/{file} with its .stderr"));
                }
                let Some(item) = item else { return Ok(()) };
                return if has_error(&read(&path)?, &read(&text)?, item) {
                    Ok(())
                } else {
                    Err(format!("no error in ui-tests/{file} is about `{item}`"))
                };
            }
            Self::Rust { file, name, .. } => (root.join("tests/rust").join(file), name),
            Self::Device { file, name, .. } => (root.join("tests/devices").join(file), name),
            Self::Unit { file, name } => (root.join("dlpack-traits").join(file), name),
            Self::Python { file, name } => (root.join("tests/python").join(file), name),
        };
        let function = function.rsplit("::").next().unwrap_or(function);
        if self.is_in(&read(&file)?, function) {
            Ok(())
        } else {
            Err(format!("there is no test `{function}` in {}", shown(&file, root).display()))
        }
    }

    /// Whether a text has the function, and for Rust, marked as a test.
    fn is_in(&self, text: &str, function: &str) -> bool {
        if matches!(self, Self::Python { .. }) {
            return text.contains(&format!("def {function}("));
        }
        let Some((before, _)) = text.split_once(&format!("fn {function}()")) else { return false };
        let attributes = before.rsplit_once("\n\n").map_or(before, |(_, attributes)| attributes);
        attributes.contains("test]")
    }
}

/// Whether the compiler's text points into a top-level item of the source that has this
/// word in it.
fn has_error(source: &str, text: &str, word: &str) -> bool {
    let mut item = 0;
    // The number of the item, and whether the line has the word.
    let lines: Vec<(usize, bool)> = source
        .lines()
        .map(|line| {
            let number = item;
            let at_top = !line.starts_with([' ', '#', '/', ')']);
            if at_top && (line.ends_with('}') || line.ends_with(';')) {
                item += 1;
            }
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            (number, words.any(|part| part == word))
        })
        .collect();
    let places = text.lines().filter_map(|line| line.trim_start().strip_prefix("--> ui/"));
    let errors = places.filter_map(|place| place.rsplit(':').nth(1)?.parse::<usize>().ok());
    let items = errors.filter_map(|line| lines.get(line.checked_sub(1)?)).map(|line| line.0);
    let named: Vec<usize> = lines.iter().filter(|line| line.1).map(|line| line.0).collect();
    items.into_iter().any(|item| named.contains(&item))
}

fn shown(file: &Path, root: &Path) -> PathBuf {
    file.strip_prefix(root).unwrap_or(file).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_harness() {
        let rust = |text| match Reference::parse(text) {
            Ok(Reference::Rust { binary, name, .. }) => (binary, name),
            other => panic!("{other:?}"),
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(rust("deleter.rs::consumed"), pair("deleter", "consumed"));
        assert_eq!(rust("import/rejects.rs::table"), pair("import", "import::rejects::table"));
        let Ok(Reference::Unit { name, .. }) = Reference::parse("src/strides.rs::extents") else {
            panic!("a unit test");
        };
        assert_eq!(name, "strides::tests::extents");
        let device = |text| match Reference::parse(text) {
            Ok(Reference::Device { binary, name, file }) => (binary, name, file),
            other => panic!("{other:?}"),
        };
        let three = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let found = three("gpu/rocm", "frees", "gpu/tests/rocm.rs");
        assert_eq!(device("gpu/rocm.rs::frees"), found);
        let file = "accelerators/tests/opencl/order.rs";
        let found = three("accelerators/opencl", "opencl::order::waits", file);
        assert_eq!(device("accelerators/opencl/order.rs::waits"), found);
        assert!(Reference::parse("deleter").is_err());
    }

    #[test]
    fn a_case_of_the_compiler_is_an_item_with_an_error() {
        let source = "fn one() {\n    a\n}\n\nfn two() {\n    b\n}\n\nimpl X for Y {}\n";
        let text = "error: a\n --> ui/rustc/x.rs:2:5\n\nerror: b\n --> ui/rustc/x.rs:9:1\n";
        assert!(has_error(source, text, "one") && has_error(source, text, "Y"));
        assert!(!has_error(source, text, "two"), "no error is in it");
        assert!(!has_error(source, text, "three"), "it is not there");
    }

    #[test]
    fn a_function_is_not_yet_a_test() {
        let reference = Reference::parse("a.rs::b").unwrap();
        assert!(reference.is_in("#[test]\nfn b() {}", "b"));
        assert!(reference.is_in("/// x\n#[test]\n#[ignore]\nfn b() {}", "b"));
        assert!(!reference.is_in("#[test]\nfn a() {}\n\nfn b() {}", "b"));
        assert!(!reference.is_in("fn bb() {}", "b"));
    }
}
