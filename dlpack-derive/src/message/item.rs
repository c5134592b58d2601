//! Errors about the struct or enum as a whole.

use proc_macro2::{Ident, Span};
use syn::{Data, DeriveInput, Error, Type};

use super::{counted, refusal, written};
use crate::attributes::{self, Direction};

impl Direction {
    /// The derived trait.
    pub(crate) const fn derive(self) -> &'static str {
        match self {
            Direction::Export => "DLPackExport",
            Direction::Import => "DLPackImport",
        }
    }

    /// The verb; its participle ends with `ed`.
    pub(crate) const fn verb(self) -> &'static str {
        match self {
            Direction::Export => "export",
            Direction::Import => "import",
        }
    }
}

/// `derive` is not for items of this kind, but for `kinds`.
pub(crate) fn wrong_item(input: &DeriveInput, derive: &str, kinds: &str) -> Error {
    let (keyword, kind) = match &input.data {
        Data::Struct(data) => (data.struct_token.span, "a struct"),
        Data::Enum(data) => (data.enum_token.span, "an enum"),
        Data::Union(data) => (data.union_token.span, "a union"),
    };
    let ident = &input.ident;
    refusal(
        keyword,
        format!("`{derive}` can only be derived for {kinds}, but `{ident}` is {kind}"),
        match derive {
            "AsLayout" => format!("write `impl AsLayout for {ident}`"),
            "DataType" => format!("write `impl From<{ident}> for DataType`"),
            "Element" => {
                format!("store the number behind it: `#[repr(transparent)] struct {ident}(u8);`")
            }
            "Storage" => "use an enum, which stores its variant".to_owned(),
            _ => format!(
                "derive it on the struct that owns the buffer, or write `impl {derive} for {ident}`"
            ),
        },
    )
}

pub(crate) fn packed(word: Span, derive: &str) -> Error {
    refusal(
        word,
        format!(
            "`{derive}` cannot be derived for a `#[repr(packed)]` struct\n\
             = note: the fields of a packed struct cannot be borrowed"
        ),
        "remove `packed`, or move the fields of the tensor to a struct of their own",
    )
}

pub(crate) fn unit_struct(ident: &Ident, direction: Direction) -> Error {
    let export = direction.verb();
    refusal(
        ident.span(),
        format!("`{ident}` has no fields, so it owns no elements to {export}"),
        format!("add them: `struct {ident} {{ data: Vec<f32>, shape: [usize; 2] }}`"),
    )
}

// ---- newtypes and enums ----

pub(crate) fn newtype(parentheses: Span, ident: &Ident, direction: Direction) -> Error {
    let export = direction.verb();
    refusal(
        parentheses,
        format!("newtype `{ident}` does not say what its field is to the tensor"),
        format!(
            "write `#[dlpack(transparent)]` above `struct {ident}` if the field can be {export}ed \
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
    let export = direction.verb();
    refusal(
        key.span(),
        format!(
            "a `transparent` struct has one field, but `{ident}` has {}",
            counted(count, "field")
        ),
        match count {
            0 => format!("add the field that can be {export}ed, without `#[dlpack(skip)]`"),
            _ => {
                format!(
                    "write `#[dlpack(skip)]` above every field but the one that can be {export}ed"
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
    let export = direction.verb();
    refusal(
        ident.span(),
        format!("enum `{ident}` has no variants, so it owns no elements to {export}"),
        format!("add a variant that holds something that can be {export}ed: `F32(Tensor<f32>)`"),
    )
}

pub(crate) fn variant_without_tensor(ident: &Ident, direction: Direction) -> Error {
    let export = direction.verb();
    refusal(
        ident.span(),
        format!("variant `{ident}` holds nothing that can be {export}ed"),
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
    let derive = direction.derive();
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
        if key == attributes::TRANSPARENT {
            "remove `transparent`: an enum always is the tensor of its variant".to_owned()
        } else {
            format!("move `{key}` to the struct that the variant holds")
        },
    )
}
