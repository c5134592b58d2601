//! The short way: a compact row-major tensor over all of its storage writes its
//! dimensions where the consumer reads them.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use super::layout;
use crate::model::{Access, Layout, Model, Order, Placement, RoleField, Steps};

/// The methods for it, if the struct is such a tensor.
pub(super) fn methods(
    model: &Model<'_>,
    layout: &Layout<'_>,
    data: RoleField<'_>,
) -> Option<TokenStream> {
    let Layout { placement, len: None, dtype: None, device: None, padded: false } = layout else {
        return None;
    };
    let Placement::Fields { shape, steps, offset: None } = placement else { return None };
    let Steps::Compact { order: Order::RowMajor, pitch: None } = steps else { return None };
    if model.access != Access::AsStorage {
        return None;
    }
    let here = Span::mixed_site();
    let shape = layout::compact(model.ident, model.generics, shape)?;
    let member = data.member;
    Some(quote_spanned! {here=>
        #[inline]
        fn tensor_in<'__dlpack>(
            &'__dlpack self,
            room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::tensor_in::<__Roles, Self>(&self.#member, #shape)
        }

        #[inline]
        fn lend_in<'__dlpack>(
            &'__dlpack mut self,
            room: __dlpack::Room<'__dlpack>,
        ) -> __dlpack::Option<__dlpack::Plain<'__dlpack>> {
            __dlpack::lend_in::<__Roles, Self>(&mut self.#member, #shape)
        }
    })
}
