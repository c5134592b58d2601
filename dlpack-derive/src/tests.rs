//! Compares expansions with `tests/expand/*.expanded.rs`, which are reviewed as
//! code, and compiled in `dlpack-tests`.
//!
//! `DLPACK_BLESS=1 cargo test -p dlpack-derive` regenerates them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, DeriveInput, File, Item, Meta};

use crate::{attributes, parts};

const BLESS: &str = "DLPACK_BLESS";

#[test]
fn expansions_are_as_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expand");
    let mut sources = 0;
    for entry in fs::read_dir(&folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8");
        if let Some(stem) = name.strip_suffix(".expanded.rs") {
            assert!(folder.join(format!("{stem}.rs")).exists(), "{name} has no source");
        } else {
            compare(&path);
            sources += 1;
        }
    }
    assert!(sources > 0, "{} is empty", folder.display());
}

fn compare(source: &Path) {
    let expected: PathBuf = source.with_extension("expanded.rs");
    let text = fs::read_to_string(source).expect("the source can be read");
    let expanded = expand_file(syn::parse_file(&text).expect("the source is Rust"));
    if env::var_os(BLESS).is_some() {
        fs::write(&expected, &expanded).expect("the expansion can be written");
    }
    let reviewed = fs::read_to_string(&expected).unwrap_or_default();
    assert!(
        reviewed == expanded,
        "{} differs from this, which `{BLESS}=1 cargo test -p dlpack-derive` writes there:\n\
         {expanded}",
        expected.display()
    );
}

/// The file with the expansions of its derives.
fn expand_file(mut file: File) -> String {
    let mut items = Vec::new();
    for mut item in file.items {
        let expansion = match &mut item {
            Item::Struct(item) => {
                let expansion = derived(item);
                strip(&mut item.attrs);
                item.fields.iter_mut().for_each(|field| strip(&mut field.attrs));
                Some(expansion)
            }
            Item::Enum(item) => {
                let expansion = derived(item);
                strip(&mut item.attrs);
                for variant in &mut item.variants {
                    strip(&mut variant.attrs);
                    variant.fields.iter_mut().for_each(|field| strip(&mut field.attrs));
                }
                Some(expansion)
            }
            _ => None,
        };
        items.push(item);
        if let Some(expansion) = expansion {
            items.extend(syn::parse2::<File>(expansion).expect("it expands to items").items);
        }
    }
    file.items = items;
    prettyplease::unparse(&file)
}

/// A derive, on tokens of `proc_macro2`.
type Derive = fn(&DeriveInput) -> TokenStream;

/// The derives, by their names.
const DERIVES: [(&str, Derive); 8] = [
    ("DLPackExport", crate::derive::export),
    ("DLPackImport", crate::derive::import),
    ("Element", parts::element),
    ("Record", parts::record),
    ("DataType", parts::data_type),
    ("Storage", parts::storage),
    ("AsLayout", parts::as_layout),
    ("FromLayout", parts::from_layout),
];

/// The expansions of all derives of an item.
fn derived(item: &impl ToTokens) -> TokenStream {
    let input: DeriveInput = syn::parse2(item.to_token_stream()).expect("it can be derived on");
    let asked: Vec<String> = input.attrs.iter().flat_map(words_of_derive).collect();
    let derives = DERIVES.iter().filter(|(name, _)| asked.iter().any(|word| word == name));
    derives.map(|(_, derive)| derive(&input)).collect()
}

/// The words in a `#[derive(...)]`.
fn words_of_derive(attr: &Attribute) -> Vec<String> {
    match &attr.meta {
        Meta::List(derives) if derives.path.is_ident("derive") => {
            let words = derives.tokens.to_string();
            words.split(',').map(|word| word.trim().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Removes our derives and their attributes.
fn strip(attrs: &mut Vec<Attribute>) {
    attrs.retain(|attr| !attr.path().is_ident(attributes::DLPACK));
    attrs.retain_mut(|attr| {
        let words = words_of_derive(attr);
        let ours = |word: &String| DERIVES.iter().any(|(name, _)| name == word);
        let others: Vec<_> = words.iter().filter(|word| !ours(word)).cloned().collect();
        match &mut attr.meta {
            Meta::List(derives) if derives.path.is_ident("derive") => {
                derives.tokens = others.join(", ").parse().expect("a shorter list is a list");
                !others.is_empty()
            }
            _ => true,
        }
    });
}
