//! The attributes of one struct, variant or field.
//!
//! Checks across several of them are in `check`.

mod container;
mod field;
mod item;
mod parse;
mod require;
mod value;

pub(crate) use container::StructAttrs;
pub(crate) use field::{FieldAttrs, VariantAttrs};
pub(crate) use item::{Item, Value};
pub(crate) use parse::items;
pub(crate) use require::Require;
pub(crate) use value::{ConstDType, ConstOrder, WrittenDim, krate};

use proc_macro2::Ident;

use crate::ctxt::Ctxt;
use crate::message;

/// A value and the key that it belongs to.
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) key: Ident,
}

/// A value that may be given at most once.
struct Once<'c, T> {
    cx: &'c Ctxt,
    owner: String,
    value: Option<Spanned<T>>,
}

impl<'c, T> Once<'c, T> {
    fn new(cx: &'c Ctxt, owner: &impl ToString) -> Self {
        Self { cx, owner: owner.to_string(), value: None }
    }

    /// Stores the first value, and reports an error for each further one.
    fn set(&mut self, key: &Ident, value: T) {
        if self.value.is_some() {
            self.cx.push(message::duplicate_attribute(key, &self.owner));
        } else {
            self.value = Some(Spanned { value, key: key.clone() });
        }
    }
}

/// Rejects a value after a key that takes none.
pub(crate) fn expect_no_value(cx: &Ctxt, item: &Item) {
    if let Some(value) = item.value.span() {
        cx.push(message::takes_no_value(&item.key, value));
    }
}
