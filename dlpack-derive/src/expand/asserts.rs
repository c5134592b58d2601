//! Assertions about an item that need no knowledge of its parameters.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Generics, Lit, Type};

use crate::bounds::Params;
use crate::model::{Dropped, Given, Kind, Layout, Model, Placement, Shape, Steps};

pub(super) fn asserts(model: &Model<'_>) -> TokenStream {
    let owned = model.owned.iter().map(|(ty, dropped)| {
        let assert = match dropped {
            Dropped::Owner => "assert_owner",
            Dropped::Beside => "assert_dropped",
        };
        let assert = Ident::new(assert, ty.span());
        quote_spanned!(ty.span()=> __dlpack::#assert::<#ty>();)
    });
    let same_rank = same_rank(model);
    let unmarked = match &model.kind {
        Kind::Tensor(tensor) => unmarked_fields(model.ident, model.generics, &tensor.layout),
        Kind::Transparent(_) | Kind::Enum(_) => TokenStream::new(),
    };
    quote!(#(#owned)* #same_rank #unmarked)
}

/// Rejects fields without a role whose type is that of integers. A type that depends on
/// type or constant parameters is not checked.
pub(super) fn unmarked_fields(
    ident: &Ident,
    generics: &Generics,
    layout: &Layout<'_>,
) -> TokenStream {
    let params = Params::of(generics);
    let here = Span::mixed_site();
    let mut constants = Vec::new();
    for (field, skip) in &layout.unmarked {
        let Some(ty) = static_type(field.ty.to_token_stream()) else { continue };
        if params.reach(&ty) {
            continue;
        }
        let name = crate::ast::name(&field.member);
        let text = Literal::string(&format!(
            "field `{name}` of `{ident}` holds integers or `bool`s, and nothing says whether it \
             is part of the layout\n= help: write `{skip}` above it if it is not; if it is, mark \
             it with its role, such as `#[dlpack(pitch(elements))]`, or list it in \
             `#[dlpack(shape(..))]` or `#[dlpack(strides(..))]`"
        ));
        let place = here.located_at(field.ty.span());
        constants.push(quote_spanned! {place=>
            const _: () = __dlpack::reject_unmarked(__dlpack::Field::<#ty>::HOLDS_NUMBERS, #text);
        });
    }
    if constants.is_empty() {
        return TokenStream::new();
    }
    quote_spanned! {here=>
        use __dlpack::OtherField as _;
        #(#constants)*
    }
}

/// A type for use outside of the impl, with `'static` for each lifetime; `None` if the type
/// has bound lifetimes of its own.
fn static_type(tokens: TokenStream) -> Option<TokenStream> {
    let mut after_quote = false;
    let tokens = tokens.into_iter().map(|token| {
        let is_lifetime = core::mem::replace(
            &mut after_quote,
            matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\''),
        );
        Some(match token {
            TokenTree::Ident(ident) if is_lifetime => Ident::new("static", ident.span()).into(),
            TokenTree::Ident(ident) if ident == "for" => return None,
            TokenTree::Group(group) => {
                let inner = static_type(group.stream())?;
                let mut replaced = Group::new(group.delimiter(), inner);
                replaced.set_span(group.span());
                replaced.into()
            }
            other => other,
        })
    });
    tokens.collect()
}

/// Asserts as many strides as dimensions, if the types contain both numbers.
fn same_rank(model: &Model<'_>) -> Option<TokenStream> {
    let Kind::Tensor(tensor) = &model.kind else { return None };
    let Placement::Fields { shape, steps, .. } = &tensor.layout.placement else { return None };
    let params = Params::of(model.generics);
    let converted = |field: &crate::ast::Field<'_>| field.with().is_some();
    // The error points to the strides.
    let (here, strides_rank) = match steps {
        Steps::Strides(_, Given::Field(strides, _)) if !converted(strides) => {
            (strides.ty.span(), rank(strides.ty, &params, strides.ty.span())?)
        }
        Steps::Listed(_, list) => {
            let here = list.first().map_or_else(Span::call_site, |first| first.span());
            (here, listed_rank(list, here))
        }
        Steps::Strides(..) | Steps::Compact { .. } => return None,
    };
    let shape_rank = match shape {
        // If there is an `ndim`, an array may be longer than the rank.
        Shape::Whole { dims: Given::Field(dims, _), ndim: None } if !converted(dims) => {
            rank(dims.ty, &params, here)?
        }
        Shape::Whole { .. } => return None,
        Shape::List(dims) => listed_rank(dims, here),
    };
    // Two equal numbers need no assertion.
    let equal = shape_rank.to_string() == strides_rank.to_string();
    let assert =
        || quote_spanned!(here=> __dlpack::assert_same_rank::<#shape_rank, #strides_rank>(););
    (!equal).then(assert)
}

/// The length of a list on the struct as a generic argument.
fn listed_rank(list: &[Given<'_>], here: Span) -> TokenStream {
    let mut rank = Literal::usize_unsuffixed(list.len());
    rank.set_span(here);
    rank.into_token_stream()
}

/// The length of an array type as a generic argument, if it does not depend on a parameter.
fn rank(ty: &Type, params: &Params<'_>, here: Span) -> Option<TokenStream> {
    match ty {
        Type::Array(array) if !params.reach(&array.len) => Some(match &array.len {
            Expr::Lit(ExprLit { lit: Lit::Int(len), .. }) => {
                let mut len = len.token();
                len.set_span(here);
                len.into_token_stream()
            }
            len => quote_spanned!(Span::mixed_site().located_at(here)=> { #len }),
        }),
        Type::Group(group) => rank(&group.elem, params, here),
        _ => None,
    }
}
