//! The imports between the files of a crate, without a parser.
//!
//! A file imports another if it names an item that the other defines: in a `use` declaration, or by
//! a path in its code. A re-export is followed to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{is_of_word, tokens};

/// A file, another file, and the name of an item of that.
pub(crate) type Import = (String, String, String);

#[derive(Default)]
struct File<'a> {
    name: &'a str,
    words: BTreeSet<&'a str>,
    /// Each imported name, and its path from the root; of another crate it begins with `::`.
    uses: BTreeMap<&'a str, String>,
    /// The names that `pub use` imports: imports only if the code uses them.
    reexports: BTreeSet<&'a str>,
    /// The modules whose items are all imported.
    globs: Vec<String>,
    /// The paths in the code, as they are written.
    paths: BTreeSet<String>,
}

/// The files of a crate, by the path of their module: `a::b`.
pub(crate) struct Files<'a>(BTreeMap<String, File<'a>>);

impl<'a> Files<'a> {
    /// Reads files: their paths inside of `src`, and their texts.
    pub(crate) fn read(sources: &'a [(String, String)]) -> Self {
        let module = |name: &str| {
            let name = name.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
            if name == "lib" { String::new() } else { name }
        };
        let empty = |(name, _): &'a (String, _)| (module(name), File { name, ..File::default() });
        let mut files = Self(sources.iter().map(empty).collect());
        for (name, code) in sources {
            let file = files.file(name, &module(name), &tokens(code));
            files.0.insert(module(name), file);
        }
        files
    }

    /// The names that the file of a module re-exports.
    pub(crate) fn reexports(&self, module: &str) -> &BTreeSet<&'a str> {
        &self.0[module].reexports
    }

    pub(crate) fn imports(&self) -> BTreeSet<Import> {
        let mut imports = BTreeSet::new();
        for (module, file) in &self.0 {
            let uses = file.uses.iter();
            let uses = uses
                .filter(|(name, _)| !file.reexports.contains(*name) || file.words.contains(*name));
            let paths = file.paths.iter().map(|path| {
                let (first, rest) = path.split_once("::").expect("a path");
                let target = file.uses.get(first).map(|target| format!("{target}::{rest}"));
                target.unwrap_or_else(|| self.absolute(module, path))
            });
            for path in uses.map(|(_, path)| path.clone()).chain(paths) {
                if let Some((to, item)) = self.definition(&path).filter(|it| it.0 != file.name) {
                    imports.insert((file.name.to_owned(), to.to_owned(), item));
                }
            }
        }
        imports
    }

    /// The file that defines an item, and the name of the item; `None` for a module and for an item
    /// of another crate.
    fn definition(&self, path: &str) -> Option<(&str, String)> {
        let mut module = path;
        while !self.0.contains_key(module) {
            module = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        }
        let (file, rest) = (&self.0[module], path[module.len()..].trim_start_matches("::"));
        let (item, rest) = rest.split_once("::").unwrap_or((rest, ""));
        let target = match file.uses.get(item) {
            Some(target) => Some(format!("{target}::{rest}").trim_end_matches("::").to_owned()),
            None if file.words.contains(item) => None,
            None => {
                let module = file.globs.iter().find(|glob| self.0[*glob].words.contains(item));
                module.map(|module| format!("{module}::{item}"))
            }
        };
        match target.filter(|target| target != path) {
            Some(target) => self.definition(&target),
            None => {
                (!item.is_empty() && !path.starts_with("::")).then(|| (file.name, item.to_owned()))
            }
        }
    }

    /// The path from the root.
    fn absolute(&self, module: &str, path: &str) -> String {
        if let Some(path) = path.strip_prefix("crate::") {
            return path.to_owned();
        }
        let (mut parent, mut rest) = (module, path.strip_prefix("self::").unwrap_or(path));
        while rest == "super" || rest.starts_with("super::") {
            parent = parent.rsplit_once("::").map_or("", |(parent, _)| parent);
            rest = rest["super".len()..].trim_start_matches("::");
        }
        let absolute = format!("{parent}::{rest}").trim_matches(':').to_owned();
        let child = absolute.len() - rest.len() + rest.find("::").unwrap_or(rest.len());
        let is_here = rest.len() < path.len() || self.0.contains_key(&absolute[..child]);
        if is_here { absolute } else { format!("::{path}") }
    }

    fn file(&self, name: &'a str, module: &str, tokens: &[&'a str]) -> File<'a> {
        let mut file = File { name, ..File::default() };
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            if token == "use" && tokens.get(at + 1) != Some(&"<") {
                // After `pub`, or after `pub(crate)`.
                let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
                let end = tokens[at..].iter().position(|&token| token == ";");
                let end = end.map_or(tokens.len(), |end| at + end);
                for (path, name) in uses(&tokens[at + 1..=end]) {
                    let path = self.absolute(module, &path);
                    if name == "*" {
                        file.globs.extend(Some(path).filter(|path| self.0.contains_key(path)));
                        continue;
                    }
                    file.reexports.extend(is_public.then_some(name));
                    file.uses.entry(name).or_insert(path);
                }
                at = end;
            } else if token == "mod" && tokens.get(at + 2) == Some(&";") {
                // A declaration of a child does not use it.
                at += 2;
            } else if token.starts_with(is_of_word) {
                file.words.insert(token);
                let start = at;
                while tokens.get(at + 1) == Some(&"::")
                    && tokens.get(at + 2).is_some_and(|next| next.starts_with(is_of_word))
                {
                    at += 2;
                }
                file.paths.extend((at > start).then(|| tokens[start..=at].concat()));
            }
            at += 1;
        }
        file
    }
}

/// The paths and the names in a tree of `use`: `a::{b, c as d, e::*};`.
fn uses<'a>(tree: &[&'a str]) -> Vec<(String, &'a str)> {
    let (mut found, mut path, mut groups, mut alias) = (vec![], vec![], vec![0], None);
    for (at, &token) in tree.iter().enumerate() {
        match token {
            "{" => groups.push(path.len()),
            "," | "}" | ";" => {
                if path.len() > groups[groups.len() - 1] {
                    let is_glob = path.ends_with(&["*"]);
                    if is_glob || path.ends_with(&["self"]) {
                        path.pop();
                    }
                    let name =
                        alias.take().unwrap_or(if is_glob { "*" } else { path[path.len() - 1] });
                    found.push((path.join("::"), name));
                }
                if token == "}" {
                    groups.pop();
                }
                path.truncate(groups[groups.len() - 1]);
            }
            "::" | "as" => {}
            _ if at > 0 && tree[at - 1] == "as" => alias = Some(token),
            _ => path.push(token),
        }
    }
    found
}

/// The imports that are in a circle, or between two circles.
pub(crate) fn in_circles(mut imports: BTreeSet<Import>) -> BTreeSet<Import> {
    loop {
        let before = imports.len();
        let importing: BTreeSet<_> = imports.iter().map(|import| import.0.clone()).collect();
        let imported: BTreeSet<_> = imports.iter().map(|import| import.1.clone()).collect();
        imports.retain(|(from, to, _)| importing.contains(to) && imported.contains(from));
        if imports.len() == before {
            return imports;
        }
    }
}

#[test]
fn circle_through_reexports_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;\npub use a::A;\npub(crate) use d::*;"),
        ("a/mod.rs", "mod inner;\nmod other;\npub use inner::{A, C as D};"),
        ("a/inner.rs", "use crate::b::{self, B};\npub struct A(B);\npub struct C;"),
        ("a/other.rs", "use super::A; // \"\nfn f() { \"// \\\"\"; crate::c::h() }"),
        ("b.rs", "use crate::{c, A};\npub struct B;\nfn f() -> crate::a::D { c::h() }"),
        ("c.rs", "pub fn h() { crate::i(); core::fmt::j() }"),
        ("d.rs", "pub fn i() {}"),
    ];
    let files = files.map(|(name, code)| (name.to_owned(), code.to_owned()));
    let imports = Files::read(&files).imports();
    let circle =
        [("a/inner.rs", "b.rs", "B"), ("b.rs", "a/inner.rs", "A"), ("b.rs", "a/inner.rs", "C")];
    assert_eq!(
        in_circles(imports),
        circle.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())).into()
    );
}
