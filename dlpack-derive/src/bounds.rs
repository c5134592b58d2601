//! Generic parameters: which types depend on them, and what is asked of those.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics};

use crate::model::{Model, Shape};

/// The names of a struct's parameters.
///
/// Whether a type mentions one is decided by its tokens. A path may happen to
/// have a segment of the same name; what follows then (no assertion, a bound
/// that always holds) does no harm.
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

    /// Whether the tokens mean something only inside the impl: they mention
    /// any parameter, or `Self`.
    pub(crate) fn reach(&self, tokens: &impl ToTokens) -> bool {
        mention(tokens.to_token_stream(), &|ident| {
            ident == "Self" || self.types.contains(&ident) || self.others.contains(&ident)
        })
    }

    /// Whether a type parameter decides what the type is.
    fn decide(&self, ty: &impl ToTokens) -> bool {
        mention(ty.to_token_stream(), &|ident| self.types.contains(&ident))
    }
}

/// Whether some identifier among the tokens is one of those asked for.
fn mention(tokens: TokenStream, asked: &impl Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => asked(&ident),
        TokenTree::Group(group) => mention(group.stream(), asked),
        _ => false,
    })
}

/// The `where` clause of the impls: the struct's own, and that each role's type
/// fits its role, as far as a type parameter decides it.
///
/// Of other types it is not asked here: a bound that is wrong would be
/// reported wherever the struct is used, instead of once at the field.
pub(crate) fn where_clause(model: &Model<'_>) -> TokenStream {
    let params = Params::of(model.generics);
    let shape = match &model.shape {
        Shape::Field(field) => Some(*field),
        Shape::Constant(_) => None,
    };
    let bounds = [
        (Some(model.data), quote!(Storage)),
        (shape, quote!(ShapeField)),
        (model.strides, quote!(StridesField)),
        (model.byte_offset, quote!(ByteOffsetField)),
        (model.dtype, quote!(DTypeField)),
        (model.device, quote!(DeviceField)),
    ];
    let added = bounds.into_iter().filter_map(|(field, bound)| {
        let ty = field.map(|field| field.ty).filter(|ty| params.decide(ty))?;
        Some(quote!(#ty: __dlpack::#bound))
    });
    let own = model.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let mut predicates = own.map(ToTokens::to_token_stream).chain(added).peekable();
    match predicates.peek() {
        Some(_) => quote!(where #(#predicates),*),
        None => TokenStream::new(),
    }
}
