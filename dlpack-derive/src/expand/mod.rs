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
pub(crate) use tokens::filled;

use methods::Methods;

use crate::bounds;
use crate::model::{Access, Kind, Layout, Model};

/// The impls for a struct, in their own scope.
pub(crate) fn expand(model: &Model<'_>) -> TokenStream {
    let private = private(model.krate);
    let (items, methods) = match &model.kind {
        Kind::Tensor(tensor) => tensor::expand(model, tensor),
        Kind::Transparent(field) => transparent::transparent(model, *field),
        Kind::Enum(variants) => transparent::variants(model, variants),
    };
    let export = export(model, methods);
    let asserts = asserts::asserts(model);
    let allowed = &model.allowed;
    quote! {
        #(#[allow(#allowed)])*
        const _: () = {
            use #private as __dlpack;
            enum __Roles {}
            #items
            #export
            #asserts
        };
    }
}

/// The impl of `AsLayout` for a struct that is only a layout.
pub(crate) fn as_layout(
    ident: &Ident,
    generics: &Generics,
    bound: Option<&[WherePredicate]>,
    layout: &Layout<'_>,
) -> TokenStream {
    let (params, args, _) = generics.split_for_impl();
    let where_clause = bounds::where_layout(generics, bound, layout);
    let layout::LayoutCode { body, constant } = layout::code(ident, generics, layout);
    let unmarked = asserts::unmarked_fields(ident, generics, layout);
    quote_spanned! {Span::mixed_site()=>
        #unmarked
        #constant
        #[automatically_derived]
        impl #params __dlpack::AsLayout for #ident #args #where_clause {
            #[inline(always)]
            fn layout(&self) -> __dlpack::Layout<'_> {
                #body
            }
        }
    }
}

/// The module whose items expansions use. Its name contains the version of this crate, so
/// that a different version of `dlpack_traits` is an error that names both versions.
pub(crate) fn private(krate: Option<&Path>) -> TokenStream {
    let krate = krate.map_or_else(|| quote!(::dlpack_traits), |path| quote!(#path));
    let version = env!("CARGO_PKG_VERSION").replace(['.', '-', '+'], "_");
    let version = Ident::new(&format!("dlpack_derive_{version}"), Span::call_site());
    quote!(#krate::__private::#version)
}

/// The impl of the trait. Each method borrows only the fields that it uses.
fn export(model: &Model<'_>, methods: Methods) -> TokenStream {
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let Methods { describe, describe_mut, storage, sync_for, share, to_dlpack_on } = methods;
    let describe_mut = describe_mut.filter(|_| model.access == Access::AsStorage);
    let describe_mut = describe_mut.map(|describe_mut| {
        quote_spanned! {Span::mixed_site()=>
            #[inline(always)]
            fn describe_mut<'__dlpack>(
                &'__dlpack mut self,
                __out: __dlpack::Describe<'__dlpack>,
            ) -> __dlpack::Result<__dlpack::DescriptionMut<'__dlpack>, __dlpack::Error> {
                #describe_mut
            }
        }
    });
    let storage = storage.map(|storage| {
        quote_spanned! {Span::mixed_site()=>
            #[inline(always)]
            fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> {
                #storage
            }
        }
    });
    let sync_for = sync_for.map(|sync_for| {
        quote_spanned! {Span::mixed_site()=>
            #[inline]
            fn sync_for(
                &self,
                __consumer: __dlpack::StreamArg<'_>,
            ) -> __dlpack::Result<(), __dlpack::Error> {
                #sync_for
            }
        }
    });
    let share = share.map(|share| {
        quote_spanned! {Span::mixed_site()=>
            #[inline]
            fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
                #share
            }
        }
    });
    let to_dlpack_on = to_dlpack_on.map(|to_dlpack_on| {
        quote_spanned! {Span::mixed_site()=>
            #[inline]
            fn to_dlpack_on(
                &self,
                __consumer: __dlpack::StreamArg<'_>,
            ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> {
                #to_dlpack_on
            }
        }
    });
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #params __dlpack::DLPackExport for #ident #args #where_clause {
            #[inline(always)]
            fn describe<'__dlpack>(
                &'__dlpack self,
                __out: __dlpack::Describe<'__dlpack>,
            ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
                #describe
            }
            #describe_mut
            #storage
            #sync_for
            #share
            #to_dlpack_on
        }
    }
}
