//! Generates the code for a `Model`.
//!
//! The tokens have the span of the macro, so that lints ignore them; only field names and
//! types keep the user's spans, for errors. No token is `unsafe`, except for a struct with
//! `unsafe(...)`.

mod asserts;
mod from_layout;
mod import;
mod layout;
mod methods;
mod requirements;
mod tensor;
mod tokens;
mod transparent;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Generics, Ident, Path, WherePredicate};

pub(crate) use from_layout::from_layout;
pub(crate) use import::import;
pub(crate) use tokens::{arms_by_index, dtype, filled, implementation};

use methods::{Method, Methods};
use tokens::expression;

use crate::attributes::Direction;
use crate::bounds;
use crate::manifest;
use crate::model::{Kind, Layout, Model};

/// The impls for a struct or an enum.
pub(crate) fn expand(model: &Model<'_>) -> TokenStream {
    let (items, methods) = match &model.kind {
        Kind::Tensor(tensor) => tensor::expand(model, tensor),
        Kind::Transparent(field) => (TokenStream::new(), transparent::transparent(field)),
        Kind::Enum(variants) => (TokenStream::new(), transparent::variants(variants)),
    };
    let export = export(model, &methods);
    let asserts = asserts::asserts(model);
    quote!(#items #export #asserts)
}

/// The impl of `AsLayout` for a struct that is only a layout.
pub(crate) fn as_layout(
    ident: &Ident,
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    layout: &Layout<'_>,
) -> TokenStream {
    let where_clause = bounds::where_layout(generics, bound, layout, Direction::Export);
    let layout::LayoutCode { body, constant } = layout::code(ident, generics, layout);
    let unmarked = asserts::unmarked_fields(ident, generics, layout);
    let items = quote_spanned! {Span::mixed_site()=>
        #[inline(always)]
        fn layout(&self) -> __dlpack::Layout<'_> { #body }
    };
    let item = implementation("AsLayout", ident, generics, &where_clause, &items);
    quote!(#unmarked #constant #item)
}

/// The module whose items expansions use. Its name contains the version of this crate, so
/// that a different version of `dlpack_traits` is an error that names the version, and the
/// attribute that leads to another one. `None` if the crate has no such dependency.
pub(crate) fn private(krate: Option<&Path>) -> Option<TokenStream> {
    let krate = match krate {
        Some(path) => quote!(#path),
        None => manifest::has_runtime().then(|| quote!(::dlpack_traits))?,
    };
    let version = env!("CARGO_PKG_VERSION").replace(['.', '-', '+'], "_");
    let version = format!("dlpack_derive_{version}_see_attribute_crate");
    let version = Ident::new(&version, Span::call_site());
    Some(quote!(#krate::__private::#version))
}

/// A module in it.
pub(crate) fn module(krate: Option<&Path>, name: &str) -> Option<TokenStream> {
    let (private, name) = (private(krate)?, Ident::new(name, Span::call_site()));
    Some(quote!(#private::#name))
}

/// The impl of the trait. Each method borrows only the fields that it uses.
fn export(model: &Model<'_>, methods: &Methods) -> TokenStream {
    let methods = methods.iter().filter_map(|(method, body)| match (model.read_only, method) {
        (true, Method::DescribeMut | Method::ToDlpackOn) => None,
        (true, Method::Describe) => {
            let (here, body) = (Span::mixed_site(), expression(body));
            Some(method.with(&quote_spanned!(here=> __dlpack::read_only(#body))))
        }
        _ => Some(method.with(body)),
    });
    let (where_clause, items) = (bounds::where_clause(model), quote!(#(#methods)*));
    implementation("DLPackExport", model.ident, model.generics, &where_clause, &items)
}
