//! The attributes of one struct, variant or field.
//!
//! Checks across several of them are in `check`.

mod container;
mod field;
mod item;
mod parse;
mod pointer;
mod require;
mod value;
mod words;
mod written;

pub(crate) use container::StructAttrs;
pub(crate) use field::{FieldAttrs, VariantAttrs};
pub(crate) use item::{Item, Value};
pub(crate) use require::Require;
pub(crate) use value::{ConstDType, ConstOrder, dtype, krate};
pub(crate) use words::{Words, packed, reprs};
pub(crate) use written::{Stated, StatedValue, Written};

use proc_macro2::Ident;

use crate::ctxt::Ctxt;
use crate::message;

/// A value and the key that it belongs to.
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) key: Ident,
}

impl Item {
    fn spanned<T>(&self, value: T) -> Spanned<T> {
        Spanned { value, key: self.key.clone() }
    }
}

/// A word without a value.
fn flag(cx: &Ctxt, item: &Item) -> Ident {
    expect_no_value(cx, item);
    item.key.clone()
}

/// Rejects a value after a key that takes none.
fn expect_no_value(cx: &Ctxt, item: &Item) {
    if let Some(value) = item.value.span() {
        cx.push(message::takes_no_value(&item.key, value));
    }
}
