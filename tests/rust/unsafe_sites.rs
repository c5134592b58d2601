//! Counts the uses of `unsafe` in `dlpack-traits`, which may not grow.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The maximum number of sites in `dlpack-traits/src`, outside of [`VENDORS`] and in them.
///
/// A site is the keyword `unsafe` before a block, an `impl`, a `trait` or a function with a
/// name; not before the type of a function pointer or an `extern` block. Modules with
/// `#[cfg(test)]`, files named `tests.rs` and folders named `tests` are not counted. The
/// body of a macro is counted once.
///
/// Lower a number when sites are removed. Before raising one, look for a type that carries
/// the proof from one operation to the next. 24 of the first number read and make NumPy's
/// arrays by its C API, which Rust can only call by pointers.
const MOST: [usize; 2] = [693, 358];

/// The folders of `backend` that call the drivers of devices.
const VENDORS: [&str; 5] = ["gpu", "oneapi", "opencl", "vulkan", "webgpu"];

/// Number of sites in these tokens.
fn sites(tokens: TokenStream) -> usize {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = 0;
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        if let Some(after) = test_module(rest) {
            rest = after;
            continue;
        }
        found += match token {
            TokenTree::Group(group) => sites(group.stream()),
            TokenTree::Ident(word) if word == "unsafe" => usize::from(is_site(after)),
            _ => 0,
        };
        rest = after;
    }
    found
}

/// Whether these tokens after `unsafe` make it a site.
fn is_site(after: &[TokenTree]) -> bool {
    match after {
        [TokenTree::Group(group), ..] => group.delimiter() == Delimiter::Brace,
        [TokenTree::Ident(word), TokenTree::Ident(_), ..] if word == "fn" => true,
        [TokenTree::Ident(word), ..] if word == "impl" || word == "trait" => true,
        [TokenTree::Ident(word), TokenTree::Literal(_), after @ ..]
        | [TokenTree::Ident(word), after @ ..]
            if word == "extern" =>
        {
            matches!(after, [TokenTree::Ident(_), TokenTree::Ident(_), ..])
        }
        _ => false,
    }
}

/// The tokens after a module with `#[cfg(test)]`, if these tokens start with one.
fn test_module(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..] = tokens else {
        return None;
    };
    let attribute = attribute.stream().to_string().replace(' ', "");
    let is_test = attribute.starts_with("cfg(test") || attribute.starts_with("cfg(all(test");
    if hash.as_char() != '#' || !is_test {
        return None;
    }
    let mut rest = rest;
    while let [TokenTree::Punct(hash), TokenTree::Group(_), after @ ..] = rest {
        if hash.as_char() != '#' {
            return None;
        }
        rest = after;
    }
    match rest {
        [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(_), after @ ..]
            if word == "mod" =>
        {
            Some(after)
        }
        _ => None,
    }
}

/// The numbers of sites below a folder, as in [`MOST`].
fn sites_below(folder: &Path, in_vendor: bool) -> [usize; 2] {
    let mut found = [0; 2];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            let in_vendor = in_vendor || (folder.ends_with("backend") && VENDORS.contains(&&*name));
            let below = sites_below(&path, in_vendor);
            found = [found[0] + below[0], found[1] + below[1]];
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            found[usize::from(in_vendor)] += sites(text.parse().expect("Rust"));
        }
    }
    found
}

#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn unsafe_sites_do_not_grow() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dlpack-traits/src");
    let found = sites_below(&source, false);
    println!(
        "{} sites of `unsafe` outside of the backends of vendors, {} in them",
        found[0], found[1]
    );
    assert!(found[0] > 300 && found[1] > 100, "only {found:?} sites were found");
    assert!(
        found[0] <= MOST[0] && found[1] <= MOST[1],
        "{found:?} sites of `unsafe`, more than {MOST:?}"
    );
}

#[test]
fn sites_are_counted_by_the_rule() {
    for (text, expected) in [
        ("unsafe { f() }", 1),
        ("unsafe impl Send for T {}", 1),
        ("pub unsafe trait T { unsafe fn f(); }", 2),
        ("unsafe extern \"C\" fn f() { unsafe { g() } }", 2),
        ("unsafe extern fn f() {}", 1),
        ("type F = unsafe extern \"C\" fn(i32); struct S { f: unsafe fn() }", 0),
        ("unsafe extern \"system\" { fn f(); }", 0),
        ("// unsafe { }\nconst S: &str = \"unsafe { }\";", 0),
        ("#[cfg(test)] mod tests { fn f() { unsafe { } } } fn g() { unsafe { } }", 1),
        ("#[cfg(test)] #[cfg(not(loom))] mod tests { unsafe { } }", 0),
        ("macro_rules! m { ($a:ty) => { unsafe impl Send for $a {} } }", 1),
    ] {
        assert_eq!(sites(text.parse().expect(text)), expected, "{text}");
    }
}
