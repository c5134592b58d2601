//! The expansion for a rejected struct: its errors, and an impl that never
//! runs.
//!
//! With the impl, code that uses the struct compiles, so that the compiler
//! reports only the errors in the struct.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Path};

use crate::expand;
use crate::symbol::Direction;

pub(crate) fn expand(
    input: &DeriveInput,
    krate: Option<&Path>,
    errors: &syn::Error,
    direction: Direction,
) -> TokenStream {
    let errors = errors.to_compile_error();
    let private = expand::private(krate);
    let ident = &input.ident;
    let (params, args, where_clause) = input.generics.split_for_impl();
    let item = match direction {
        Direction::Export => quote_spanned! {Span::mixed_site()=>
            use #private as __dlpack;
            #[automatically_derived]
            impl #params __dlpack::DLPackExport for #ident #args #where_clause {
                fn describe<'__dlpack>(
                    &'__dlpack self,
                    _: __dlpack::Describe<'__dlpack>,
                ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> {
                    loop {}
                }
            }
        },
        Direction::Import => quote_spanned! {Span::mixed_site()=>
            use #private::import as __dlpack;
            #[automatically_derived]
            impl #params __dlpack::DLPackImport for #ident #args #where_clause {
                fn from_dlpack(
                    _: __dlpack::ImportedTensor,
                ) -> __dlpack::Result<Self, __dlpack::ImportError> {
                    loop {}
                }
            }
        },
    };
    quote! {
        #errors
        const _: () = {
            #item
        };
    }
}
