//! What needs a look at more than one attribute, and the making of a `Model`.

mod forward;
mod import;
mod lookalike;
mod numbers;
mod roles;
mod tensor;
mod types;
mod unsaid;

use syn::{GenericParam, Type};

use crate::ast::{Body, Field, Input};
use crate::attr::StructAttrs;
use crate::bounds::Params;
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{Access, Data, Dropped, Kind, Layout, Model, RoleField};
use crate::symbol::Role;

pub(crate) use import::{check as import, layout as import_layout};

/// The model of a struct or an enum. Every check runs, also after a refusal;
/// the model is of use only if none refused.
pub(crate) fn check<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    attrs: &'a StructAttrs,
) -> Option<Model<'a>> {
    if let Some(packed) = attrs.packed {
        cx.push(message::packed(packed));
    }
    let kind = kind(cx, input, attrs);
    let owned = owned(input, kind.as_ref());
    Some(Model {
        krate: attrs.krate(),
        ident: input.ident,
        generics: input.generics,
        bound: attrs.bound.as_ref().map(|bound| &bound.value[..]),
        kind: kind?,
        access: if attrs.read_only.is_some() { Access::ReadOnly } else { Access::AsStorage },
        allowed: input.allowed.clone(),
        owned,
    })
}

/// What it is.
fn kind<'a>(cx: &Ctxt, input: &'a Input<'a>, attrs: &'a StructAttrs) -> Option<Kind<'a>> {
    match &input.body {
        Body::Enum(variants) => Some(Kind::Enum(forward::variants(cx, input, variants, attrs))),
        Body::Struct { fields, .. } if attrs.transparent.is_some() => {
            forward::transparent(cx, input, fields, attrs).map(Kind::Transparent)
        }
        Body::Struct { fields, tuple } => {
            if let Some(newtype) = forward::newtype(fields, *tuple, attrs) {
                cx.push(message::newtype(newtype, input.ident, cx.direction()));
                return None;
            }
            tensor::tensor(cx, input, fields, attrs).map(|tensor| Kind::Tensor(Box::new(tensor)))
        }
    }
}

/// The layout that a struct describes, if it is to hold nothing else.
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

fn role_field<'a>(field: &'a Field<'a>) -> RoleField<'a> {
    RoleField { member: &field.member, ty: field.ty }
}

/// The types about which the item alone decides whether a deleter may drop
/// them. What borrows is viewed, never exported, so it may hold anything; a
/// pointer is `Send` by the `unsafe impl Send` that it needs. Each with what it is: the
/// owner of the elements, or beside it.
fn owned<'a>(input: &Input<'a>, kind: Option<&Kind<'_>>) -> Vec<(&'a Type, Dropped)> {
    let borrows = |param: &GenericParam| matches!(param, GenericParam::Lifetime(_));
    if input.generics.params.iter().any(borrows) {
        return Vec::new();
    }
    let params = Params::of(input.generics);
    let fields = input.fields().filter(|field| field.attrs.skip.is_none() && !field.attrs.raw);
    let dropped = |field: &Field<'_>| match kind {
        Some(Kind::Tensor(tensor)) => match &tensor.data {
            Data::Storage(data) if *data.member == field.member => Dropped::Owner,
            Data::Raw { .. } if field.attrs.roles.iter().any(|mark| mark.role == Role::Owner) => {
                Dropped::Owner
            }
            Data::Storage(_) | Data::Raw { .. } => Dropped::Beside,
        },
        _ => Dropped::Owner,
    };
    let owned = fields.map(|field| (field.ty, dropped(field)));
    owned.filter(|(ty, _)| !types::is_surely_owned(ty) && !params.reach(ty)).collect()
}
