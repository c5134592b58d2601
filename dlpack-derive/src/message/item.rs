//! Errors about the struct or enum as a whole.

use proc_macro2::{Ident, Span};
use syn::{Error, Type};

use super::{counted, refusal, written};
use crate::symbol::{self, Direction};

/// The derived trait, and the words *export* and *exported* or *import* and
/// *imported*.
fn words(direction: Direction) -> (&'static str, &'static str, &'static str) {
    match direction {
        Direction::Export => ("DLPackExport", "export", "exported"),
        Direction::Import => ("DLPackImport", "import", "imported"),
    }
}

pub(crate) fn union(keyword: Span, ident: &Ident, direction: Direction) -> Error {
    let (derive, ..) = words(direction);
    refusal(
        keyword,
        format!("`{derive}` can only be derived for structs and enums, but `{ident}` is a union"),
        format!(
            "derive it on the struct that owns the buffer, or write `impl {derive} for {ident}`"
        ),
    )
}

pub(crate) fn unit_struct(ident: &Ident, direction: Direction) -> Error {
    let (_, export, _) = words(direction);
    refusal(
        ident.span(),
        format!("`{ident}` has no fields, so it owns no elements to {export}"),
        format!("add them: `struct {ident} {{ data: Vec<f32>, shape: [usize; 2] }}`"),
    )
}

pub(crate) fn packed(word: Span) -> Error {
    refusal(
        word,
        "`DLPackExport` cannot be derived for a `#[repr(packed)]` struct\n\
         = note: the fields of a packed struct cannot be borrowed",
        "remove `packed`, or move the fields of the tensor to a struct of their own",
    )
}

// ---- newtypes and enums ----

pub(crate) fn newtype(parentheses: Span, ident: &Ident, direction: Direction) -> Error {
    let (_, _, exported) = words(direction);
    refusal(
        parentheses,
        format!("newtype `{ident}` does not say what its field is to the tensor"),
        format!(
            "write `#[dlpack(transparent)]` above `struct {ident}` if the field can be {exported} \
             itself; if it holds the elements, mark it `#[dlpack(data)]`"
        ),
    )
}

pub(crate) fn transparent_fields(
    key: &Ident,
    ident: &Ident,
    count: usize,
    direction: Direction,
) -> Error {
    let (_, _, exported) = words(direction);
    refusal(
        key.span(),
        format!(
            "a `transparent` struct has one field, but `{ident}` has {}",
            counted(count, "field")
        ),
        match count {
            0 => format!("add the field that can be {exported}, without `#[dlpack(skip)]`"),
            _ => {
                format!(
                    "write `#[dlpack(skip)]` above every field but the one that can be {exported}"
                )
            }
        },
    )
}

pub(crate) fn beside_transparent(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!(
            "`{key}` has no meaning in a `transparent` struct, whose field is the whole tensor"
        ),
        format!("remove `{key}`, or remove `transparent` and mark the fields with their roles"),
    )
}

pub(crate) fn no_variants(ident: &Ident, direction: Direction) -> Error {
    let (_, export, exported) = words(direction);
    refusal(
        ident.span(),
        format!("enum `{ident}` has no variants, so it owns no elements to {export}"),
        format!("add a variant that holds something that can be {exported}: `F32(Tensor<f32>)`"),
    )
}

pub(crate) fn variant_without_tensor(ident: &Ident, direction: Direction) -> Error {
    let (_, _, exported) = words(direction);
    refusal(
        ident.span(),
        format!("variant `{ident}` holds nothing that can be {exported}"),
        match direction {
            Direction::Export => format!(
                "write `#[dlpack(skip)]` above `{ident}`, so that exporting it is an error that \
                 names it"
            ),
            Direction::Import => {
                format!("write `#[dlpack(skip)]` above `{ident}`, so that no tensor becomes one")
            }
        },
    )
}

pub(crate) fn variant_with_fields(ident: &Ident, count: usize, direction: Direction) -> Error {
    let (derive, ..) = words(direction);
    refusal(
        ident.span(),
        format!(
            "variant `{ident}` has {}, but a variant holds one tensor",
            counted(count, "field")
        ),
        format!(
            "move the fields to a struct that derives `{derive}`, or write `#[dlpack(skip)]` above \
             each field but one"
        ),
    )
}

pub(crate) fn list_in_a_variant(
    owner: &Ident,
    variant: &Ident,
    ty: &Type,
    only_lists: bool,
) -> Error {
    let ty = written(ty);
    refusal(
        variant.span(),
        format!("variant `{variant}` holds `{ty}`, which has elements but no shape"),
        if only_lists {
            format!(
                "derive `Storage` instead of `DLPackExport` on enum `{owner}`, and use it as the \
                 `data` field of a struct with a `shape`"
            )
        } else {
            format!(
                "hold a struct that derives `DLPackExport`: \
                 `struct Tensor {{ data: {ty}, shape: [usize; 2] }}`"
            )
        },
    )
}

pub(crate) fn on_an_enum(key: &Ident, ident: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` has no meaning in enum `{ident}`, whose variants are whole tensors"),
        if key == symbol::TRANSPARENT {
            "remove `transparent`: an enum always is the tensor of its variant".to_owned()
        } else {
            format!("move `{key}` to the struct that the variant holds")
        },
    )
}
