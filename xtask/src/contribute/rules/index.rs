//! The definitions of the Rust sources by path, read as text: enough to resolve a
//! reference such as `import::raw::claims` or `ImportedTensor::from_raw` in a document.
//!
//! The sources are formatted by rustfmt, so the indentation of a line gives its scope.

use crate::checkout::{Outcome, read};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Folders with sources: the name that documents use for the crate, and the folder.
const CRATES: [(&str, &str); 10] = [
    ("dlpack_traits", "dlpack-traits/src"),
    ("dlpack_derive", "dlpack-derive/src"),
    ("tests", "tests/rust"),
    ("dlpack_tests", "tests/support"),
    ("accelerators", "tests/devices/accelerators/tests"),
    ("gpu", "tests/devices/gpu/tests"),
    ("simulator", "tests/devices/simulator/src"),
    ("vulkan", "tests/devices/vulkan/tests"),
    ("doctor", "tools/doctor/src"),
    ("xtask", "xtask/src"),
];

/// Definitions and re-exports.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Paths of the definitions with one last name: crate, modules, types, that name.
    definitions: HashMap<String, Vec<Vec<String>>>,
    /// Modules with a name that they re-export; `*` for all names.
    exports: HashSet<(Vec<String>, String)>,
    /// Type aliases, and the types that they stand for, without their modules.
    aliases: HashSet<(String, String)>,
}

impl Index {
    /// Reads all sources below `root`.
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let mut index = Self::default();
        for (name, folder) in CRATES {
            index.add_folder(&root.join(folder), &[name.to_owned()])?;
        }
        Ok(index)
    }

    fn add_folder(&mut self, folder: &Path, module: &[String]) -> Outcome {
        let unreadable = |error| format!("{} cannot be read ({error}).", folder.display());
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            let mut inner = module.to_vec();
            if !["lib", "main", "mod"].contains(&stem) {
                inner.push(stem.to_owned());
            }
            if path.is_dir() {
                self.add_folder(&path, &inner)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add(&inner, &read(&path)?);
            }
        }
        Ok(())
    }

    /// Adds a file that is this module.
    pub(super) fn add(&mut self, module: &[String], text: &str) {
        self.define(module.to_vec());
        let mut scopes: Vec<Scope> = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            let goes_on = code.starts_with("where") || code.starts_with('{');
            if code.is_empty() || code.starts_with("//") || goes_on {
                continue;
            }
            scopes.retain(|scope| scope.indent < indent);
            let path = |name: &str| {
                let inner = scopes.iter().map(|scope| scope.name.clone());
                module.iter().cloned().chain(inner).chain([name.to_owned()]).collect::<Vec<_>>()
            };
            let visible = after_visibility(code);
            if let Some(header) = impl_header(visible) {
                let mut header = header.to_owned();
                while !ends_header(&header) {
                    let Some(more) = lines.next() else { break };
                    header = format!("{header} {}", more.trim());
                }
                let name = self_type(&header).to_owned();
                scopes.push(Scope { indent, name, kind: Kind::Impl });
            } else if let Some(names) = visible.strip_prefix("use ") {
                let mut names = names.to_owned();
                while !names.contains(';') {
                    let Some(more) = lines.next() else { break };
                    names.push_str(more);
                }
                if code.len() > visible.len() {
                    let scope = path("");
                    self.export(&scope[..scope.len() - 1], &names);
                }
            } else if let Some((kind, name)) = item(visible) {
                self.define(path(name));
                if let Some(alias) = visible.strip_prefix("type ") {
                    let of = alias.split_once('=').map_or("", |(_, of)| of.trim());
                    let of = of.split(['<', ';']).next().unwrap_or(of);
                    let of = of.rsplit("::").next().unwrap_or(of);
                    self.aliases.insert((name.to_owned(), of.to_owned()));
                }
                if kind != Kind::Leaf && !code.ends_with(';') && !code.ends_with('}') {
                    scopes.push(Scope { indent, name: name.to_owned(), kind });
                }
            } else if let Some(scope) = scopes.last().filter(|scope| scope.indent + 4 == indent) {
                let name = &visible[..word_length(visible)];
                let rest = visible[name.len()..].trim_start();
                let is_member = match scope.kind {
                    Kind::Struct => rest.starts_with(':') && !rest.starts_with("::"),
                    Kind::Enum => name.starts_with(char::is_uppercase),
                    _ => false,
                };
                if is_member {
                    self.define(path(name));
                }
            }
        }
    }

    fn define(&mut self, path: Vec<String>) {
        if let Some(name) = path.last() {
            self.definitions.entry(name.clone()).or_default().push(path);
        }
    }

    /// Adds the names of `use`, from behind that word to the semicolon or further.
    fn export(&mut self, module: &[String], names: &str) {
        for name in names.split([',', '{', '}', ';']) {
            let name = name.trim();
            let last = name.rsplit("::").next().unwrap_or(name);
            if let Some((_, renamed)) = last.split_once(" as ") {
                self.define(module.iter().cloned().chain([renamed.to_owned()]).collect());
            } else if !last.is_empty() {
                self.exports.insert((module.to_vec(), last.to_owned()));
            }
        }
    }

    /// Whether something is defined under a path such as `b::f`: in a module or type `b`,
    /// or in one that `b` re-exports.
    pub(super) fn has(&self, reference: &str) -> bool {
        let wanted: Vec<&str> = reference.split("::").collect();
        let Some((name, outer)) = wanted.split_last() else { return false };
        let found = self.definitions.get(*name).is_some_and(|paths| {
            paths.iter().any(|path| self.is_below(path, path.len() - 1, outer))
        });
        // A module may re-export what is defined in a macro, or in another crate.
        found
            || outer.split_last().is_some_and(|(module, outer)| {
                self.exports.iter().any(|(path, exported)| {
                    exported == name
                        && path.last().is_some_and(|last| last == module)
                        && self.is_below(path, path.len() - 1, outer)
                })
            })
    }

    /// Whether the definition at `path[at]` is reached by the names in `outer`.
    fn is_below(&self, path: &[String], at: usize, outer: &[&str]) -> bool {
        let Some((name, outer)) = outer.split_last() else { return true };
        let exports = |module: usize| {
            let module = path[..=module].to_vec();
            self.exports.contains(&(module.clone(), path[at].clone()))
                || self.exports.contains(&(module, "*".to_owned()))
        };
        let is_named = |found: &String| {
            found == name || self.aliases.contains(&((*name).to_owned(), found.clone()))
        };
        (0..at).rev().any(|module| {
            is_named(&path[module])
                && (module + 1 == at || exports(module))
                && self.is_below(path, module, outer)
        })
    }
}

/// What the definitions in an indented block belong to.
#[derive(Debug)]
struct Scope {
    indent: usize,
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Struct,
    Enum,
    Impl,
    /// A module or a trait.
    Other,
    /// Nothing is defined in it that a document names.
    Leaf,
}

fn after_visibility(code: &str) -> &str {
    let Some(rest) = code.strip_prefix("pub") else { return code };
    if let Some(rest) = rest.strip_prefix(' ') {
        return rest;
    }
    rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(code, |(_, rest)| rest)
}

/// The kind and the name of an item.
fn item(code: &str) -> Option<(Kind, &str)> {
    let mut words = code.split_whitespace();
    let mut word = words.next()?;
    loop {
        let kind = match word {
            "struct" | "union" => Kind::Struct,
            "enum" => Kind::Enum,
            "trait" | "mod" => Kind::Other,
            "fn" | "type" | "static" | "macro_rules!" => Kind::Leaf,
            "const" => {
                let next = words.next()?;
                if ["fn", "unsafe", "extern"].contains(&next) {
                    word = next;
                    continue;
                }
                return named(Kind::Leaf, next);
            }
            "unsafe" | "extern" | "async" | "default" | "safe" => {
                word = words.next()?;
                continue;
            }
            abi if abi.starts_with('"') => {
                word = words.next()?;
                continue;
            }
            _ => return None,
        };
        return named(kind, words.next()?);
    }
}

fn named(kind: Kind, word: &str) -> Option<(Kind, &str)> {
    let name = &word[..word_length(word)];
    (!name.is_empty()).then_some((kind, name))
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn impl_header(code: &str) -> Option<&str> {
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    code.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<']))
}

fn ends_header(header: &str) -> bool {
    header.ends_with('{') || header.ends_with('}') || header.contains(" where")
}

/// The name of the type in what follows `impl`.
fn self_type(header: &str) -> &str {
    let header = header.split(" where").next().unwrap_or(header).trim_end_matches(['{', '}', ' ']);
    // Parameters of the implementation.
    let mut depth = 0_usize;
    let mut start = 0;
    let mut after_arrow = false;
    for (at, c) in header.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !after_arrow => depth = depth.saturating_sub(1),
            _ => {}
        }
        after_arrow = c == '-' || c == '=';
        // Behind the parameters, or behind the trait.
        if depth == 0 && (c == '>' && start == 0 && header.starts_with('<')) {
            start = at + 1;
        }
        if depth == 0 && header[at..].starts_with(" for ") {
            start = at + " for ".len();
        }
    }
    let name = header[start..].trim_start_matches(['&', '*', ' ']);
    let name = name.split(['<', ' ']).next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = "
//! Reads shapes.
pub(crate) fn take() {}

impl<'a, T: Fn(u8) -> u8> Checked<'a, T> {
    pub(super) const unsafe fn check(&self) -> bool {}
}

unsafe impl<T> Storage for crate::held::Held<T>
where
    T: Copy,
{
    const SIZE: usize = 1;
}
";
    const NODE: &str = "
pub struct Node {
    pub strides: u8,
}
pub enum Error {
    Empty,
    Long { by: usize },
}
pub trait Walk {
    extern \"C\" fn walk();
}
pub type Host = super::raw::Checked<'static, u8>;
";

    fn index() -> Index {
        let mut index = Index::default();
        let path = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
        index.add(&path("dlpack_traits"), "mod import;\npub use import::{Error, Node};\n");
        let uses =
            "mod node;\npub(crate) mod raw;\npub use node::{\n    Error,\n    Node as Knot,\n};\n";
        index.add(&path("dlpack_traits::import"), uses);
        index.add(&path("dlpack_traits::import::raw"), RAW);
        index.add(&path("dlpack_traits::import::node"), NODE);
        index
    }

    #[test]
    fn definitions_are_found_in_their_module_or_type() {
        let index = index();
        for name in [
            "take",
            "raw::take",
            "import::raw::take",
            "dlpack_traits::import::raw::take",
            "import::raw",
            "Checked::check",
            "raw::Checked::check",
            "Held::SIZE",
            "Node::strides",
            "Error::Long",
            "Walk::walk",
            "Host::check",
        ] {
            assert!(index.has(name), "{name}");
        }
    }

    /// The function exists, and so does the module; the function is in another one.
    #[test]
    fn a_function_of_another_module_is_not_found() {
        let index = index();
        for name in ["node::take", "import::take", "Node::check", "Storage::SIZE", "raw::dims"] {
            assert!(!index.has(name), "{name}");
        }
        // A search for the last name, without its module, finds it.
        assert!(index.has("take"));
    }

    #[test]
    fn re_exports_are_followed() {
        let index = index();
        for name in ["import::Error", "import::Error::Empty", "import::Knot"] {
            assert!(index.has(name), "{name}");
        }
        assert!(!index.has("import::Node"), "it is re-exported under another name");
        assert!(index.has("dlpack_traits::Error"), "a re-export of a re-export");
    }
}
