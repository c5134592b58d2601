//! Structs that are tensors.
//!
//! The layout is generated twice, in `describe` and in `describe_mut`. One function for
//! both, with the borrowed fields as its arguments, cost the compiler a quarter more per
//! struct. An error in a field's type is still printed once, because rustc merges equal
//! errors at the same place. 200 derived structs check in 0.9 times the time of 200
//! `serde::Serialize` (`cargo xtask bench compile`).

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned as _;

use super::layout::{self, LayoutCode};
use super::methods::Methods;
use super::tokens::{borrowed, value_of};
use crate::bounds;
use crate::model::{Access, Data, Dim, Model, RoleField, Tensor};
use crate::symbol::Unit;

pub(super) fn expand(model: &Model<'_>, tensor: &Tensor<'_>) -> (TokenStream, Methods) {
    let code = layout::code(model.ident, model.generics, &tensor.layout);
    let items = items(model, tensor, &code);
    let layout = code.expression();
    let mut methods = match &tensor.data {
        Data::Storage(data) => in_storage(model, *data, &layout),
        Data::Slice { owner, element, shared } => {
            of_slice(model, *owner, element, *shared, &layout)
        }
        Data::Raw { spelled, pointer, unit, len, device } => {
            behind_pointer(model, *spelled, *pointer, (*unit, *len), *device, &layout)
        }
    };
    if let Some(sync) = tensor.sync {
        let (ty, field) = (sync.ty, borrowed(sync));
        methods.sync_for = Some(quote_spanned! {Span::mixed_site()=>
            __dlpack::wait::<#ty>(#field, __consumer)
        });
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
        Data::Slice { owner, .. } if owner.with.is_none() => quote_spanned! {Span::mixed_site()=>
            use __dlpack::lending::*;
        },
        _ => TokenStream::new(),
    };
    quote_spanned! {Span::mixed_site()=>
        #choices
        #constant
        #[automatically_derived]
        impl #params __dlpack::Tensor<__Roles> for #ident #args #where_clause {
            type Data = #data;
        }
    }
}

fn in_storage(model: &Model<'_>, data: RoleField<'_>, layout: &TokenStream) -> Methods {
    let member = data.member;
    let here = Span::mixed_site();
    let describe =
        quote_spanned!(here=> __dlpack::data::<__Roles, Self>(__out, #layout, &self.#member));
    let describe = match model.access {
        Access::AsStorage => describe,
        Access::ReadOnly => quote_spanned!(here=> __dlpack::read_only(#describe)),
    };
    // A type that may be unsized cannot be a `dyn Storage`.
    let sized = !bounds::may_be_unsized(model.generics, data.ty);
    let storage = quote_spanned!(here=> __dlpack::storage::<__Roles, Self>(&self.#member));
    let share = quote_spanned!(here=> __dlpack::share::<__Roles, Self>(&self.#member));
    Methods {
        describe,
        describe_mut: Some(quote_spanned! {here=>
            __dlpack::data_mut::<__Roles, Self>(__out, #layout, &mut self.#member)
        }),
        storage: sized.then_some(storage),
        sync_for: None,
        share: (!sized).then_some(share),
        to_dlpack_on: None,
    }
}

/// The slice is borrowed once per description, from the owner where it is.
fn of_slice(
    model: &Model<'_>,
    owner: RoleField<'_>,
    element: &Type,
    shared: bool,
    layout: &TokenStream,
) -> Methods {
    let here = Span::mixed_site();
    let ty = owner.ty;
    let slice_of = |lender: TokenStream| {
        if let Some(path) = owner.with {
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
    // The slice is always lent frozen, so `read_only` has no effect.
    let _ = model.access;
    Methods {
        describe,
        describe_mut: None,
        storage: None,
        sync_for: None,
        share,
        to_dlpack_on: None,
    }
}

fn behind_pointer(
    model: &Model<'_>,
    spelled: Span,
    pointer: RoleField<'_>,
    (unit, len): (Unit, Dim<'_>),
    device: Option<RoleField<'_>>,
    layout: &TokenStream,
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
        // `check` rejects it here.
        Dim::Method(_) | Dim::Any => TokenStream::new(),
        Dim::Field(field, span) => {
            let member = field.member;
            let at = Span::mixed_site().located_at(span);
            quote_spanned!(at=> __dlpack::integer(self.#member))
        }
    };
    let device = match device {
        None => quote_spanned!(here=> __dlpack::Device::CPU),
        Some(field) if field.with.is_some() => value_of(field),
        Some(field) => {
            let (ty, field) = (field.ty, borrowed(field));
            quote_spanned!(here=> __dlpack::raw_device::<#ty>(#field))
        }
    };
    let bytes = unit == Unit::Bytes;
    let (ty, pointer) = (pointer.ty, borrowed(pointer));
    let data = quote_spanned!(here=> __dlpack::raw::<#ty, _, #bytes>(#pointer, __len, __device));
    // The only `unsafe` in an expansion is the user's own, from the attribute, with its
    // span, so that `forbid(unsafe_code)` rejects it. The expressions in the attribute are
    // evaluated before the block, outside of it.
    let data = quote_spanned!(spelled=> unsafe { #data });
    let describe = quote_spanned! {here=>
        let __len = #len;
        let __device = #device;
        // SAFETY: the attribute `unsafe(ptr, ...)` of the field promises it.
        let __data = #data;
        __dlpack::raw_data(__out, #layout, __data)
    };
    // The memory is always lent frozen, so `read_only` has no effect.
    let _ = model.access;
    Methods {
        describe,
        describe_mut: None,
        storage: None,
        sync_for: None,
        share: None,
        to_dlpack_on: None,
    }
}
