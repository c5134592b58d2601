//! Generic parameters: which types depend on them, and the bounds on those
//! types.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericParam, Generics, Type, WherePredicate};

use crate::model::{
    Beside, Body, DType, Data, Import, Kind, Layout, Make, Model, Order, Placement, RoleField,
    Shape, Source, Steps,
};
use crate::symbol::Unit;

/// The names of a struct's parameters.
///
/// The tokens of a type decide whether it depends on a parameter. A path may
/// contain a segment of the same name by chance. This is harmless: an assertion
/// is omitted, or a bound is added that always holds.
pub(crate) struct Params<'a> {
    types: Vec<&'a Ident>,
    others: Vec<&'a Ident>,
}

impl<'a> Params<'a> {
    pub(crate) fn of(generics: &'a Generics) -> Self {
        let mut params = Self { types: Vec::new(), others: Vec::new() };
        for param in &generics.params {
            match param {
                GenericParam::Type(param) => params.types.push(&param.ident),
                GenericParam::Const(param) => params.others.push(&param.ident),
                GenericParam::Lifetime(param) => params.others.push(&param.lifetime.ident),
            }
        }
        params
    }

    /// Whether the tokens are only valid inside the impl: they contain a
    /// parameter, or `Self`.
    pub(crate) fn reach(&self, tokens: &impl ToTokens) -> bool {
        mention(tokens.to_token_stream(), &|ident| {
            ident == "Self" || self.types.contains(&ident) || self.others.contains(&ident)
        })
    }

    /// Whether the type depends on a type parameter.
    pub(crate) fn decide(&self, ty: &impl ToTokens) -> bool {
        mention(ty.to_token_stream(), &|ident| self.types.contains(&ident))
    }
}

/// Whether a type may be unsized: a slice, a trait object, or a parameter with
/// a `?Sized` bound.
pub(crate) fn may_be_unsized(generics: &Generics, ty: &Type) -> bool {
    match ty {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Group(group) => may_be_unsized(generics, &group.elem),
        Type::Paren(paren) => may_be_unsized(generics, &paren.elem),
        Type::Path(_) => {
            Params::of(generics).decide(ty)
                && mention(
                    generics.params.iter().map(ToTokens::to_token_stream).collect::<TokenStream>(),
                    &|ident| ident == "Sized",
                )
                || mention(generics.where_clause.to_token_stream(), &|ident| ident == "Sized")
        }
        _ => false,
    }
}

/// Whether an identifier among the tokens satisfies the predicate.
fn mention(tokens: TokenStream, asked: &impl Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => asked(&ident),
        TokenTree::Group(group) => mention(group.stream(), asked),
        _ => false,
    })
}

/// The `where` clause of the impls: that of the item, and a bound for each role
/// whose type depends on a type parameter; or the user's bounds instead.
///
/// Types that do not depend on a type parameter get no bound here: the compiler
/// would report an unsatisfied one at every use of the struct, instead of once
/// at the field.
pub(crate) fn where_clause(model: &Model<'_>) -> TokenStream {
    let clause = bounded(model.generics, model.bound, || roles(&model.kind));
    let added = slice_bounds(model);
    match (clause.is_empty(), added.is_empty()) {
        (_, true) => clause,
        (true, false) => quote!(where #added),
        (false, false) => quote!(#clause, #added),
    }
}

/// The bounds of an owner that lends a slice, if its type or that of the elements depends on a
/// type parameter.
fn slice_bounds(model: &Model<'_>) -> TokenStream {
    let Kind::Tensor(tensor) = &model.kind else { return TokenStream::new() };
    let Data::Slice { owner, element, shared } = &tensor.data else { return TokenStream::new() };
    let params = Params::of(model.generics);
    if model.bound.is_some() {
        return TokenStream::new();
    }
    let here = |ty: &Type| {
        let first = ty.to_token_stream().into_iter().next();
        Span::mixed_site().located_at(first.map_or_else(Span::call_site, |token| token.span()))
    };
    let (ty, mut bounds) = (owner.ty, Vec::new());
    if params.decide(element) {
        bounds.push(quote_spanned!(here(element)=> #element: __dlpack::Element));
    }
    if params.decide(ty) && owner.with.is_none() {
        bounds.push(quote_spanned!(here(ty)=> #ty: __dlpack::AsRef<[#element]>));
    }
    if params.decide(ty) && *shared {
        bounds.push(quote_spanned!(here(ty)=> #ty: __dlpack::SharedByClone));
    }
    quote!(#(#bounds),*)
}

/// [`where_clause`] of a struct that is only a layout.
pub(crate) fn where_layout(
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    layout: &Layout<'_>,
) -> TokenStream {
    bounded(generics, bound, || roles_of_layout(layout))
}

/// [`where_clause`] of a layout that is imported.
pub(crate) fn where_from_layout(
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    layout: &Layout<'_>,
) -> TokenStream {
    bounded(generics, bound, || layout_sources(layout))
}

/// [`where_clause`] of a type that is imported.
pub(crate) fn where_import(model: &Import<'_>) -> TokenStream {
    bounded(model.generics, model.bound, || sources(&model.source))
}

fn bounded<'a>(
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    roles: impl Fn() -> Vec<(RoleField<'a>, &'static str)>,
) -> TokenStream {
    let params = Params::of(generics);
    let inferred = || {
        roles().into_iter().filter_map(|(field, bound)| {
            // The type of a converted field is an argument of the user's function.
            let ty = Some(field.ty).filter(|ty| field.with.is_none() && params.decide(ty))?;
            // An error about the bound points to the field, not to the derive.
            let first = ty.to_token_stream().into_iter().next();
            let place = first.map_or_else(Span::call_site, |token| token.span());
            let bound = Ident::new(bound, Span::mixed_site().located_at(place));
            Some(quote_spanned!(Span::call_site().located_at(place)=> #ty: __dlpack::#bound))
        })
    };
    let added: Vec<_> = match bound {
        Some(bound) => bound.iter().map(ToTokens::to_token_stream).collect(),
        None => inferred().collect(),
    };
    let own = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let mut predicates = own.map(ToTokens::to_token_stream).chain(added).peekable();
    match predicates.peek() {
        Some(_) => quote!(where #(#predicates),*),
        None => TokenStream::new(),
    }
}

/// The fields that have a role, and the trait that the role requires.
fn roles<'a>(kind: &Kind<'a>) -> Vec<(RoleField<'a>, &'static str)> {
    let tensor = match kind {
        Kind::Tensor(tensor) => tensor,
        Kind::Transparent(field) => return vec![(*field, "DLPackExport")],
        Kind::Enum(variants) => {
            let inner = variants.iter().filter_map(|variant| match &variant.body {
                Body::Inner { field, .. } => Some((*field, "DLPackExport")),
                Body::Skipped => None,
            });
            return inner.collect();
        }
    };
    let mut roles = Vec::new();
    let mut ask = |field: Option<RoleField<'a>>, bound| {
        roles.extend(field.map(|field| (field, bound)));
    };
    match &tensor.data {
        Data::Storage(field) => ask(Some(*field), "Storage"),
        // `where_clause` adds the bounds, which name the type of the elements.
        Data::Slice { .. } => {}
        Data::Raw { pointer, len, device, .. } => {
            ask(Some(*pointer), "RawPointer");
            ask(len.field(), "Dim");
            ask(*device, "DeviceField");
        }
    }
    ask(tensor.sync, "SyncField");
    roles.extend(roles_of_layout(&tensor.layout));
    roles
}

/// The fields of an import that get a value, and the trait that makes it.
fn sources<'a>(source: &Source<'a>) -> Vec<(RoleField<'a>, &'static str)> {
    let defaults = |beside: &[(RoleField<'a>, Beside<'a>)]| -> Vec<_> {
        let defaults = beside.iter().filter(|(_, beside)| matches!(beside, Beside::Default));
        defaults.map(|(field, _)| (*field, "Default")).collect()
    };
    let beside = |make: &Make<'a>| match make {
        Make::Fields(beside) => defaults(beside),
        Make::Call(..) => Vec::new(),
    };
    match source {
        Source::Tensor { layout, data, copy, make } => {
            let mut sources = beside(make);
            sources.push((*data, if *copy { "FromElements" } else { "ImportStorage" }));
            sources.extend(layout_sources(layout));
            sources
        }
        Source::Transparent { inner, make } => {
            let mut sources = beside(make);
            sources.push((*inner, "DLPackImport"));
            sources
        }
        Source::Enum(variants) => {
            let mut sources = Vec::new();
            for variant in variants {
                sources.push((variant.inner, "DLPackImport"));
                sources.extend(defaults(&variant.beside));
            }
            sources
        }
    }
}

/// The fields of the layout, and the trait that makes their value.
fn layout_sources<'a>(layout: &Layout<'a>) -> Vec<(RoleField<'a>, &'static str)> {
    let roles = roles_of_layout(layout).into_iter().map(|(field, role)| {
        let made_by = match role {
            "ShapeField" | "StridesField" => "FromDims",
            "OrderField" => "OrderTarget",
            "DTypeField" => "DTypeTarget",
            "DeviceField" => "DeviceTarget",
            "LayoutField" => "FromLayout",
            _ => "Dim",
        };
        (field, made_by)
    });
    roles.collect()
}

/// The fields of the layout, and the trait that the role requires.
fn roles_of_layout<'a>(layout: &Layout<'a>) -> Vec<(RoleField<'a>, &'static str)> {
    let mut roles = Vec::new();
    let mut ask = |field: Option<RoleField<'a>>, bound| {
        roles.extend(field.map(|field| (field, bound)));
    };
    let Layout { placement, len, dtype, device, padded: _, spare_capacity: _, unmarked: _ } =
        layout;
    match placement {
        Placement::Nested(field) => ask(Some(*field), "LayoutField"),
        Placement::Fields { shape, steps, offset } => {
            match shape {
                Shape::Field { dims, ndim } => {
                    ask(Some(*dims), "ShapeField");
                    ask(*ndim, "NdimField");
                }
                Shape::List(dims) => dims.iter().for_each(|dim| ask(dim.field(), "Dim")),
            }
            match steps {
                Steps::Strides(_, field) => ask(Some(*field), "StridesField"),
                Steps::Listed(_, list) => {
                    for stride in list {
                        ask(stride.field(), "StrideField");
                    }
                }
                Steps::Compact { order, pitch } => {
                    if let Order::Field(field) = order {
                        ask(Some(*field), "OrderField");
                    }
                    ask(pitch.map(|(_, field)| field), "PitchField");
                }
            }
            match offset {
                Some((Unit::Elements, field)) => ask(Some(*field), "OffsetField"),
                Some((Unit::Bytes, field)) => ask(Some(*field), "ByteOffsetField"),
                None => {}
            }
        }
    }
    ask(len.map(|(_, field)| field), "LenField");
    if let Some(DType::Field(field)) = dtype {
        ask(Some(*field), "DTypeField");
    }
    ask(*device, "DeviceField");
    roles
}
