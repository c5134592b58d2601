//! Checks for imports: the source of the value of each field without a role.

use syn::GenericParam;
use syn::spanned::Spanned as _;

use super::types;
use crate::ast::{Body, Field, Input, is_phantom};
use crate::attr::StructAttrs;
use crate::attributes::Role;
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{self, Beside, Data, Given, Import, ImportVariant, Kind, Make, Part, Source};

/// The model of a struct or an enum that is imported.
pub(crate) fn check<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    attrs: &'a StructAttrs,
) -> Option<Import<'a>> {
    let borrowed = input.generics.params.iter().find_map(|param| match param {
        GenericParam::Lifetime(param) => Some(&param.lifetime),
        _ => None,
    });
    if let Some(lifetime) = borrowed {
        cx.push(message::import_borrows(lifetime.apostrophe, input.ident));
    }
    let source = match (&input.body, super::kind(cx, input, attrs)) {
        (Body::Enum(_), Some(Kind::Enum(variants))) => {
            if let Some(construct) = &attrs.construct {
                cx.push(message::construct_on_an_enum(&construct.key, input.ident));
            }
            Some(Source::Enum(enumerated(cx, input, variants)))
        }
        (Body::Struct { fields, .. }, Some(Kind::Transparent(inner))) => {
            let is_part = |field: &Field<'_>| field.member == inner.member;
            let make = make(cx, input, attrs, fields, &|field| is_part(field).then_some("field"));
            refuse_copies(cx, fields);
            Some(Source::Transparent { inner, make })
        }
        (Body::Struct { fields, .. }, Some(Kind::Tensor(tensor))) => {
            tensor_of(cx, input, attrs, fields, *tensor)
        }
        _ => None,
    };
    Some(Import {
        ident: input.ident,
        generics: input.generics,
        bound: attrs.bound.as_ref().map(|bound| &bound.value[..]),
        source: source?,
        require: attrs.require.as_ref().map(|require| &require.value),
        validate: attrs.validate.as_ref().and_then(|path| path.value.as_ref()),
    })
}

/// The layout of a struct, and how the struct is made from it.
pub(crate) fn layout<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    attrs: &'a StructAttrs,
) -> Option<(model::Layout<'a>, Make<'a>)> {
    let layout = super::layout(cx, input, attrs)?;
    let Body::Struct { fields, .. } = &input.body else { return None };
    refuse_copies(cx, fields);
    refuse_conversions(cx, fields, &layout);
    let make = make(cx, input, attrs, fields, &|field| layout.part(&field.member));
    Some((layout, make))
}

/// A struct that is a tensor.
fn tensor_of<'a>(
    cx: &Ctxt,
    input: &'a Input<'a>,
    attrs: &'a StructAttrs,
    fields: &'a [Field<'a>],
    tensor: model::Tensor<'a>,
) -> Option<Source<'a>> {
    let data = match tensor.data {
        Data::Storage(data) => data,
        Data::Raw { spelled, .. } => {
            cx.push(message::pointer_in_an_import(spelled, input.ident));
            return None;
        }
        Data::Slice { owner, .. } => {
            let slice = owner.attrs.slice.as_ref()?;
            cx.push(message::slice_in_an_import(&slice.key, &owner.name()));
            return None;
        }
    };
    refuse_conversions(cx, fields, &tensor.layout);
    refuse_copies(cx, fields.iter().filter(|field| field.member != data.member));
    let is_part = |field: &Field<'_>| {
        let is_data = (field.member == data.member).then_some(Role::Data.word());
        is_data.or_else(|| tensor.layout.part(&field.member))
    };
    let make = make(cx, input, attrs, fields, &is_part);
    let copy = data.attrs.copy.is_some();
    if let Some(require) = attrs.require.as_ref().filter(|_| types::is_on_host(data.ty)) {
        let host = |device: &&str| ["cpu", "cuda_host", "rocm_host"].contains(device);
        if !require.value.devices.is_empty() && !require.value.devices.iter().any(host) {
            cx.push(message::host_elements_elsewhere(&require.key, &data.name()));
        }
    }
    Some(Source::Tensor { layout: Box::new(tensor.layout), data, copy, make })
}

/// How the struct is made from its fields. `is_part` returns the role of a
/// field in the tensor, if it has one.
fn make<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    attrs: &'a StructAttrs,
    fields: &'a [Field<'a>],
    is_part: &dyn Fn(&Field<'_>) -> Option<&'static str>,
) -> Make<'a> {
    for field in fields {
        let (Some(default), name) = (&field.attrs.default, field.name()) else { continue };
        if let Some(word) = is_part(field) {
            cx.push(message::default_of_a_role(&default.key, &name, word));
        } else if attrs.construct.is_some() {
            cx.push(message::default_beside_construct(&default.key, &name));
        }
    }
    if let Some(construct) = &attrs.construct {
        let parts = fields.iter().filter(|field| is_part(field).is_some());
        // If there is no path, an error was already reported.
        if let Some(path) = &construct.value {
            return Make::Call(path, parts.collect());
        }
        return Make::Fields(Vec::new());
    }
    let others = fields.iter().filter(|field| is_part(field).is_none());
    Make::Fields(others.filter_map(|field| beside(cx, input, field)).collect())
}

/// The source of the value of a field that is not part of the tensor.
fn beside<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    field: &'a Field<'a>,
) -> Option<(&'a Field<'a>, Beside<'a>)> {
    match &field.attrs.default {
        Some(default) => Some(match &default.value {
            Some(path) => (field, Beside::Call(path)),
            None => (field, Beside::Default),
        }),
        None if is_phantom(field.ty) => Some((field, Beside::Default)),
        None => {
            // A rejected attribute or field may have been meant as its role.
            if !field.attrs.unread && !field.attrs.refused.get() {
                cx.push(message::no_default(field.place(), &field.name(), input.ident));
            }
            None
        }
    }
}

/// The variants of an enum that is imported.
fn enumerated<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variants: Vec<model::Variant<'a>>,
) -> Vec<ImportVariant<'a>> {
    let mut into = Vec::new();
    let is_empty = variants.is_empty();
    for variant in variants {
        let model::Body::Inner { field: inner, fields } = variant.body else { continue };
        refuse_copies(cx, fields);
        let others = fields.iter().filter(|field| field.member != inner.member);
        let beside = others.filter_map(|field| beside(cx, input, field)).collect();
        into.push(ImportVariant { ident: variant.ident, inner, beside });
    }
    if into.is_empty() && !is_empty && cx.count() == 0 {
        cx.push(message::no_variants(input.ident, cx.direction()));
    }
    into
}

/// Rejects what only works from the struct to the tensor: `with` of one function, and calls.
fn refuse_conversions(cx: &Ctxt, fields: &[Field<'_>], layout: &model::Layout<'_>) {
    for field in fields {
        if let (Some(with), None) = (&field.attrs.with, field.made_with()) {
            cx.push(message::with_in_an_import(&with.key, &field.name()));
        }
    }
    let parts = layout.parts();
    for (index, part) in parts.iter().enumerate() {
        if let Given::Call(call) = part.given {
            cx.push(message::method_in_an_import(call.span()));
        }
        let Some(field) = part.given.field() else { continue };
        let is_same = |other: &&Part<'_>| {
            other.given.field().is_some_and(|other| other.member == field.member)
        };
        let is_dim = |part: &Part<'_>| part.role == Role::Shape && part.axis.is_some();
        let mut before = parts.iter().take(index).filter(is_same);
        // Two dimensions in one field are compared.
        if before.any(|other| !(is_dim(part) && is_dim(other))) {
            cx.push(message::stride_listed_twice(part.given.span(), &field.name()));
        }
    }
}

fn refuse_copies<'f>(cx: &Ctxt, fields: impl IntoIterator<Item = &'f Field<'f>>) {
    for field in fields {
        if let Some(key) = &field.attrs.copy {
            cx.push(message::copy_of_no_data(key, &field.name()));
        }
    }
}
