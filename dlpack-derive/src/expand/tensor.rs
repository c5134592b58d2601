//! Structs that are tensors.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::layout::{self, Parts};
use super::{Methods, borrowed};
use crate::bounds;
use crate::model::{Access, Data, Dim, Model, RoleField, Tensor};
use crate::symbol::Unit;

pub(super) fn expand(model: &Model<'_>, tensor: &Tensor<'_>) -> (TokenStream, Methods) {
    let parts = layout::parts(model.ident, model.generics, &tensor.layout);
    let items = items(model, tensor, &parts);
    let fields: Vec<_> = parts.fields.iter().map(|field| borrowed(*field)).collect();
    let fields = tuple(&fields);
    let mut methods = match &tensor.data {
        Data::Storage(data) => in_storage(model, *data, &fields),
        Data::Raw { pointer, unit, len, device } => {
            behind_pointer(model, *pointer, (*unit, *len), *device, &fields)
        }
    };
    if let Some(sync) = tensor.sync {
        let (ty, field, hand_off) = (sync.ty, borrowed(sync), methods.hand_off);
        methods.hand_off = quote_spanned! {Span::mixed_site()=>
            __dlpack::wait::<#ty>(#field, consumer)?;
            #hand_off
        };
    }
    (items, methods)
}

/// The types of the fields and what they mean. Bounds are checked here, once
/// for each role.
fn items(model: &Model<'_>, tensor: &Tensor<'_>, parts: &Parts<'_>) -> TokenStream {
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let data = match &tensor.data {
        Data::Storage(data) => data.ty.to_token_stream(),
        Data::Raw { .. } => quote!(__dlpack::NoStorage),
    };
    let types: Vec<_> = parts.fields.iter().map(|field| layout::borrow_of(field.ty)).collect();
    let types = tuple(&types);
    let names: Vec<_> = parts.names.iter().map(quote::ToTokens::to_token_stream).collect();
    let names = tuple(&names);
    let Parts { body, constant, .. } = parts;
    quote_spanned! {Span::mixed_site()=>
        #constant
        #[automatically_derived]
        impl #params __dlpack::Tensor<__Roles> for #ident #args #where_clause {
            type Data = #data;
            type Fields<'__dlpack> = #types where Self: '__dlpack;
            #[inline]
            fn layout<'__dlpack>(
                #names: Self::Fields<'__dlpack>,
            ) -> __dlpack::Result<__dlpack::Layout<'__dlpack>, __dlpack::Error>
            where
                Self: '__dlpack,
            {
                #body
            }
        }
    }
}

/// A tuple, also of one.
fn tuple(parts: &[TokenStream]) -> TokenStream {
    match parts {
        [part] => quote!((#part,)),
        parts => quote!((#(#parts),*)),
    }
}

fn in_storage(model: &Model<'_>, data: RoleField<'_>, fields: &TokenStream) -> Methods {
    let member = data.member;
    let here = Span::mixed_site();
    let tensor = match model.access {
        Access::AsStorage => quote_spanned!(here=> tensor),
        Access::ReadOnly => quote_spanned!(here=> read_only_tensor),
    };
    Methods {
        tensor: quote_spanned!(here=> __dlpack::#tensor::<__Roles, Self>(&self.#member, #fields)),
        lend: Some(quote_spanned! {here=>
            __dlpack::lend::<__Roles, Self>(&mut self.#member, #fields)
        }),
        hand_off: quote_spanned! {here=>
            __dlpack::hand_off::<__Roles, Self>(&self.#member, consumer)
        },
        share: Some(quote_spanned!(here=> __dlpack::share::<__Roles, Self>(&self.#member))),
    }
}

fn behind_pointer(
    model: &Model<'_>,
    pointer: RoleField<'_>,
    (unit, len): (Unit, Dim<'_>),
    device: Option<RoleField<'_>>,
    fields: &TokenStream,
) -> Methods {
    let here = Span::mixed_site();
    let len = match len {
        Dim::Integer(value, span) => {
            let mut literal = proc_macro2::Literal::i64_suffixed(value);
            literal.set_span(Span::mixed_site().located_at(span));
            literal.into_token_stream()
        }
        Dim::Constant(path) => {
            let at = Span::mixed_site().located_at(path.span());
            quote_spanned!(at=> __dlpack::integer(#path))
        }
        Dim::Field(field, span) => {
            let member = field.member;
            let at = Span::mixed_site().located_at(span);
            quote_spanned!(at=> __dlpack::integer(self.#member))
        }
    };
    let device = match device {
        None => quote_spanned!(here=> __dlpack::Device::CPU),
        Some(field) => {
            let (ty, field) = (field.ty, borrowed(field));
            quote_spanned!(here=> __dlpack::raw_device::<#ty>(#field))
        }
    };
    let bytes = unit == Unit::Bytes;
    let (ty, pointer) = (pointer.ty, borrowed(pointer));
    let tensor = quote_spanned! {here=>
        // SAFETY: the attribute `unsafe(ptr, ...)` of the field promises it.
        let data = unsafe { __dlpack::raw::<#ty, _, #bytes>(#pointer, #len, #device) };
        __dlpack::raw_tensor::<__Roles, Self>(data, #fields)
    };
    // The memory is lent frozen, whoever asks, and `read_only` changes nothing.
    let _ = model.access;
    Methods {
        tensor,
        lend: None,
        hand_off: quote_spanned!(here=> __dlpack::raw_hand_off(#device, consumer)),
        share: None,
    }
}
