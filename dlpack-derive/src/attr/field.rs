//! The attributes on a field or a variant.

use core::cell::Cell;

use proc_macro2::{Ident, Span};
use syn::{ExprPath, Field, Type, Variant};

use super::item::{Item, Value};
use super::pointer::{self, RawLen};
use super::value;
use super::words::{self, Node, Words};
use super::{Spanned, expect_no_value, flag};
use crate::attributes::{self, Role, Unit, Units};
use crate::ctxt::Ctxt;
use crate::message;

/// A role that a field is marked with.
pub(crate) struct Mark {
    pub(crate) role: Role,
    /// Unused for roles without a unit.
    pub(crate) unit: Unit,
    pub(crate) key: Ident,
}

/// The attributes on a field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    /// All roles that were given; `check` verifies that there is at most one.
    pub(crate) roles: Vec<Mark>,
    /// `unsafe(ptr, ...)`, which also gives the role `data`.
    pub(crate) raw: bool,
    /// The length in it, if it could be parsed.
    pub(crate) raw_len: Option<RawLen>,
    /// `slice = f32`: the type of the elements, if it could be parsed.
    pub(crate) slice: Option<Spanned<Option<Type>>>,
    /// `shared`.
    pub(crate) shared: Option<Ident>,
    /// `with = path`: the function that converts the field for an export, and that of an import in
    /// `with(path, path)`.
    pub(crate) with: Option<Spanned<Vec<ExprPath>>>,
    /// The span of `skip`, or of the name in a list on the struct.
    pub(crate) skip: Option<Span>,
    /// For imports: the elements are copied into this field.
    pub(crate) copy: Option<Ident>,
    /// For imports: the source of its value, if it is not `Default`.
    pub(crate) default: Option<Spanned<Option<ExprPath>>>,
    /// An attribute could not be parsed. It may have been meant as a role.
    pub(crate) unread: bool,
    /// The field was rejected for lack of an attribute: it may be meant as a
    /// role.
    pub(crate) refused: Cell<bool>,
}

impl FieldAttrs {
    pub(crate) fn from_syn(cx: &Ctxt, field: &Field, name: &str, owner: &Ident) -> Self {
        let unknown = |item: &Item| {
            if attributes::ON_STRUCT.contains(&item.word().as_str()) {
                message::belongs_on_the_struct(&item.key, owner)
            } else {
                message::unknown_field_attribute(&item.key)
            }
        };
        let node = Node { name: &name, words: &attributes::ON_FIELD, unknown: &unknown };
        let mut attrs = Self::default();
        attrs.unread = words::for_each(cx, &field.attrs, &node, |item| {
            let word = item.word();
            if let Some(role) = Role::of_word(&word) {
                let unit = unit(cx, &item, role, owner);
                attrs.roles.push(Mark { role, unit, key: item.key });
                return;
            }
            match word.as_str() {
                attributes::BYTE_OFFSET => {
                    expect_no_value(cx, &item);
                    attrs.roles.push(Mark { role: Role::Offset, unit: Unit::Bytes, key: item.key });
                }
                attributes::UNSAFE => {
                    attrs.raw_len = pointer::raw(cx, &item);
                    attrs.raw = true;
                    attrs.roles.push(Mark {
                        role: Role::Data,
                        unit: Unit::Elements,
                        key: item.key,
                    });
                }
                attributes::SLICE => attrs.slice = Some(item.spanned(value::element(cx, &item))),
                attributes::WITH => attrs.with = Some(item.spanned(value::functions(cx, &item))),
                attributes::SHARED => attrs.shared = Some(flag(cx, &item)),
                attributes::COPY => attrs.copy = Some(flag(cx, &item)),
                attributes::DEFAULT => {
                    let given = !matches!(item.value, Value::None);
                    let path = given.then(|| value::function(cx, &item)).flatten();
                    attrs.default = Some(item.spanned(path));
                }
                _ => attrs.skip = Some(flag(cx, &item).span()),
            }
        });
        // `slice` gives the role `data`, beside the word or without it.
        let is_data = |mark: &Mark| mark.role == Role::Data;
        if let Some(slice) = attrs.slice.as_ref().filter(|_| !attrs.roles.iter().any(is_data)) {
            let key = slice.key.clone();
            attrs.roles.push(Mark { role: Role::Data, unit: Unit::Elements, key });
        }
        attrs
    }

    /// Whether it has neither a role nor `skip`.
    pub(crate) fn are_silent(&self) -> bool {
        self.roles.is_empty() && self.skip.is_none() && !self.unread
    }
}

/// The unit of a role.
fn unit(cx: &Ctxt, item: &Item, role: Role, owner: &Ident) -> Unit {
    match (role.units(), item.value.span()) {
        (Units::None | Units::Elements, None) => {}
        (Units::None, Some(_)) if role == Role::Data => expect_no_value(cx, item),
        (Units::None, Some(value)) => cx.push(if attributes::ON_STRUCT.contains(&role.word()) {
            message::constant_on_a_field(&item.key, value, owner)
        } else {
            message::takes_no_value(&item.key, value)
        }),
        (Units::Required, None) => cx.push(message::unit_missing(&item.key)),
        (Units::Required | Units::Elements, Some(_)) => return value::unit(cx, item),
    }
    Unit::Elements
}

/// The attributes on a variant.
pub(crate) struct VariantAttrs {
    pub(crate) skip: bool,
    /// An attribute could not be parsed.
    pub(crate) unread: bool,
}

impl VariantAttrs {
    pub(crate) fn from_syn(cx: &Ctxt, variant: &Variant) -> Self {
        let before = cx.count();
        let unknown = |item: &Item| message::unknown_variant_attribute(&item.key);
        let node = Node { name: &variant.ident, words: &[attributes::SKIP], unknown: &unknown };
        let words = Words::read(cx, &variant.attrs, &node);
        Self { skip: words.flag(cx, attributes::SKIP).is_some(), unread: cx.count() > before }
    }
}
