//! Generic parameters: which types depend on them, and the bounds on those
//! types.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{GenericParam, Generics, Type, WherePredicate};

use crate::ast::Field;
use crate::attributes::{Direction, Role};
use crate::ctxt::first_token;
use crate::model::{Beside, Body, Data, Given, Import, Kind, Layout, Make, Model, Source};

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

/// Whether the type is a name, as a type parameter is.
fn is_name(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_name(&group.elem),
        Type::Paren(paren) => is_name(&paren.elem),
        Type::Path(path) => path.path.get_ident().is_some(),
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
    bounded(model.generics, model.bound, roles(&model.kind))
}

/// [`where_clause`] of a struct that is only a layout.
pub(crate) fn where_layout(
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    layout: &Layout<'_>,
    direction: Direction,
) -> TokenStream {
    bounded(generics, bound, bounds_of_parts(layout, direction))
}

/// [`where_clause`] of a type that is imported.
pub(crate) fn where_import(model: &Import<'_>) -> TokenStream {
    bounded(model.generics, model.bound, sources(&model.source))
}

/// [`where_clause`] of an item with fields of these types, which implement that trait.
pub(crate) fn where_types(
    generics: &Generics,
    types: &[&Type],
    bound: &'static str,
) -> TokenStream {
    bounded(generics, None, types.iter().map(|ty| requires(ty, bound)).collect())
}

/// A type of a field, the trait of `dlpack_traits` that it implements, and the trait's arguments.
type Bound<'a> = (&'a Type, &'static str, TokenStream);

/// A trait without arguments.
fn requires<'a>(ty: &'a Type, bound: &'static str) -> Bound<'a> {
    (ty, bound, TokenStream::new())
}

fn bounded(
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    roles: Vec<Bound<'_>>,
) -> TokenStream {
    let params = Params::of(generics);
    let decided = roles.into_iter().filter(|(ty, ..)| params.decide(ty));
    let inferred = decided.map(|(ty, bound, arguments)| {
        // An error about the bound points to the field, not to the derive.
        let place = first_token(ty);
        let bound = Ident::new(bound, Span::mixed_site().located_at(place));
        quote_spanned!(Span::call_site().located_at(place)=> #ty: __dlpack::#bound #arguments)
    });
    let added: Vec<_> = match bound {
        Some(bound) => bound.iter().map(ToTokens::to_token_stream).collect(),
        None => inferred.collect(),
    };
    let own = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let mut predicates = own.map(ToTokens::to_token_stream).chain(added).peekable();
    match predicates.peek() {
        Some(_) => quote!(where #(#predicates),*),
        None => TokenStream::new(),
    }
}

/// The fields that have a role, and the trait that the role requires.
fn roles<'a>(kind: &Kind<'a>) -> Vec<Bound<'a>> {
    let tensor = match kind {
        Kind::Tensor(tensor) => tensor,
        Kind::Transparent(field) => return vec![requires(field.ty, "DLPackExport")],
        Kind::Enum(variants) => {
            let inner = variants.iter().filter_map(|variant| match &variant.body {
                Body::Inner { field, .. } => Some(requires(field.ty, "DLPackExport")),
                Body::Skipped => None,
            });
            return inner.collect();
        }
    };
    let mut roles = Vec::new();
    match &tensor.data {
        Data::Storage(field) => roles.push(requires(field.ty, "Storage")),
        Data::Slice { owner, element, shared } => {
            roles.push(requires(element, "Element"));
            // A type around a parameter is `AsRef` or `Deref`: the expansion finds out which.
            if owner.with().is_none() && is_name(owner.ty) {
                roles.push((owner.ty, "AsRef", quote!(<[#element]>)));
            }
            if *shared {
                roles.push(requires(owner.ty, "SharedByClone"));
            }
        }
        Data::Raw { pointer, len, device, shared, .. } => {
            if pointer.with().is_none() {
                roles.push(requires(pointer.ty, "RawPointer"));
            }
            roles.extend(shared.map(|owner| requires(owner.ty, "SharedByClone")));
            roles.extend(len.field().map(|len| requires(len.ty, "Dim")));
            let device = device.and_then(Given::field);
            if let Some(device) = device.filter(|device| device.with().is_none()) {
                roles.push((device.ty, "ConvertsInto", quote!(<__dlpack::Device>)));
            }
        }
    }
    roles.extend(tensor.sync.map(|sync| requires(sync.ty, "Synchronize")));
    roles.extend(bounds_of_parts(&tensor.layout, Direction::Export));
    roles
}

/// The fields of an import that get a value, and the trait that makes it.
fn sources<'a>(source: &Source<'a>) -> Vec<Bound<'a>> {
    let defaults = |beside: &[(&'a Field<'a>, Beside<'a>)]| -> Vec<_> {
        let defaults = beside.iter().filter(|(_, beside)| matches!(beside, Beside::Default));
        defaults.map(|(field, _)| requires(field.ty, "Default")).collect()
    };
    let beside = |make: &Make<'a>| match make {
        Make::Fields(beside) => defaults(beside),
        Make::Call(..) => Vec::new(),
    };
    match source {
        Source::Tensor { layout, data, copy, make } => {
            let mut sources = beside(make);
            sources.push(requires(data.ty, if *copy { "FromElements" } else { "ImportStorage" }));
            sources.extend(bounds_of_parts(layout, Direction::Import));
            sources
        }
        Source::Transparent { inner, make } => {
            let mut sources = beside(make);
            sources.push(requires(inner.ty, "DLPackImport"));
            sources
        }
        Source::Enum(variants) => {
            let mut sources = Vec::new();
            for variant in variants {
                sources.push(requires(variant.inner.ty, "DLPackImport"));
                sources.extend(defaults(&variant.beside));
            }
            sources
        }
    }
}

/// The fields of the layout, and the traits that describe them or make their values.
fn bounds_of_parts<'a>(layout: &Layout<'a>, direction: Direction) -> Vec<Bound<'a>> {
    let (list, nested, value) = match direction {
        Direction::Export => ("AsDims", "AsLayout", "ConvertsInto"),
        Direction::Import => ("FromDims", "FromLayout", "ConvertsFrom"),
    };
    // The type of a converted field is an argument of the user's function.
    let parts = layout.parts().into_iter();
    let fields = parts.filter_map(|part| Some((part, part.given.field()?)));
    let fields = fields.filter(|(_, field)| field.with().is_none());
    let bounds = fields.map(|(part, field)| match (part.role, part.axis) {
        (Role::Shape | Role::Strides, None) => requires(field.ty, list),
        (Role::Layout, _) => requires(field.ty, nested),
        (Role::Order, _) => (field.ty, value, quote!(<__dlpack::Order>)),
        (Role::DType, _) => (field.ty, value, quote!(<__dlpack::DataType>)),
        (Role::Device, _) => (field.ty, value, quote!(<__dlpack::Device>)),
        _ => requires(field.ty, "Dim"),
    });
    bounds.collect()
}
