//! The graph of imports between the files of one crate, without a parser.
//!
//! A file imports another if it names an item that the other defines: in a `use`
//! declaration, or by a path in its code. A re-export is followed to the file that
//! defines the item, so a circle cannot be hidden behind a `mod.rs`.

use std::collections::{BTreeMap, BTreeSet};

/// A path of a module or an item, from the root of the crate.
type Names = Vec<String>;

/// One file: its declarations of `use`, and the paths in the rest of its code.
#[derive(Default)]
struct File {
    /// The path of the file inside of `src`.
    name: String,
    /// Each imported name, with the path that it stands for; `None` for an item of another
    /// crate.
    imports: BTreeMap<String, Option<Names>>,
    /// The modules whose items are all imported.
    globs: Vec<Names>,
    /// The paths that `pub use` names, which are imports only if the code uses them.
    reexported: BTreeSet<String>,
    /// The paths in the code, from the root where they begin with `crate`, `self`, `super`,
    /// an imported name or a child module.
    paths: BTreeSet<Names>,
    /// All words in the code.
    words: BTreeSet<String>,
}

/// The files of one crate, by the path of their module.
pub(crate) struct Files(BTreeMap<Names, File>);

impl Files {
    /// Reads the files of a crate: pairs of a path inside of `src` and a text.
    pub(crate) fn read(files: &[(String, String)]) -> Self {
        let tests: BTreeSet<Names> =
            files.iter().flat_map(|(name, text)| tests_of(name, text)).collect();
        let modules: BTreeSet<Names> = files
            .iter()
            .map(|(name, _)| module_path(name))
            .filter(|module| !tests.iter().any(|test| module.starts_with(test)))
            .collect();
        let read = files.iter().filter_map(|(name, text)| {
            let module = module_path(name);
            modules.contains(&module).then(|| {
                let mut reader = Reader::new(&module, &modules, name);
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
                reader.read(&tokens(code));
                (module, reader.file)
            })
        });
        Self(read.collect())
    }

    /// The imports of each file: the files that it imports, with the names.
    fn edges(&self) -> BTreeMap<&Names, BTreeMap<&Names, BTreeSet<String>>> {
        let mut edges = BTreeMap::<_, BTreeMap<_, BTreeSet<String>>>::new();
        for (module, file) in &self.0 {
            let used = file
                .imports
                .iter()
                .filter(|(name, _)| !file.reexported.contains(*name) || file.words.contains(*name));
            let used = used.filter_map(|(_, path)| path.as_ref());
            for path in used.chain(&file.paths) {
                if let Some((to, Some(item))) = self.definition(path, 0) {
                    if to != module {
                        edges.entry(module).or_default().entry(to).or_default().insert(item);
                    }
                }
            }
        }
        edges
    }

    /// The module that defines an item, and the name of the item; no name for a module.
    fn definition(&self, path: &[String], depth: usize) -> Option<(&Names, Option<String>)> {
        assert!(depth < 20, "{path:?} is re-exported in a circle");
        let (module, file) =
            (0..=path.len()).rev().find_map(|end| self.0.get_key_value(&path[..end]))?;
        let Some((item, rest)) = path[module.len()..].split_first() else {
            return Some((module, None));
        };
        let target = match file.imports.get(item) {
            Some(None) => return None,
            Some(Some(target)) => Some(target.clone()),
            None if file.words.contains(item) => None,
            None => {
                file.globs.iter().map(|glob| [glob, &[item.clone()][..]].concat()).find(|path| {
                    let found = self.definition(path, depth + 1);
                    found.is_some_and(|(module, _)| self.0[module].words.contains(item))
                })
            }
        };
        match target {
            Some(target) if target != path => {
                self.definition(&[target, rest.to_vec()].concat(), depth + 1)
            }
            _ => Some((module, Some(item.clone()))),
        }
    }

    /// The circles of imports: for each, its imports, with the names that make them.
    pub(crate) fn circles(&self) -> Vec<String> {
        let mut edges = self.edges();
        // Takes away, again and again, the files that import none of the others, or that
        // none of the others imports.
        loop {
            let before: usize = edges.values().map(BTreeMap::len).sum();
            let importing: BTreeSet<&Names> = edges.keys().copied().collect();
            for to in edges.values_mut() {
                to.retain(|file, _| importing.contains(file));
            }
            let imported: BTreeSet<&Names> =
                edges.values().flat_map(|to| to.keys().copied()).collect();
            edges.retain(|file, to| imported.contains(file) && !to.is_empty());
            if edges.values().map(BTreeMap::len).sum::<usize>() == before {
                break;
            }
        }
        let in_circle = |from: &Names, to: &Names| reaches(&edges, to, from);
        let lines = edges
            .iter()
            .flat_map(|(from, to)| to.iter().map(move |(to, names)| (*from, *to, names)));
        let lines = lines.filter(|(from, to, _)| in_circle(from, to)).map(|(from, to, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{} imports {} of {}", self.0[from].name, names.join(", "), self.0[to].name)
        });
        lines.collect()
    }

    /// The imports of a folder from outside of it: the importing file, the imported one, and the
    /// name.
    pub(crate) fn imports_of_folder(&self, folder: &[&str]) -> Vec<(&str, &str, String)> {
        let inside = |module: &Names| {
            folder.len() <= module.len() && folder.iter().eq(&module[..folder.len()])
        };
        let edges = self.edges().into_iter().filter(|(from, _)| inside(from));
        let edges =
            edges.flat_map(|(from, to)| to.into_iter().map(move |(to, names)| (from, to, names)));
        let edges = edges.filter(|(_, to, _)| !inside(to));
        edges
            .flat_map(|(from, to, names)| {
                let (from, to) = (self.0[from].name.as_str(), self.0[to].name.as_str());
                names.into_iter().map(move |name| (from, to, name))
            })
            .collect()
    }

    /// The imports of a folder, from one of its folders or files to another: the path of the
    /// importing file, and the two names.
    pub(crate) fn between_folders<'a>(&'a self, folder: &str) -> Vec<(&'a str, &'a str, &'a str)> {
        let part = |module: &'a Names| match &module[..] {
            [first, part, ..] if first == folder => Some(part.as_str()),
            _ => None,
        };
        let edges = self.edges().into_iter().flat_map(|(from, to)| {
            to.into_keys().map(move |to| (self.0[from].name.as_str(), part(from), part(to)))
        });
        let edges = edges.filter_map(|(file, from, to)| Some((file, from?, to?)));
        edges.filter(|(_, from, to)| from != to).collect()
    }

    /// The number of imports between two files.
    pub(crate) fn count(&self) -> usize {
        self.edges().values().map(BTreeMap::len).sum()
    }
}

/// Whether a file imports another, directly or through others.
fn reaches(
    edges: &BTreeMap<&Names, BTreeMap<&Names, BTreeSet<String>>>,
    from: &Names,
    to: &Names,
) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        if file == to {
            return true;
        }
        if seen.insert(file) {
            next.extend(edges.get(file).into_iter().flat_map(|to| to.keys().copied()));
        }
    }
    false
}

/// The path of the module in a file.
fn module_path(name: &str) -> Names {
    let name = name.trim_end_matches(".rs");
    let mut path: Names = name.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] {
        path.pop();
    }
    path
}

/// The modules of unit tests that a file declares.
fn tests_of(name: &str, text: &str) -> Vec<Names> {
    let module = module_path(name);
    let declared = text.split("#[cfg(test)]\nmod ").skip(1);
    let declared = declared.filter_map(|rest| rest.split_once(';'));
    let names = declared.filter(|(name, _)| name.chars().all(is_of_word));
    names.map(|(name, _)| [&module[..], &[name.to_owned()]].concat()).collect()
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The words of a text, `::`, and every other character but spaces; nothing of comments
/// and strings.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with(r#"'"'"#) {
            3
        } else if first == '"' {
            string_len(rest)
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

/// The length of a string with its quotes.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Reads the tokens of a file.
struct Reader<'a> {
    modules: &'a BTreeSet<Names>,
    /// The module of the file, and the modules inside of it, each with its depth.
    module: Names,
    inner: Vec<usize>,
    file: File,
}

impl<'a> Reader<'a> {
    fn new(module: &Names, modules: &'a BTreeSet<Names>, name: &str) -> Self {
        let file = File { name: name.to_owned(), ..File::default() };
        Self { modules, module: module.clone(), inner: Vec::new(), file }
    }

    fn read(&mut self, tokens: &[&str]) {
        // The imports first: paths may begin with an imported name.
        let mut code = Vec::new();
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            match token {
                // `+ use<'a>` is a bound.
                "use" if tokens.get(at + 1) != Some(&"<") => {
                    // The end of `pub`, or of `pub(crate)`.
                    let public = matches!(tokens[..at].last(), Some(&("pub" | ")")));
                    let len = tokens[at..].iter().position(|&token| token == ";");
                    let end = len.map_or(tokens.len(), |len| at + len);
                    self.tree(&[], &tokens[at + 1..end], public);
                    at = end;
                }
                // A declaration of a child does not use it.
                "mod" if tokens.get(at + 2) == Some(&";") => at += 2,
                _ => code.push(token),
            }
            at += 1;
        }
        self.paths(&code);
    }

    /// Reads a tree of `use`: `a::{b, c as d}`.
    fn tree(&mut self, prefix: &[&str], tree: &[&str], public: bool) {
        let group = tree.iter().position(|&token| token == "{");
        let mut path: Vec<&str> = prefix.to_vec();
        let words = &tree[..group.unwrap_or(tree.len())];
        let alias = words.iter().position(|&token| token == "as");
        let words_of_path = &words[..alias.unwrap_or(words.len())];
        path.extend(words_of_path.iter().filter(|&&token| token != "::"));
        let Some(group) = group else {
            let Some(&last) = path.last() else { return };
            if last == "*" {
                path.pop();
                self.file.globs.extend(self.absolute(&path));
                return;
            }
            if last == "self" && path.len() > 1 {
                path.pop();
            }
            let name = alias.and_then(|alias| words.get(alias + 1)).or(path.last());
            let name = (*name.expect("a name")).to_owned();
            let target = self.absolute(&path);
            if public {
                self.file.reexported.insert(name.clone());
            }
            self.file.imports.entry(name).or_insert(target);
            return;
        };
        let (mut depth, mut start) = (0, group + 1);
        for (at, &token) in tree.iter().enumerate().skip(group) {
            match token {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if (token == "," && depth == 1) || depth == 0 {
                self.tree(&path, &tree[start..at], public);
                start = at + 1;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads the paths in the code.
    fn paths(&mut self, code: &[&str]) {
        let (mut at, mut depth) = (0, 0);
        while let Some(&token) = code.get(at) {
            match token {
                "mod" if code.get(at + 2) == Some(&"{") => {
                    self.module.push(code[at + 1].to_owned());
                    self.inner.push(depth);
                }
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    if self.inner.last() == Some(&depth) {
                        self.inner.pop();
                        self.module.pop();
                    }
                }
                _ => {}
            }
            if token.starts_with(is_of_word) {
                self.file.words.insert(token.to_owned());
                let mut path = vec![token];
                while code.get(at + 1) == Some(&"::")
                    && code.get(at + 2).is_some_and(|next| next.starts_with(is_of_word))
                {
                    at += 2;
                    path.push(code[at]);
                }
                if path.len() > 1 {
                    self.file.paths.extend(self.absolute_in_code(&path));
                }
            }
            at += 1;
        }
    }

    /// The path from the root; `None` for an item of another crate.
    fn absolute(&self, path: &[&str]) -> Option<Names> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Names>();
        let (&first, rest) = path.split_first()?;
        match first {
            "crate" => Some(owned(rest)),
            "self" => Some([&self.module[..], &owned(rest)].concat()),
            "super" => {
                let supers = path.iter().take_while(|&&name| name == "super").count();
                let parent = &self.module[..self.module.len().checked_sub(supers)?];
                Some([parent, &owned(&path[supers..])].concat())
            }
            _ => {
                let child = [&self.module[..], &[first.to_owned()]].concat();
                self.modules.contains(&child).then(|| [&child[..], &owned(rest)].concat())
            }
        }
    }

    /// The same for a path in the code, which may begin with an imported name.
    fn absolute_in_code(&self, path: &[&str]) -> Option<Names> {
        match self.file.imports.get(path[0]) {
            Some(target) => {
                let rest = path[1..].iter().map(|&name| name.to_owned());
                target.clone().map(|target| target.into_iter().chain(rest).collect())
            }
            None => self.absolute(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        Files::read(&files).circles()
    }

    #[test]
    fn tree_without_circles_has_none() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;\npub use a::A;"),
            ("a/mod.rs", "//! [`crate::c::f`]\nmod inner;\npub use inner::A;\nuse crate::b::B;"),
            ("a/inner.rs", "use super::B;\npub struct A(B);"),
            ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests { use crate::A; }\n"),
            (
                "c.rs",
                "use core::fmt;\nfn f() { crate::A::g(); fmt::h() }\n#[cfg(test)]\nmod tests;",
            ),
            ("c/tests.rs", "use crate::c::f;\nuse crate::b::B;"),
        ];
        assert_eq!(circles(&files), [""; 0]);
    }

    #[test]
    fn circle_through_reexports_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b;\npub use a::A;"),
            ("a/mod.rs", "mod inner;\nmod other;\npub use inner::{A, C as D};"),
            ("a/inner.rs", "use crate::b::{self, B};\npub struct A(B);\npub struct C;"),
            ("a/other.rs", "use super::A;"),
            ("b.rs", "use crate::A;\npub struct B;\nfn f() -> crate::a::D {}"),
        ];
        let expected =
            ["a/inner.rs imports B of b.rs", "b.rs imports A, C of a/inner.rs"].map(str::to_owned);
        assert_eq!(circles(&files), expected);
    }

    #[test]
    fn circle_of_a_parent_and_its_child_is_found() {
        let parent = "mod n;\npub(crate) use n::N;\npub trait T { fn f() -> N; }";
        let files =
            [("lib.rs", "mod m;"), ("m/mod.rs", parent), ("m/n.rs", "use super::T;\nstruct N;")];
        assert_eq!(
            circles(&files),
            ["m/mod.rs imports N of m/n.rs", "m/n.rs imports T of m/mod.rs"]
        );
        // A parent that only declares the child and re-exports its item does not import it.
        let parent = "mod n;\npub(crate) use n::N;\npub trait T {}";
        let files =
            [("lib.rs", "mod m;"), ("m/mod.rs", parent), ("m/n.rs", "use super::T;\nstruct N;")];
        assert_eq!(circles(&files), [""; 0]);
    }

    #[test]
    fn circle_through_paths_in_code_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;\npub(crate) use c::*;"),
            ("a.rs", "use crate::b;\nfn f() { b::g::<u8>() }"),
            ("b.rs", "pub fn g() { crate::h() }"),
            ("c.rs", "pub fn h() { super::a::f() }"),
        ];
        let expected =
            ["a.rs imports g of b.rs", "b.rs imports h of c.rs", "c.rs imports f of a.rs"];
        assert_eq!(circles(&files), expected);
    }
}
