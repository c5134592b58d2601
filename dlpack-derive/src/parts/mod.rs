//! The derives beside `DLPackExport`, each for one part of a tensor: its
//! element type, at compile time and at run time, its storage, and its layout.
//!
//! Each has a file with its model and its expansion; the rest is shared.

mod as_layout;
mod data_type;
mod element;
mod storage;

pub(crate) use as_layout::{as_layout, from_layout};
pub(crate) use data_type::derive as data_type;
pub(crate) use element::derive as element;
pub(crate) use storage::derive as storage;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Attribute, DeriveInput, Field, Path, Type};

use crate::ctxt::Ctxt;
use crate::expand;

/// The output of a derive: the expansion of the model, or the errors and a stub
/// that avoids further errors in the user's code.
fn finish<M>(
    cx: Ctxt,
    model: Option<M>,
    expand: impl FnOnce(M) -> TokenStream,
    stub: impl FnOnce() -> TokenStream,
) -> TokenStream {
    match cx.finish(model) {
        Ok(model) => expand(model),
        Err(errors) => {
            let errors = errors.to_compile_error();
            let stub = stub();
            quote!(#errors #stub)
        }
    }
}

/// Impls in their own scope, which allows the lints that the user allows on the
/// item or inside of it.
fn scope(krate: Option<&Path>, input: &DeriveInput, items: &TokenStream) -> TokenStream {
    let private = expand::private(krate);
    scope_with(&quote!(#private::parts), input, items)
}

/// [`scope`], with the items of that module.
fn scope_with(names: &TokenStream, input: &DeriveInput, items: &TokenStream) -> TokenStream {
    let allowed = allowed(input);
    quote! {
        #(#[allow(#allowed)])*
        const _: () = {
            use #names as __dlpack;
            #items
        };
    }
}

fn allowed(input: &DeriveInput) -> impl Iterator<Item = &TokenStream> {
    let fields: Vec<&Field> = match &input.data {
        syn::Data::Struct(data) => data.fields.iter().collect(),
        syn::Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        syn::Data::Union(_) => Vec::new(),
    };
    let variants: Vec<&Attribute> = match &input.data {
        syn::Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.attrs).collect(),
        _ => Vec::new(),
    };
    let fields = fields.into_iter().flat_map(|field| &field.attrs);
    input.attrs.iter().chain(variants).chain(fields).filter_map(crate::ast::allowed)
}

/// The span of the first token of a type: not every compiler underlines the
/// whole type.
fn first_token(ty: &Type) -> Span {
    let first = ty.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}
