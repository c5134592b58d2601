//! The output of a derive: [`finish`]. For a rejected item it is the errors, and a stub: an impl
//! that never runs.
//!
//! With the stub, code that uses the item compiles, so that the compiler reports only the errors
//! in the item.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, Data, DeriveInput, Field, Meta};

use crate::ctxt::Ctxt;
use crate::expand::implementation;
use crate::manifest;

/// The impls of the model, or the errors and the stub, in a scope of their own. `names` is the
/// module whose items they name; without it the output is an error.
pub(crate) fn finish<M>(
    cx: Ctxt,
    names: Option<TokenStream>,
    input: &DeriveInput,
    model: Option<M>,
    expand: impl FnOnce(M) -> TokenStream,
    stub: impl FnOnce(&DeriveInput) -> TokenStream,
) -> TokenStream {
    let Some(names) = names else {
        cx.push(manifest::no_dependency());
        return cx
            .finish(None::<M>)
            .err()
            .map(|errors| errors.to_compile_error())
            .unwrap_or_default();
    };
    let (errors, items) = match cx.finish(model) {
        Ok(model) => (None, expand(model)),
        Err(errors) => (Some(errors.to_compile_error()), stub(input)),
    };
    let allowed = allowed(input);
    quote! {
        #errors
        #(#[allow(#allowed)])*
        const _: () = {
            use #names as __dlpack;
            #items
        };
    }
}

/// The lint lists of all `allow` and `expect` attributes on the item, or inside of it. A lint that
/// is allowed on a field is also allowed in the expansion, which contains the field's type.
fn allowed(input: &DeriveInput) -> impl Iterator<Item = &TokenStream> {
    let (fields, variants): (Vec<&Field>, Vec<&Attribute>) = match &input.data {
        Data::Struct(data) => (data.fields.iter().collect(), Vec::new()),
        Data::Enum(data) => (
            data.variants.iter().flat_map(|variant| &variant.fields).collect(),
            data.variants.iter().flat_map(|variant| &variant.attrs).collect(),
        ),
        Data::Union(_) => (Vec::new(), Vec::new()),
    };
    let fields = fields.into_iter().flat_map(|field| &field.attrs);
    input.attrs.iter().chain(variants).chain(fields).filter_map(|attr| match &attr.meta {
        Meta::List(lints) if lints.path.is_ident("allow") || lints.path.is_ident("expect") => {
            Some(&lints.tokens)
        }
        _ => None,
    })
}

/// The stub of an export.
pub(crate) fn export(input: &DeriveInput) -> TokenStream {
    stub(
        "DLPackExport",
        input,
        &quote_spanned! {Span::mixed_site()=>
            fn describe<'__dlpack>(
                &'__dlpack self,
                _: __dlpack::Describe<'__dlpack>,
            ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
                loop {}
            }
        },
    )
}

/// The stub of an import.
pub(crate) fn import(input: &DeriveInput) -> TokenStream {
    stub(
        "DLPackImport",
        input,
        &quote_spanned! {Span::mixed_site()=>
            fn from_dlpack(
                _: __dlpack::ImportedTensor,
            ) -> __dlpack::Result<Self, __dlpack::ImportError> {
                loop {}
            }
        },
    )
}

/// An impl with those items.
pub(crate) fn stub(name: &str, input: &DeriveInput, items: &TokenStream) -> TokenStream {
    let generics = &input.generics;
    implementation(name, &input.ident, generics, &generics.where_clause, items)
}
