//! Checks across several attributes, which build a `Model`.

mod import;
mod lookalike;
mod missing_role;
mod roles;
mod tensor;
mod transparent;
mod types;

use syn::{GenericParam, Type};

use crate::ast::{Body, Field, Input};
use crate::attr::StructAttrs;
use crate::attributes::Role;
use crate::bounds::Params;
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{Data, Dropped, Kind, Layout, Model};

pub(crate) use import::{check as import, layout as import_layout};

/// The model of a struct or an enum. Every check runs, also after an error; the model is
/// only used if there was none.
pub(crate) fn check<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    attrs: &'a StructAttrs,
) -> Option<Model<'a>> {
    if let Some(packed) = attrs.packed {
        cx.push(message::packed(packed, "DLPackExport"));
    }
    let kind = kind(cx, input, attrs);
    let owned = owned(input, kind.as_ref());
    Some(Model {
        ident: input.ident,
        generics: input.generics,
        bound: attrs.bound.as_ref().map(|bound| &bound.value[..]),
        kind: kind?,
        read_only: attrs.read_only.is_some(),
        owned,
    })
}

/// The kind of the item.
fn kind<'a>(cx: &Ctxt, input: &'a Input<'a>, attrs: &'a StructAttrs) -> Option<Kind<'a>> {
    match &input.body {
        Body::Enum(variants) => Some(Kind::Enum(transparent::variants(cx, input, variants, attrs))),
        Body::Struct { fields, .. } if attrs.transparent.is_some() => {
            transparent::transparent(cx, input, fields, attrs).map(Kind::Transparent)
        }
        Body::Struct { fields, tuple } => {
            if let Some(newtype) = transparent::newtype(fields, *tuple, attrs) {
                cx.push(message::newtype(newtype, input.ident, cx.direction()));
                return None;
            }
            tensor::tensor(cx, input, fields, attrs).map(|tensor| Kind::Tensor(Box::new(tensor)))
        }
    }
}

/// The layout that a struct describes, if the struct may not contain data.
pub(crate) fn layout<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    attrs: &'a StructAttrs,
) -> Option<Layout<'a>> {
    match &input.body {
        Body::Struct { fields, .. } => tensor::layout(cx, input, fields, attrs),
        Body::Enum(_) => None,
    }
}

/// The types of fields that the deleter drops and that must be `Send + 'static` by
/// themselves, each with its role. Items with lifetimes have none, because they can be
/// viewed but not exported. Pointers are excluded: they are `Send` by the user's
/// `unsafe impl Send`.
fn owned<'a>(input: &Input<'a>, kind: Option<&Kind<'_>>) -> Vec<(&'a Type, Dropped)> {
    let borrows = |param: &GenericParam| matches!(param, GenericParam::Lifetime(_));
    if input.generics.params.iter().any(borrows) {
        return Vec::new();
    }
    let params = Params::of(input.generics);
    let fields = input
        .fields()
        .filter(|field| field.attrs.skip.is_none() && (!field.attrs.raw || field.owns_pointer()));
    let is_owner = |field: &Field<'_>| match kind {
        Some(Kind::Tensor(tensor)) => match &tensor.data {
            Data::Storage(data) | Data::Slice { owner: data, .. } => data.member == field.member,
            Data::Raw { .. } => {
                field.owns_pointer()
                    || field.attrs.roles.iter().any(|mark| mark.role == Role::Owner)
            }
        },
        _ => true,
    };
    let dropped = |field| if is_owner(field) { Dropped::Owner } else { Dropped::Beside };
    let owned = fields.map(|field| (field.ty, dropped(field)));
    owned.filter(|(ty, _)| !types::is_surely_owned(ty) && !params.reach(ty)).collect()
}
