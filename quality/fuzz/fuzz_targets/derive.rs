//! The derives on random items: they must not panic, and must return items or errors
//! that have a place in the input.
#![no_main]
#![allow(dead_code, reason = "modules of a procedural macro, without its entry points")]

#[path = "../../../dlpack-derive/src/ast.rs"]
mod ast;
#[path = "../../../dlpack-derive/src/attr/mod.rs"]
mod attr;
#[path = "../../../dlpack-derive/src/bounds.rs"]
mod bounds;
#[path = "../../../dlpack-derive/src/check/mod.rs"]
mod check;
#[path = "../../../dlpack-derive/src/ctxt.rs"]
mod ctxt;
#[path = "../../../dlpack-derive/src/derive.rs"]
mod derive;
#[path = "../../../dlpack-derive/src/did_you_mean.rs"]
mod did_you_mean;
#[path = "../../../dlpack-derive/src/dtype_names.rs"]
mod dtype_names;
#[path = "../../../dlpack-derive/src/expand/mod.rs"]
mod expand;
#[path = "../../../dlpack-derive/src/fallback.rs"]
mod fallback;
#[path = "../../../dlpack-derive/src/hygiene.rs"]
mod hygiene;
#[path = "../../../dlpack-derive/src/manifest.rs"]
mod manifest;
#[path = "../../../dlpack-derive/src/message/mod.rs"]
mod message;
#[path = "../../../dlpack-derive/src/model.rs"]
mod model;
#[path = "../../../dlpack-derive/src/numbers.rs"]
mod numbers;
#[path = "../../../dlpack-derive/src/parts/mod.rs"]
mod parts;
#[path = "../../../dlpack-derive/src/attributes.rs"]
mod attributes;

use std::str::FromStr as _;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use proc_macro2::{TokenStream, TokenTree};
use syn::DeriveInput;

const DERIVES: [fn(&DeriveInput) -> TokenStream; 8] = [
    derive::export,
    derive::import,
    parts::element,
    parts::record,
    parts::data_type,
    parts::storage,
    parts::as_layout,
    parts::from_layout,
];

/// An item, built from tokens that the derives accept.
#[derive(Arbitrary, Debug)]
struct Item {
    attrs: Vec<Vec<u8>>,
    generics: u8,
    body: Body,
}

#[derive(Arbitrary, Debug)]
enum Body {
    Named(Vec<Field>),
    Tuple(Vec<Field>),
    Enum(Vec<Variant>),
    Unit,
    Union(Vec<Field>),
}

#[derive(Arbitrary, Debug)]
struct Field {
    attrs: Vec<Vec<u8>>,
    name: u8,
    ty: u8,
}

#[derive(Arbitrary, Debug)]
struct Variant {
    attrs: Vec<Vec<u8>>,
    name: u8,
    named: bool,
    fields: Vec<Field>,
}

/// The contents of `#[dlpack(...)]`.
const WORDS: [&str; 82] = [
    "data",
    "shape",
    "strides",
    "order",
    "pitch",
    "offset",
    "byte_offset",
    "len",
    "ndim",
    "layout",
    "dtype",
    "device",
    "sync",
    "owner",
    "skip",
    "transparent",
    "bound",
    "crate",
    "padded",
    "packed",
    "read_only",
    "copy",
    "construct",
    "validate",
    "require",
    "default",
    "contiguous",
    "rank",
    "import",
    "lanes",
    "any_bits",
    "big_endian",
    "little_endian",
    "alias",
    "elements",
    "bytes",
    "row_major",
    "column_major",
    "unsafe(ptr, len(elements) = size)",
    "unsafe(ptr, len(bytes) = n)",
    "unsafe",
    "ptr",
    "=",
    ",",
    ",",
    ",",
    "(",
    ")",
    "BF16",
    "F32",
    "Self::DTYPE",
    "self",
    "Self::new",
    "::x::y",
    "height",
    "width",
    "3",
    "-1",
    "0",
    "1.5",
    "\"text\"",
    "'a",
    "T: Element",
    "T",
    "size",
    "strides(bytes)",
    "strides(elements)",
    "pitch(elements)",
    "offset(bytes)",
    "len(elements)",
    "shape(height, width, 3)",
    "= |x| x + 1",
    "device = Device::CPU",
    "18446744073709551616",
    "= self.0.f()",
    "shape = &self.x",
    "strides = Self::X",
    "offset(bytes) = 3",
    "pitch(elements) = height",
    "order = f(&self.0).into()",
    "with(to, from)",
    "unsafe(mut ptr, len(elements) = self.len()), with = f, shared",
];
const NAMES: [&str; 20] = [
    "data",
    "shape",
    "strides",
    "byte_offset",
    "dtype",
    "device",
    "height",
    "width",
    "offset",
    "pitch",
    "len",
    "ndim",
    "order",
    "size",
    "layout",
    "r#type",
    "r#data",
    "x",
    "channels",
    "n",
];
const TYPES: [&str; 28] = [
    "Vec<u8>",
    "Vec<f32>",
    "[usize; 3]",
    "Vec<i64>",
    "Arc<[T]>",
    "&'a [u8]",
    "ImportedStorage<f32>",
    "ImportedStorage",
    "usize",
    "i64",
    "DataType",
    "Device",
    "*const f32",
    "*mut T",
    "NonNull<u8>",
    "Option<Vec<i64>>",
    "[[f32; 4]; N]",
    "Box<dyn Storage>",
    "String",
    "Mutex<Vec<u8>>",
    "T",
    "PhantomData<T>",
    "fn(u8) -> u8",
    "impl Sized",
    "_",
    "(f32, f32)",
    "!",
    "[T]",
];
const VARIANTS: [&str; 16] = [
    "F32",
    "Float16",
    "BF16",
    "Int8",
    "UInt64",
    "Bool",
    "Complex128",
    "Half",
    "Double",
    "U8",
    "F8_E4M3",
    "Text",
    "r#Self_",
    "Complex64",
    "I64",
    "BFloat16",
];
const GENERICS: [&str; 10] = [
    "",
    "",
    "<T>",
    "<T: Element>",
    "<'a>",
    "<'a, T: 'a>",
    "<const N: usize>",
    "<T = u8>",
    "<T: ?Sized>",
    "<T, const N: usize = 3>",
];
const OUTER: [&str; 10] = [
    "repr(C)",
    "repr(transparent)",
    "repr(C, packed)",
    "repr(u8)",
    "allow(dead_code)",
    "dlpack",
    "dlpack = 3",
    "dlpack[data]",
    "doc = \"x\"",
    "dlpack()",
];

fn pick<'a>(words: &[&'a str], which: u8) -> &'a str {
    words[usize::from(which) % words.len()]
}

fn attrs(attrs: &[Vec<u8>], text: &mut String) {
    for words in attrs.iter().take(4) {
        match words.as_slice() {
            [which] if *which >= 128 => *text += &format!("#[{}] ", pick(&OUTER, *which)),
            words => {
                let words: Vec<&str> =
                    words.iter().take(12).map(|&word| pick(&WORDS, word)).collect();
                *text += &format!("#[dlpack({})] ", words.join(" "));
            }
        }
    }
}

fn fields(all: &[Field], named: bool, text: &mut String) {
    *text += if named { "{ " } else { "( " };
    for (number, field) in all.iter().take(8).enumerate() {
        attrs(&field.attrs, text);
        if named {
            let name = pick(&NAMES, field.name);
            // A duplicate name is rejected by the compiler before the derive runs.
            let again = all[..number].iter().any(|other| pick(&NAMES, other.name) == name);
            *text += name;
            if again {
                *text += &number.to_string();
            }
            *text += ": ";
        }
        *text += pick(&TYPES, field.ty);
        *text += ", ";
    }
    *text += if named { "}" } else { ")" };
}

impl Item {
    fn text(&self) -> String {
        let mut text = String::new();
        attrs(&self.attrs, &mut text);
        let generics = pick(&GENERICS, self.generics);
        match &self.body {
            Body::Named(all) => {
                text += &format!("pub struct Name{generics} ");
                fields(all, true, &mut text);
            }
            Body::Tuple(all) => {
                text += &format!("struct Name{generics} ");
                fields(all, false, &mut text);
                text += ";";
            }
            Body::Unit => text += &format!("struct Name{generics};"),
            Body::Union(all) => {
                text += &format!("union Name{generics} ");
                fields(all, true, &mut text);
            }
            Body::Enum(variants) => {
                text += &format!("enum Name{generics} {{ ");
                for (number, variant) in variants.iter().take(8).enumerate() {
                    attrs(&variant.attrs, &mut text);
                    text += pick(&VARIANTS, variant.name);
                    text += &"_".repeat(number);
                    if !variant.fields.is_empty() || variant.named {
                        fields(&variant.fields, variant.named, &mut text);
                    }
                    text += ", ";
                }
                text += "}";
            }
        }
        text
    }
}

/// Whether every error has a place: its first token is somewhere in the input.
fn placed(tokens: TokenStream, text: &str) {
    // The name of the macro, and its mark: the name alone may be the input's.
    let (mut named, mut called) = (false, false);
    for token in tokens {
        match token {
            TokenTree::Group(group) if called => {
                let sentence = group.stream();
                let placed = !group.span_close().byte_range().is_empty();
                assert!(placed, "without a place: {sentence} in {text}");
                (named, called) = (false, false);
            }
            TokenTree::Group(group) => {
                placed(group.stream(), text);
                (named, called) = (false, false);
            }
            TokenTree::Ident(ident) => (named, called) = (ident == "compile_error", false),
            TokenTree::Punct(mark) => (named, called) = (false, named && mark.as_char() == '!'),
            TokenTree::Literal(_) => (named, called) = (false, false),
        }
    }
}

fn derive(text: &str) {
    let Ok(tokens) = TokenStream::from_str(text) else { return };
    let Ok(input) = syn::parse2::<DeriveInput>(tokens) else { return };
    for derive in DERIVES {
        let expansion = derive(&input);
        let file = syn::parse2::<syn::File>(expansion.clone());
        let file = file.unwrap_or_else(|error| panic!("{error}: {text}\n{expansion}"));
        assert!(!file.items.is_empty(), "neither an impl nor an error: {text}");
        placed(expansion, text);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    if first & 1 == 0 {
        if let Ok(text) = std::str::from_utf8(rest) {
            derive(text);
        }
    } else if let Ok(item) = Item::arbitrary_take_rest(Unstructured::new(rest)) {
        derive(&item.text());
    }
    // Places are kept until then, and there would be ever more of them.
    proc_macro2::extra::invalidate_current_thread_spans();
});
