//! What can be asked of an item without knowing its parameters.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Type};

use crate::bounds::Params;
use crate::model::{Kind, Model, Placement, Shape, Steps};

pub(super) fn asserts(model: &Model<'_>) -> TokenStream {
    let owned =
        model.owned.iter().map(|ty| quote_spanned!(ty.span()=> __dlpack::assert_owner::<#ty>();));
    let same_rank = same_rank(model);
    quote!(#(#owned)* #same_rank)
}

/// As many strides as dimensions, where the types say how many there are.
fn same_rank(model: &Model<'_>) -> Option<TokenStream> {
    let Kind::Tensor(tensor) = &model.kind else { return None };
    let Placement::Fields { shape, steps: Steps::Strides(_, strides), .. } =
        &tensor.layout.placement
    else {
        return None;
    };
    // Errors point at the first argument, and the strides are to blame.
    let here = strides.ty.span();
    let params = Params::of(model.generics);
    let shape_rank = match shape {
        // Beside a rank, arrays only have to be long enough.
        Shape::Field { ndim: Some(_), .. } => return None,
        Shape::Field { dims, ndim: None } => rank(dims.ty, &params, here)?,
        Shape::List(dims) => {
            let mut rank = Literal::usize_unsuffixed(dims.len());
            rank.set_span(here);
            rank.into_token_stream()
        }
    };
    let strides_rank = rank(strides.ty, &params, here)?;
    // Two equal numbers need no assertion.
    let equal = shape_rank.to_string() == strides_rank.to_string();
    let assert =
        || quote_spanned!(here=> __dlpack::assert_same_rank::<#shape_rank, #strides_rank>(););
    (!equal).then(assert)
}

/// The length of an array type as a generic argument, if it depends on no
/// parameter.
fn rank(ty: &Type, params: &Params<'_>, here: Span) -> Option<TokenStream> {
    match ty {
        Type::Array(array) if !params.reach(&array.len) => Some(match &array.len {
            Expr::Lit(len) => {
                let mut len = len.lit.clone();
                len.set_span(here);
                len.into_token_stream()
            }
            len => quote_spanned!(Span::mixed_site().located_at(here)=> { #len }),
        }),
        Type::Group(group) => rank(&group.elem, params, here),
        _ => None,
    }
}
