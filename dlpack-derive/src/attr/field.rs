//! The attributes on a field or a variant.

use core::cell::Cell;

use proc_macro2::{Ident, Span};
use syn::{ExprPath, Field, Type, Variant};

use super::item::{Item, Value};
use super::parse;
use super::value::{self, RawLen};
use super::{Once, Spanned, expect_no_value};
use crate::ctxt::Ctxt;
use crate::message;
use crate::symbol::{self, Role, Unit, Units};

/// A role that a field is marked with.
pub(crate) struct Mark {
    pub(crate) role: Role,
    /// Unused for roles without a unit.
    pub(crate) unit: Unit,
    pub(crate) key: Ident,
}

/// The attributes on a field.
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
    /// `with = path`: the function that converts the field.
    pub(crate) with: Option<Spanned<Option<ExprPath>>>,
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
        let mut roles = Vec::new();
        let (mut raw, mut raw_len) = (false, None);
        let mut slice = Once::new(cx, &name);
        let mut shared = Once::new(cx, &name);
        let mut with = Once::new(cx, &name);
        let mut skip = Once::new(cx, &name);
        let mut copy = Once::new(cx, &name);
        let mut default = Once::new(cx, &name);
        let before = cx.count();
        let items = parse::items(cx, &field.attrs, &symbol::ON_FIELD);
        let mut unread = cx.count() > before;
        for item in items {
            let word = item.word();
            if let Some(role) = Role::of_word(&word) {
                let unit = unit(cx, &item, role, owner);
                roles.push(Mark { role, unit, key: item.key });
            } else if word == symbol::BYTE_OFFSET {
                expect_no_value(cx, &item);
                roles.push(Mark { role: Role::Offset, unit: Unit::Bytes, key: item.key });
            } else if word == symbol::UNSAFE {
                raw_len = value::raw(cx, &item);
                raw = true;
                roles.push(Mark { role: Role::Data, unit: Unit::Elements, key: item.key });
            } else if word == symbol::SLICE {
                slice.set(&item.key, value::element(cx, &item));
            } else if word == symbol::SHARED {
                expect_no_value(cx, &item);
                shared.set(&item.key, ());
            } else if word == symbol::WITH {
                with.set(&item.key, value::function(cx, &item));
            } else if word == symbol::SKIP {
                expect_no_value(cx, &item);
                skip.set(&item.key, ());
            } else if word == symbol::COPY {
                expect_no_value(cx, &item);
                copy.set(&item.key, ());
            } else if word == symbol::DEFAULT {
                let given = !matches!(item.value, Value::None);
                let path = given.then(|| value::function(cx, &item)).flatten();
                default.set(&item.key, path);
            } else {
                unread = true;
                cx.push(if symbol::ON_STRUCT.contains(&word.as_str()) {
                    message::belongs_on_the_struct(&item.key, owner)
                } else {
                    message::unknown_field_attribute(&item.key)
                });
            }
        }
        // `slice` gives the role `data`, beside the word or without it.
        let is_data = |mark: &Mark| mark.role == Role::Data;
        if let Some(slice) = slice.value.as_ref().filter(|_| !roles.iter().any(is_data)) {
            let key = slice.key.clone();
            roles.push(Mark { role: Role::Data, unit: Unit::Elements, key });
        }
        let (slice, with) = (slice.value, with.value);
        let shared = shared.value.map(|shared| shared.key);
        let skip = skip.value.map(|skip| skip.key.span());
        let copy = copy.value.map(|copy| copy.key);
        let (default, refused) = (default.value, Cell::new(false));
        Self { roles, raw, raw_len, slice, shared, with, skip, copy, default, unread, refused }
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
        (Units::None, Some(value)) => cx.push(if symbol::ON_STRUCT.contains(&role.word()) {
            message::constant_on_a_field(&item.key, value, owner)
        } else {
            message::takes_no_value(&item.key, value)
        }),
        (Units::Said, None) => cx.push(message::unit_missing(&item.key)),
        (Units::Said | Units::Elements, Some(_)) => return value::unit(cx, item),
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
        let mut skip = Once::new(cx, &variant.ident);
        let before = cx.count();
        for item in parse::items(cx, &variant.attrs, &[symbol::SKIP]) {
            if item.word() == symbol::SKIP {
                expect_no_value(cx, &item);
                skip.set(&item.key, ());
            } else {
                cx.push(message::unknown_variant_attribute(&item.key));
            }
        }
        Self { skip: skip.value.is_some(), unread: cx.count() > before }
    }
}
