//! Checks for imports: the source of the value of each field without a role.

use syn::GenericParam;
use syn::spanned::Spanned as _;

use super::role_field::role_field;
use super::tensor::known_dtype;
use crate::ast::is_phantom;
use crate::ast::{Body, Field, Input, Variant};
use crate::attr::{ConstDType, StructAttrs};
use crate::ctxt::Ctxt;
use crate::message;
use crate::model::{
    self, Beside, Data, Dim, Import, ImportVariant, Kind, Make, Placement, RoleField, Shape,
    Source, Steps,
};
use crate::symbol::Role;

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
    let required = attrs.require.iter().flat_map(|require| &require.value.dtypes);
    for dtype in required {
        if let ConstDType::Named(word) = dtype {
            known_dtype(cx, word);
        }
    }
    let source = match (&input.body, super::kind(cx, input, attrs)) {
        (Body::Enum(variants), Some(Kind::Enum(kept))) => {
            if let Some(construct) = &attrs.construct {
                cx.push(message::construct_on_an_enum(&construct.key, input.ident));
            }
            Some(Source::Enum(enumerated(cx, input, variants, kept)))
        }
        (Body::Struct { fields, .. }, Some(Kind::Transparent(inner))) => {
            let is_part = |field: &Field<'_>| field.member == *inner.member;
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
        krate: attrs.krate(),
        ident: input.ident,
        generics: input.generics,
        bound: attrs.bound.as_ref().map(|bound| &bound.value[..]),
        source: source?,
        require: attrs.require.as_ref().map(|require| &require.value),
        validate: attrs.validate.as_ref().and_then(|path| path.value.as_ref()),
        allowed: input.allowed.clone(),
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
            let field = fields.iter().find(|field| field.member == *owner.member)?;
            let slice = field.attrs.slice.as_ref()?;
            cx.push(message::slice_in_an_import(&slice.key, &field.name()));
            return None;
        }
    };
    refuse_conversions(cx, fields, &tensor.layout);
    let mut copy = false;
    for field in fields {
        match &field.attrs.copy {
            Some(_) if field.member == *data.member => copy = true,
            Some(key) => cx.push(message::copy_of_no_data(key, &field.name())),
            None => {}
        }
    }
    let is_part = |field: &Field<'_>| {
        let is_data = (field.member == *data.member).then_some(Role::Data.word());
        is_data.or_else(|| tensor.layout.part(&field.member))
    };
    let make = make(cx, input, attrs, fields, &is_part);
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
        let parts = fields.iter().filter(|field| is_part(field).is_some()).map(role_field);
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
) -> Option<(RoleField<'a>, Beside<'a>)> {
    match &field.attrs.default {
        Some(default) => Some(match &default.value {
            Some(path) => (role_field(field), Beside::Call(path)),
            None => (role_field(field), Beside::Default),
        }),
        None if is_phantom(field.ty) => Some((role_field(field), Beside::Default)),
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
    variants: &'a [Variant<'a>],
    kept: Vec<model::Variant<'a>>,
) -> Vec<ImportVariant<'a>> {
    let mut into = Vec::new();
    for variant in kept {
        let model::Body::Inner { field: inner, .. } = variant.body else { continue };
        let Some(written) = variants.iter().find(|written| written.ident == variant.ident) else {
            continue;
        };
        refuse_copies(cx, &written.fields);
        let others = written.fields.iter().filter(|field| field.member != *inner.member);
        let beside = others.filter_map(|field| beside(cx, input, field)).collect();
        into.push(ImportVariant { ident: variant.ident, inner, beside });
    }
    if into.is_empty() && !variants.is_empty() && cx.count() == 0 {
        cx.push(message::no_variants(input.ident, cx.direction()));
    }
    into
}

/// Rejects what only works from the struct to the tensor: `with`, and calls of methods.
fn refuse_conversions(cx: &Ctxt, fields: &[Field<'_>], layout: &model::Layout<'_>) {
    for field in fields {
        if let Some(with) = &field.attrs.with {
            cx.push(message::with_in_an_import(&with.key, &field.name()));
        }
    }
    let Placement::Fields { shape, steps, .. } = &layout.placement else { return };
    let dims = match shape {
        Shape::List(dims) => &dims[..],
        Shape::Field { .. } => &[],
    };
    let strides = match steps {
        Steps::Listed(_, strides) => &strides[..],
        Steps::Strides(..) | Steps::Compact { .. } => &[],
    };
    for dim in dims.iter().chain(strides) {
        if let Dim::Method(call) = dim {
            cx.push(message::method_in_an_import(call.span()));
        }
    }
    for (axis, stride) in strides.iter().enumerate() {
        let Some(field) = stride.field() else { continue };
        let mut before = dims.iter().chain(&strides[..axis]).filter_map(|dim| dim.field());
        if before.any(|other| other.member == field.member) {
            let name = crate::ast::name(field.member);
            cx.push(message::stride_listed_twice(stride.span(), &name));
        }
    }
}

fn refuse_copies(cx: &Ctxt, fields: &[Field<'_>]) {
    for field in fields {
        if let Some(key) = &field.attrs.copy {
            cx.push(message::copy_of_no_data(key, &field.name()));
        }
    }
}
