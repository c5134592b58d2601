//! Structs that are tensors.
//!
//! The layout is generated twice, in `describe` and in `describe_mut`. One function for
//! both, with the borrowed fields as its arguments, cost the compiler a quarter more per
//! struct. An error in a field's type is still printed once, because rustc merges equal
//! errors at the same place. 200 derived structs check in 0.9 times the time of 200
//! `serde::Serialize` (`cargo xtask bench compile`).

use core::iter;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use super::layout::{self, LayoutCode};
use super::methods::{Method, Methods};
use super::tokens::{borrowed, computed, expression, local, value_of};
use crate::ast::Field;
use crate::attributes::Unit;
use crate::bounds;
use crate::model::{Data, Given, Model, Tensor};

pub(super) fn expand(model: &Model<'_>, tensor: &Tensor<'_>) -> (TokenStream, Methods) {
    let code = layout::code(model.ident, model.generics, &tensor.layout);
    let items = items(model, tensor, &code);
    let layout = expression(&code.body);
    let mut methods = match &tensor.data {
        Data::Storage(data) => in_storage(model, data, &layout),
        Data::Slice { owner, element, shared } => of_slice(owner, element, *shared, &layout),
        Data::Raw { .. } => behind_pointer(&tensor.data, &layout),
    };
    if let Some(sync) = tensor.sync {
        let (ty, field) = (sync.ty, borrowed(sync));
        let body = quote_spanned! {Span::mixed_site()=>
            <#ty as __dlpack::Synchronize>::sync_for(#field, __consumer)
        };
        methods.push((Method::SyncFor, body));
    }
    (items, methods)
}

/// The type of the data. Its bound is only checked here.
fn items(model: &Model<'_>, tensor: &Tensor<'_>, code: &LayoutCode) -> TokenStream {
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let data = match &tensor.data {
        Data::Storage(data) => data.ty.to_token_stream(),
        Data::Slice { .. } | Data::Raw { .. } => quote!(__dlpack::NoStorage),
    };
    let constant = &code.constant;
    let choices = match &tensor.data {
        Data::Slice { owner, .. } if owner.with().is_none() => quote_spanned! {Span::mixed_site()=>
            use __dlpack::lending::*;
        },
        _ => TokenStream::new(),
    };
    quote_spanned! {Span::mixed_site()=>
        enum __Roles {}
        #choices
        #constant
        #[automatically_derived]
        impl #params __dlpack::Tensor<__Roles> for #ident #args #where_clause {
            type Data = #data;
        }
    }
}

fn in_storage(model: &Model<'_>, data: &Field<'_>, layout: &TokenStream) -> Methods {
    let member = &data.member;
    let here = Span::mixed_site();
    let describe =
        quote_spanned!(here=> __dlpack::data::<__Roles, Self>(__out, #layout, &self.#member));
    // A type that may be unsized cannot be a `dyn Storage`.
    let sized = !bounds::may_be_unsized(model.generics, data.ty);
    let storage = quote_spanned!(here=> __dlpack::storage::<__Roles, Self>(&self.#member));
    let share = quote_spanned!(here=> __dlpack::share::<__Roles, Self>(&self.#member));
    let describe_mut = quote_spanned! {here=>
        __dlpack::data_mut::<__Roles, Self>(__out, #layout, &mut self.#member)
    };
    let owner = if sized { (Method::Storage, storage) } else { (Method::Share, share) };
    vec![(Method::Describe, describe), (Method::DescribeMut, describe_mut), owner]
}

/// The slice is borrowed once per description, from the owner where it is.
fn of_slice(owner: &Field<'_>, element: &Type, shared: bool, layout: &TokenStream) -> Methods {
    let here = Span::mixed_site();
    let ty = owner.ty;
    let slice_of = |lender: TokenStream| {
        if let Some(path) = owner.with() {
            return quote_spanned!(here.located_at(path.span())=> #path(#lender));
        }
        // An error about the type points to it.
        quote_spanned! {here.located_at(ty.span())=>
            __dlpack::lender::<#ty, #element>(#lender).__dlpack_slice()
        }
    };
    let slice = slice_of(borrowed(owner));
    let describe = quote_spanned!(here=> __dlpack::slice::<#element>(__out, #layout, #slice));
    let share = shared.then(|| {
        let (field, slice) = (borrowed(owner), slice_of(quote_spanned!(here=> __owner)));
        quote_spanned!(here=> __dlpack::share_slice::<#ty, #element, _>(#field, |__owner| #slice))
    });
    let share = share.map(|share| (Method::Share, share));
    iter::once((Method::Describe, describe)).chain(share).collect()
}

fn behind_pointer(data: &Data<'_>, layout: &TokenStream) -> Methods {
    let Data::Raw { spelled, pointer, unit, len, device, writable, shared } = data else {
        return Vec::new();
    };
    let here = Span::mixed_site();
    let at = here.located_at(len.span());
    let len = match (len, computed(*len)) {
        (Given::Integer(..), len) => len,
        (_, len) => quote_spanned!(at=> __dlpack::integer(#len)),
    };
    let device = match device {
        None => quote_spanned!(here=> __dlpack::Device::CPU),
        Some(Given::Field(field, _)) if field.with().is_some() => value_of(field),
        Some(Given::Field(field, _)) => {
            let (ty, field) = (field.ty, borrowed(field));
            quote_spanned!(here=> __dlpack::raw_device::<#ty>(#field))
        }
        Some(device) => computed(*device),
    };
    let (bytes, member) = (*unit == Unit::Bytes, &pointer.member);
    let function = local(if *writable { "pointed_mut" } else { "pointed" });
    let pointed = if let Some(path) = pointer.with() {
        let (at, value) = (here.located_at(path.span()), value_of(pointer));
        quote_spanned!(at=> __dlpack::#function::<_, _, #bytes>(#value, #len, #device))
    } else {
        let ty = pointer.ty;
        quote_spanned!(here=> __dlpack::#function::<#ty, _, #bytes>(self.#member, #len, #device))
    };
    // The only `unsafe` in an expansion is the user's own, from the attribute, with its
    // span, so that `forbid(unsafe_code)` rejects it. The expressions in the attribute are
    // evaluated before the block, outside of it.
    let promised = |call: TokenStream| quote_spanned!(*spelled=> unsafe { #call });
    let data = promised(quote_spanned!(here=> __dlpack::raw(__pointed)));
    let describe = quote_spanned! {here=>
        let __pointed = #pointed;
        // SAFETY: the attribute `unsafe(ptr, ...)` of the field promises it.
        let __data = #data;
        __dlpack::raw_data(__out, #layout, __data)
    };
    let share = shared.map(|owner| {
        let (ty, field) = (owner.ty, borrowed(owner));
        let path = pointer.with().filter(|_| owner.member == pointer.member);
        let is_same = path.map_or_else(
            || quote_spanned!(here=> |_: &#ty, _: &__dlpack::Pointed| true),
            |path| {
                quote_spanned! {here.located_at(path.span())=>
                    |__owner: &#ty, __pointed: &__dlpack::Pointed| __pointed.is_at(#path(__owner))
                }
            },
        );
        let call = quote_spanned!(here=> __dlpack::share_raw::<#ty>(#field, __pointed, __is_same));
        let shared = promised(call);
        let share = quote_spanned! {here=>
            let __pointed = #pointed;
            let __is_same = #is_same;
            #shared
        };
        (Method::Share, share)
    });
    iter::once((Method::Describe, describe)).chain(share).collect()
}
