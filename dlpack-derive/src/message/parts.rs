//! Errors of the derives for parts of a tensor.

use proc_macro2::{Ident, Span};
use syn::{Error, Type};

use super::{listed, refusal, useless, written};
use crate::did_you_mean::similar;
use crate::dtype_names::{self as names, Named};

// ---- keys ----

/// Also the text for other derives: `kind` is *struct*, *field*, *variant*.
pub(crate) fn unknown_attribute(key: &Ident, kind: &str, words: &[&str]) -> Error {
    let all = format!("{kind} attributes are {}", listed(words));
    let help = match similar(&key.to_string(), words) {
        Some(word) => format!("did you mean `{word}`? {all}"),
        None => all,
    };
    refusal(key.span(), format!("unknown dlpack {kind} attribute `{key}`"), help)
}

pub(crate) fn contradiction(second: &Ident, first: &Ident) -> Error {
    refusal(
        second.span(),
        format!("`{second}` cannot stand beside `{first}`"),
        "keep one of the two attributes",
    )
}

// ---- elements ----

pub(crate) fn element_without_parts(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("`{ident}` has no field that holds a number"),
        format!("give it one: `struct {ident}(f32);`"),
    )
}

pub(crate) fn no_repr(kind: &str, ident: &Ident, repr: &str) -> Error {
    refusal(
        ident.span(),
        format!("{kind} needs `#[repr({repr})]`, but Rust chooses the layout of `{ident}` freely"),
        format!("write `#[repr({repr})]` above `struct {ident}`"),
    )
}

pub(crate) fn element_repr(word: Span, repr: &str) -> Error {
    refusal(
        word,
        format!("an element cannot be `#[repr({repr})]`"),
        "keep `#[repr(transparent)]`, or `#[repr(C)]` where there are several fields",
    )
}

pub(crate) fn transparent_with_parts(place: Span, ident: &Ident) -> Error {
    refusal(
        place,
        format!("`{ident}` is `#[repr(transparent)]` but has a second field that holds a number"),
        "write `#[repr(C)]` for several numbers, or `#[dlpack(skip)]` above a field without size",
    )
}

pub(crate) fn different_parts(place: Span, found: &Type, first: &Type) -> Error {
    refusal(
        place,
        format!(
            "the fields of an element have one type, but this is `{}` and the first is `{}`",
            written(found),
            written(first)
        ),
        "derive `Record` for fields of several types; each of them is exported as a tensor",
    )
}

// ---- records ----

pub(crate) fn record_repr(word: Span, repr: &str) -> Error {
    refusal(
        word,
        format!("a record cannot be `#[repr({repr})]`"),
        "keep `#[repr(C)]`; name padding as a field: `#[dlpack(skip)] padding: [u8; 4]`",
    )
}

pub(crate) fn record_without_names(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("the fields of the record `{ident}` need names, which other libraries use"),
        format!("write `struct {ident} {{ mass: f32 }}`"),
    )
}

pub(crate) fn record_without_fields(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("`{ident}` has no field that other libraries could use"),
        format!("give it one: `struct {ident} {{ mass: f32 }}`"),
    )
}

pub(crate) fn one_constant(second: &Ident, first: &Ident, constant: &Ident) -> Error {
    refusal(
        second.span(),
        format!("the fields `{first}` and `{second}` would have one constant `{constant}`"),
        format!("rename `{second}`"),
    )
}

// ---- data types ----

pub(crate) fn unclear_variant(variant: &Ident, reason: &str, candidates: &[&str]) -> Error {
    let name = match candidates {
        [] => "name a constant of `DataType`: `#[dlpack(dtype = U8)]`".to_owned(),
        [one] => format!("write `#[dlpack(dtype = {one})]` above it"),
        all => format!("write `#[dlpack(dtype = ...)]` above it with one of {}", listed(all)),
    };
    refusal(
        variant.span(),
        format!("the element type of variant `{variant}` must be spelled out\n= note: {reason}"),
        format!("{name}, or `#[dlpack(skip)]` if DLPack has no such type"),
    )
}

pub(crate) fn byte_order_not_said(variant: &Ident, constant: &str, order: &str) -> Error {
    refusal(
        variant.span(),
        format!(
            "variant `{variant}` seems to have a byte order, which must be spelled out\n\
             = note: DLPack knows the byte order of the machine only"
        ),
        format!(
            "write `#[dlpack(dtype = {constant}, {order})]` above it; where the machine has \
             another order, a conversion is then an error"
        ),
    )
}

pub(crate) fn dtype_variant_with_fields(variant: &Ident) -> Error {
    refusal(
        variant.span(),
        format!("variant `{variant}` has fields, but an element type is a plain name"),
        "write `#[dlpack(skip)]` above it; a conversion of it is then an error that names it",
    )
}

pub(crate) fn unknown_dtype(name: &Ident) -> Error {
    let upper = name.to_string().to_uppercase();
    let near = match (similar_constant(&upper), names::named(&name.to_string())) {
        (_, Named::As(constant) | Named::Ordered(constant, _))
        | (Some(constant), Named::Unclear { .. }) => vec![constant],
        (None, Named::Unclear { candidates, .. }) => candidates,
    };
    let near = match &near[..] {
        [] => "the constants are those of `DataType`, such as `U8`;".to_owned(),
        near => format!("did you mean {}?", listed(near)),
    };
    refusal(
        name.span(),
        format!("`DataType` has no constant `{name}`"),
        format!("{near} a constant of your own needs a path: `self::{upper}`"),
    )
}

fn similar_constant(name: &str) -> Option<&'static str> {
    let lower: Vec<String> = names::CONSTANTS.iter().map(|name| name.to_lowercase()).collect();
    let words: Vec<&str> = lower.iter().map(String::as_str).collect();
    names::constant(&similar(name, &words)?.to_uppercase())
}

pub(crate) fn twin_variants(second: &Ident, first: &Ident, dtype: &str) -> Error {
    refusal(
        second.span(),
        format!("`{second}` and `{first}` are both `{dtype}`, which must come back as one of them"),
        "write `#[dlpack(alias)]` above the one that it does not come back as",
    )
}

pub(crate) fn alias_of_nothing(key: &Ident, dtype: &str) -> Error {
    useless(key, format!("no other variant is `{dtype}`, so there is nothing to be an alias of"))
}

// ---- layouts ----

pub(crate) fn layout_without_fields(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("`{ident}` has no fields, so it describes no layout"),
        format!("add them: `struct {ident} {{ shape: Vec<usize>, strides: Vec<isize> }}`"),
    )
}

pub(crate) fn not_in_a_layout(place: &Ident, role: &str) -> Error {
    refusal(
        place.span(),
        format!("a layout has no `{role}`, which belongs to the struct that holds the elements"),
        "move it there, or write `#[dlpack(skip)]` above the field",
    )
}

pub(crate) fn word_not_in_a_layout(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` says nothing about a layout"),
        "move it to the struct that holds the elements",
    )
}

// ---- storages ----

pub(crate) fn storage_without_variants(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("`{ident}` has no variants, so it holds no elements"),
        format!("add them: `enum {ident} {{ F32(Vec<f32>), I64(Vec<i64>) }}`"),
    )
}

pub(crate) fn no_storage(kind: &str, owner: &Ident) -> Error {
    let help = match kind {
        "variant" => format!(
            "hold one: `{owner}(Vec<f32>)`, or write `#[dlpack(skip)]` above the variant; an \
             export of it is then an error that names it"
        ),
        _ => format!("hold one: `struct {owner}(Vec<f32>);`"),
    };
    refusal(owner.span(), format!("{kind} `{owner}` has no field that holds the elements"), help)
}

pub(crate) fn second_storage(place: Span, kind: &str, owner: &Ident) -> Error {
    refusal(
        place,
        format!("{kind} `{owner}` has more than one field that could hold the elements"),
        "write `#[dlpack(skip)]` above each field but one",
    )
}

pub(crate) fn packing_of_nothing(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` says how a `dtype` lies in bytes, but none is given"),
        format!("write `#[dlpack(dtype = FLOAT4_E2M1FN, {key})]`"),
    )
}

pub(crate) fn packing_not_said(place: Span, dtype: &str) -> Error {
    refusal(
        place,
        format!("elements of type `{dtype}` are narrower than a byte, and may share bytes or not"),
        format!(
            "write `#[dlpack(dtype = {dtype}, packed)]` if they share bytes, `padded` if each \
             takes a byte"
        ),
    )
}

pub(crate) fn packing_of_whole_bytes(key: &Ident, dtype: &str) -> Error {
    useless(key, format!("`{key}` is about elements narrower than a byte, which `{dtype}` is not"))
}
