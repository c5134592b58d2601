//! Checks of newtypes and enums around exportable values.

use proc_macro2::{Ident, Span};

use super::types::is_list;
use crate::ast::{Field, Input, Variant};
use crate::attr::StructAttrs;
use crate::attributes::{Direction, Role};
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{self};

/// The only field of a `#[dlpack(transparent)]` struct.
pub(super) fn transparent<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    fields: &'a [Field<'a>],
    attrs: &StructAttrs,
) -> Option<&'a Field<'a>> {
    for key in attrs.of_a_tensor() {
        cx.push(message::beside_transparent(key));
    }
    refuse_roles(cx, fields, message::beside_transparent);
    match one(fields) {
        Ok(field) => Some(field),
        Err(count) => {
            let key = attrs.transparent.as_ref().unwrap_or(input.ident);
            cx.push(message::transparent_fields(key, input.ident, count, cx.direction()));
            None
        }
    }
}

/// The variants of an enum.
pub(super) fn variants<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variants: &'a [Variant<'a>],
    attrs: &StructAttrs,
) -> Vec<model::Variant<'a>> {
    let transparent = attrs.transparent.as_ref();
    let skip = attrs.skip.as_ref().map(|list| &list.key);
    for key in attrs.of_a_tensor().chain(transparent).chain(skip) {
        cx.push(message::on_an_enum(key, input.ident));
    }
    if variants.is_empty() {
        cx.push(message::no_variants(input.ident, cx.direction()));
    }
    let mut models = Vec::new();
    for variant in variants {
        refuse_roles(cx, &variant.fields, |key| message::on_an_enum(key, input.ident));
        let ident = variant.ident;
        if variant.attrs.skip {
            models.push(model::Variant { ident, body: model::Body::Skipped });
            continue;
        }
        match one(&variant.fields) {
            Ok(field) => {
                let body = model::Body::Inner { field, fields: &variant.fields };
                models.push(model::Variant { ident, body });
            }
            // A word that was rejected may have been meant as `skip`.
            Err(_) if variant.attrs.unread => {}
            Err(0) => cx.push(message::variant_without_tensor(ident, cx.direction())),
            Err(count) => cx.push(message::variant_with_fields(ident, count, cx.direction())),
        }
    }
    // Roles were rejected above, and a word that was rejected may have been meant as `skip`.
    let are_read = variants.iter().all(|variant| {
        let mut fields = variant.fields.iter().map(|field| &field.attrs);
        !variant.attrs.unread && fields.all(|attrs| attrs.roles.is_empty() && !attrs.unread)
    });
    if are_read && cx.direction() == Direction::Export {
        refuse_lists(cx, input.ident, &models);
    }
    models
}

/// Reports the first variant that holds a list, which has no shape.
fn refuse_lists(cx: &Ctxt, owner: &Ident, variants: &[model::Variant<'_>]) {
    let held = || {
        variants.iter().filter_map(|variant| match &variant.body {
            model::Body::Inner { field, .. } => Some((variant.ident, field.ty)),
            model::Body::Skipped => None,
        })
    };
    if let Some((variant, ty)) = held().find(|(_, ty)| is_list(ty)) {
        let only_lists = held().all(|(_, ty)| is_list(ty));
        cx.push(message::list_in_a_variant(owner, variant, ty, only_lists));
    }
}

/// The span of the parentheses of a newtype whose field has no attribute.
pub(super) fn newtype(
    fields: &[Field<'_>],
    tuple: Option<Span>,
    attrs: &StructAttrs,
) -> Option<Span> {
    let [field] = fields else { return None };
    tuple.filter(|_| {
        field.attrs.are_silent() && !attrs.unread && attrs.stated(Role::Shape).is_none()
    })
}

/// The one field that is not skipped, or the number of such fields.
fn one<'a>(fields: &'a [Field<'a>]) -> Result<&'a Field<'a>, usize> {
    let mut kept = fields.iter().filter(|field| field.attrs.skip.is_none());
    match (kept.next(), kept.count()) {
        (Some(field), 0) => Ok(field),
        (None, _) => Err(0),
        (Some(_), others) => Err(others + 1),
    }
}

fn refuse_roles(cx: &Ctxt, fields: &[Field<'_>], refusal: impl Fn(&syn::Ident) -> syn::Error) {
    for mark in fields.iter().flat_map(|field| &field.attrs.roles) {
        cx.push(refusal(&mark.key));
    }
}
