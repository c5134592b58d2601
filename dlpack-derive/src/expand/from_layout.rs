//! Layouts that are imported from a tensor.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Generics, WherePredicate};

use super::asserts;
use super::import::{made_of, parts, stated};
use super::requirements::{listed_strides, order_of_copy, wants_of_layout};
use super::tokens::implementation;
use crate::attributes::Direction;
use crate::bounds;
use crate::model::{Layout, Make};

/// The impl of `FromLayout` for a struct that is only a layout.
pub(crate) fn from_layout(
    ident: &Ident,
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    layout: &Layout<'_>,
    make: &Make<'_>,
) -> TokenStream {
    let here = Span::mixed_site();
    let where_clause = bounds::where_layout(generics, bound, layout, Direction::Import);
    let mut wants = wants_of_layout(layout, false);
    wants.extend(listed_strides(layout, true));
    let tensor = quote_spanned!(here=> __tensor);
    let stated = stated(layout, &tensor);
    let (_, value) = made_of(make, &parts(layout, &tensor));
    let order = order_of_copy(layout);
    let unmarked = asserts::unmarked_fields(ident, generics, layout);
    let items = quote_spanned! {here=>
        const ORDER: __dlpack::Order = #order;
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
            __shape: &[__dlpack::i64],
            __copied: __dlpack::bool,
        ) -> __dlpack::Result<(), __dlpack::MismatchKind> {
            __dlpack::meets(__tensor, __shape, __copied, &[#(#wants),*])
        }
        fn from_layout(
            __tensor: &__dlpack::Accepted<'_>,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> { #stated #value }
    };
    let item = implementation("FromLayout", ident, generics, &where_clause, &items);
    quote!(#unmarked #item)
}
