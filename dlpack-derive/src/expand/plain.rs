//! The short ways: a tensor that begins with its storage, compact in row-major order or
//! with strides, writes its dimensions where the consumer reads them.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use super::layout;
use crate::bounds;
use crate::model::{Access, Layout, Model, Order, Placement, RoleField, Shape, Steps};
use crate::symbol::Unit;

/// The method `tensor`, and the methods beside it, of a struct that is such a tensor.
/// `long` is `tensor` of any other, with `layout` in it.
pub(super) fn methods(
    model: &Model<'_>,
    placed: &Layout<'_>,
    data: RoleField<'_>,
    layout: &TokenStream,
    long: &TokenStream,
) -> Option<(TokenStream, TokenStream)> {
    let Layout { placement, len: None, dtype: None, device: None, padded: false } = placed else {
        return None;
    };
    let Placement::Fields { shape, steps, offset: None } = placement else { return None };
    if model.access != Access::AsStorage {
        return None;
    }
    match steps {
        Steps::Compact { order: Order::RowMajor, pitch: None } => {
            let room = layout::compact(model.ident, model.generics, shape)?;
            let beside = [compact(shape, long), in_room(model, data, &room)];
            let (here, member) = (Span::mixed_site(), data.member);
            let tensor = quote_spanned! {here=>
                __dlpack::compact_tensor::<__Roles, Self>(&self.#member, #layout)
            };
            Some((tensor, beside.into_iter().collect()))
        }
        Steps::Strides(Unit::Elements, strides) => {
            let room = layout::strided(shape, *strides)?;
            Some((long.clone(), in_room(model, data, &room)))
        }
        Steps::Compact { .. } | Steps::Strides(Unit::Bytes, _) => None,
    }
}

/// What only a compact tensor can say.
fn compact(shape: &Shape<'_>, long: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let stored = layout::stored(shape).map(|shape| {
        quote_spanned! {here=>
            #[inline]
            fn stored_shape(&self) -> __dlpack::Option<&[__dlpack::i64]> {
                __dlpack::stored(#shape)
            }
        }
    });
    quote_spanned! {here=>
        #stored

        #[inline]
        fn tensor_rarely(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            #long
        }
    }
}

/// The exports of a tensor whose dimensions are written by `dims` into a `room`.
fn in_room(model: &Model<'_>, data: RoleField<'_>, dims: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let member = data.member;
    // What may be unsized cannot be moved into a packet.
    let sized = !bounds::may_be_unsized(model.generics, data.ty);
    let share_dlpack = sized.then(|| {
        quote_spanned! {here=>
            #[inline]
            fn share_dlpack(
                &self,
                consumer: __dlpack::StreamArg<'_>,
            ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> {
                __dlpack::share_dlpack::<__Roles, Self>(self, &self.#member, consumer)
            }
        }
    });
    quote_spanned! {here=>
        #share_dlpack

        #[inline]
        fn tensor_in<'__dlpack>(
            &'__dlpack self,
            room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::tensor_in::<__Roles, Self>(&self.#member, #dims)
        }

        #[inline]
        fn lend_in<'__dlpack>(
            &'__dlpack mut self,
            room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::lend_in::<__Roles, Self>(&mut self.#member, #dims)
        }
    }
}
