//! Newtypes and enums around exportable values, to which every method is
//! forwarded.
//!
//! Each call names the type of the value. If the type is not exportable, these are equal errors at
//! the same place, which rustc prints once.

use proc_macro2::{Literal, Span};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;

use super::methods::{Method, Methods};
use super::tokens::{borrowed, in_pattern};
use crate::ast::Field;
use crate::model::{Body, Variant};

pub(super) fn transparent(field: &Field<'_>) -> Methods {
    let member = &field.member;
    let inner = borrowed(field);
    let inner_mut = quote_spanned!(Span::mixed_site()=> &mut self.#member);
    let value = |method| if method == Method::DescribeMut { &inner_mut } else { &inner };
    let methods = Method::ALL.map(|method| (method, method.of(field.ty, value(method))));
    methods.into()
}

pub(super) fn variants(variants: &[Variant<'_>]) -> Methods {
    let here = Span::mixed_site();
    let body = |method: Method| {
        let arms = variants.iter().map(|variant| {
            let ident = variant.ident;
            match &variant.body {
                Body::Inner { field, fields } => {
                    let member = in_pattern(&field.member);
                    let rest = (fields.len() > 1).then(|| quote!(, ..));
                    let inner = quote_spanned!(here=> __inner);
                    let forward = method.of(field.ty, &inner);
                    quote_spanned!(here=> Self::#ident { #member: #inner #rest } => #forward,)
                }
                Body::Skipped => {
                    let name = Literal::string(&ident.unraw().to_string());
                    let skipped = match method {
                        Method::Storage | Method::Share | Method::RecordType => {
                            quote!(__dlpack::Option::None)
                        }
                        _ => quote_spanned!(here=> __dlpack::skipped(#name)),
                    };
                    quote_spanned!(here=> Self::#ident { .. } => #skipped,)
                }
            }
        });
        quote_spanned!(here=> match self { #(#arms)* })
    };
    Method::ALL.map(|method| (method, body(method))).into()
}
