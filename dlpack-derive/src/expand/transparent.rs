//! Newtypes and enums around exportable values, to which every method is
//! forwarded.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::ext::IdentExt as _;

use super::methods::Methods;
use super::tokens::{borrowed, in_pattern};
use crate::bounds;
use crate::model::{Access, Body, Model, RoleField, Variant};

pub(super) fn transparent(model: &Model<'_>, field: RoleField<'_>) -> (TokenStream, Methods) {
    let member = field.member;
    let inner = borrowed(field);
    let inner_mut = quote_spanned!(Span::mixed_site()=> &mut self.#member);
    let methods = methods(model, |call| match call {
        Call::DescribeMut => forward(0, call, &inner_mut),
        _ => forward(0, call, &inner),
    });
    (is_exportable(model, 0, field.ty), methods)
}

pub(super) fn variants(model: &Model<'_>, variants: &[Variant<'_>]) -> (TokenStream, Methods) {
    let here = Span::mixed_site();
    let items = variants.iter().enumerate().filter_map(|(number, variant)| match &variant.body {
        Body::Inner { field, .. } => Some(is_exportable(model, number, field.ty)),
        Body::Skipped => None,
    });
    let methods = methods(model, |call| {
        let arms = variants.iter().enumerate().map(|(number, variant)| {
            let ident = variant.ident;
            match &variant.body {
                Body::Inner { field, alone } => {
                    let member = in_pattern(field.member);
                    let rest = if *alone { None } else { Some(quote!(, ..)) };
                    let inner = quote_spanned!(here=> __inner);
                    let forward = forward(number, call, &inner);
                    quote_spanned!(here=> Self::#ident { #member: #inner #rest } => #forward,)
                }
                Body::Skipped => {
                    let skipped = skipped(call, ident);
                    quote_spanned!(here=> Self::#ident { .. } => #skipped,)
                }
            }
        });
        quote_spanned!(here=> match self { #(#arms)* })
    });
    (quote!(#(#items)*), methods)
}

/// A method of the trait.
#[derive(Clone, Copy)]
enum Call {
    Describe,
    DescribeMut,
    Storage,
    SyncFor,
    Share,
    ToDlpackOn,
}

fn methods(model: &Model<'_>, body: impl Fn(Call) -> TokenStream) -> Methods {
    let describe = body(Call::Describe);
    let describe = match model.access {
        Access::AsStorage => describe,
        Access::ReadOnly => quote_spanned!(Span::mixed_site()=> __dlpack::read_only(#describe)),
    };
    Methods {
        describe,
        describe_mut: Some(body(Call::DescribeMut)),
        storage: Some(body(Call::Storage)),
        sync_for: Some(body(Call::SyncFor)),
        share: Some(body(Call::Share)),
        // Each variant exports itself, so the type of its owner is known at compile time. The
        // default would merge the owners of all variants first.
        to_dlpack_on: (model.access == Access::AsStorage).then(|| body(Call::ToDlpackOn)),
    }
}

fn forward(number: usize, call: Call, inner: &TokenStream) -> TokenStream {
    let number = Literal::usize_unsuffixed(number);
    let here = Span::mixed_site();
    match call {
        Call::Describe => {
            quote_spanned!(here=> __dlpack::inner_describe::<__Roles, #number, Self>(#inner, __out))
        }
        Call::DescribeMut => quote_spanned! {here=>
            __dlpack::inner_describe_mut::<__Roles, #number, Self>(#inner, __out)
        },
        Call::Storage => {
            quote_spanned!(here=> __dlpack::inner_storage::<__Roles, #number, Self>(#inner))
        }
        Call::SyncFor => quote_spanned! {here=>
            __dlpack::inner_sync_for::<__Roles, #number, Self>(#inner, __consumer)
        },
        Call::Share => {
            quote_spanned!(here=> __dlpack::inner_share::<__Roles, #number, Self>(#inner))
        }
        Call::ToDlpackOn => quote_spanned! {here=>
            __dlpack::inner_to_dlpack_on::<__Roles, #number, Self>(#inner, __consumer)
        },
    }
}

fn skipped(call: Call, variant: &Ident) -> TokenStream {
    let name = Literal::string(&variant.unraw().to_string());
    let here = Span::mixed_site();
    match call {
        Call::Describe | Call::DescribeMut | Call::SyncFor | Call::ToDlpackOn => {
            quote_spanned!(here=> __dlpack::skipped(#name))
        }
        Call::Storage | Call::Share => quote_spanned!(here=> __dlpack::Option::None),
    }
}

/// Emits the only bound that the type is exportable.
fn is_exportable(model: &Model<'_>, number: usize, ty: &Type) -> TokenStream {
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let number = Literal::usize_unsuffixed(number);
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #params __dlpack::Inner<__Roles, #number> for #ident #args #where_clause {
            type Type = #ty;
        }
    }
}
