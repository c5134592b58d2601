//! The short way: a compact row-major tensor over all of its storage writes its
//! dimensions where the consumer reads them.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use super::layout;
use crate::bounds;
use crate::model::{Access, Layout, Model, Order, Placement, RoleField, Steps};

/// The method `tensor` of such a struct.
pub(super) fn tensor(data: RoleField<'_>, layout: &TokenStream) -> TokenStream {
    let member = data.member;
    quote_spanned! {Span::mixed_site()=>
        __dlpack::compact_tensor::<__Roles, Self>(&self.#member, #layout)
    }
}

/// The other methods for it, if the struct is such a tensor. `rarely` is the long way.
pub(super) fn methods(
    model: &Model<'_>,
    layout: &Layout<'_>,
    data: RoleField<'_>,
    rarely: &TokenStream,
) -> Option<TokenStream> {
    let Layout { placement, len: None, dtype: None, device: None, padded: false, unsaid: _ } =
        layout
    else {
        return None;
    };
    let Placement::Fields { shape, steps, offset: None } = placement else { return None };
    let Steps::Compact { order: Order::RowMajor, pitch: None } = steps else { return None };
    if model.access != Access::AsStorage {
        return None;
    }
    let here = Span::mixed_site();
    let stored = layout::stored(shape);
    let shape = layout::compact(model.ident, model.generics, shape)?;
    let member = data.member;
    // What may be unsized cannot be moved into a packet.
    let sized = !bounds::may_be_unsized(model.generics, data.ty);
    let share_dlpack = sized.then(|| {
        quote_spanned! {here=>
            #[inline]
            fn share_dlpack(
                &self,
                __consumer: __dlpack::StreamArg<'_>,
            ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> {
                __dlpack::share_dlpack::<__Roles, Self>(self, &self.#member, __consumer)
            }
        }
    });
    let stored = stored.map(|shape| {
        quote_spanned! {here=>
            #[inline]
            fn stored_shape(&self) -> __dlpack::Option<&[__dlpack::i64]> {
                __dlpack::stored(#shape)
            }
        }
    });
    Some(quote_spanned! {here=>
        #share_dlpack
        #stored

        #[inline]
        fn tensor_rarely(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
            #rarely
        }

        #[inline]
        fn tensor_in<'__dlpack>(
            &'__dlpack self,
            __room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::tensor_in::<__Roles, Self>(&self.#member, #shape)
        }

        #[inline]
        fn lend_in<'__dlpack>(
            &'__dlpack mut self,
            __room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::lend_in::<__Roles, Self>(&mut self.#member, #shape)
        }
    })
}
