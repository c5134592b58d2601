//! Fields that could be part of the layout, but have neither a role nor `skip`.
//!
//! If the derive missed a part of the layout, the tensor would have wrong values, which no
//! later check detects. Each field that holds integers or `bool`s must therefore have a
//! role or be skipped. Its name only decides the help text.

use syn::ext::IdentExt as _;
use syn::{Ident, Member};

use super::lookalike::{LooksLike, looks_like};
use super::roles::Roles;
use super::types;
use crate::ast::{Field, is_named, is_phantom};
use crate::attr::{Stated, StructAttrs, Written};
use crate::attributes::{Direction, Role};
use crate::ctxt::Ctxt;
use crate::message;
use crate::numbers::{Holds, holds};

/// A struct with its fields and their roles.
pub(super) struct UnmarkedFields<'c, 'a> {
    pub(super) cx: &'c Ctxt,
    pub(super) ident: &'a Ident,
    pub(super) fields: &'a [Field<'a>],
    pub(super) attrs: &'a StructAttrs,
    pub(super) roles: &'c Roles<'a>,
    /// Whether a field must have the role `data`.
    pub(super) needs_data: bool,
}

impl<'a> UnmarkedFields<'_, 'a> {
    /// Rejects fields that have neither a role nor `skip`, if their tokens show what they
    /// hold. Returns those whose type may be an alias, which the compiler decides.
    pub(super) fn refuse(&self) -> Vec<(&'a Field<'a>, &'static str)> {
        let unmarked: Vec<_> = self
            .fields
            .iter()
            .filter(|field| field.attrs.are_silent() && !self.roles.has(field))
            .filter(|field| !self.is_listed(&field.member))
            .map(|field| (field, self.looks_like(field), holds(field.ty)))
            .collect();
        let numbers = |(field, like, holds): &(&'a Field<'a>, Option<LooksLike>, Holds)| {
            like.is_none()
                && !matches!(holds, Holds::Unknown | Holds::Nothing)
                && !self.is_excused(field, *holds)
        };
        let names: Vec<String> = unmarked
            .iter()
            .filter(|field| numbers(field))
            .map(|(field, ..)| field.name())
            .collect();
        let mut unknown = Vec::new();
        for entry in &unmarked {
            let (field, like, holds) = *entry;
            if let Some(like) = like {
                self.refuse_lookalike(field, like);
            } else if numbers(entry) {
                field.attrs.refused.set(true);
                let skip = self.skip(field);
                self.cx.push(message::unmarked_field(
                    field.place(),
                    &field.name(),
                    holds,
                    skip,
                    &names,
                    self.ident,
                ));
            } else if holds == Holds::Unknown {
                unknown.push((field, self.skip(field)));
            }
        }
        unknown
    }

    /// The property that the name of a field suggests, if no other field has that role.
    fn looks_like(&self, field: &Field<'_>) -> Option<LooksLike> {
        let Member::Named(ident) = &field.member else { return None };
        let like = looks_like(&ident.unraw().to_string().to_lowercase(), field.ty)?;
        let is_said = like == LooksLike::Padding
            && [Role::Pitch, Role::Strides, Role::Layout].into_iter().any(|role| self.has(role));
        (!is_said).then_some(like)
    }

    fn refuse_lookalike(&self, field: &Field<'_>, like: LooksLike) {
        let Member::Named(ident) = &field.member else { return };
        field.attrs.refused.set(true);
        let skip = self.skip(field);
        self.cx.push(match like {
            LooksLike::Role(role) => message::lookalike(ident, role, skip),
            LooksLike::Step => message::lookalike_step(ident, skip),
            LooksLike::Padding => message::lookalike_padding(ident, skip),
            LooksLike::ReadOnly => message::lookalike_read_only(ident, skip, self.ident),
        });
    }

    /// Whether another reported error may be about this field.
    fn is_excused(&self, field: &Field<'_>, holds: Holds) -> bool {
        let is_integer = matches!(holds, Holds::Integer | Holds::Integers);
        let no_shape = !self.has(Role::Shape) && !self.has(Role::Layout);
        let no_data = self.needs_data && !self.has(Role::Data);
        // The length of the memory behind a pointer is a field too.
        let raw_unread =
            self.fields.iter().any(|field| field.attrs.raw && field.attrs.raw_len.is_none());
        let is_pointer = self
            .roles
            .get(Role::Data)
            .is_some_and(|data| !data.field.attrs.raw && types::is_raw_pointer(data.field.ty));
        self.attrs.unread
            || self.attrs.names_unread
            || raw_unread
            || is_integer && (no_shape || is_pointer)
            || no_data && types::looks_like_a_buffer(field.ty)
            || self.lists_an_unknown_name()
    }

    /// The attribute for a field that is not part of the tensor. An import also needs a
    /// source for its value.
    fn skip(&self, field: &Field<'_>) -> &'static str {
        let has_value =
            field.attrs.default.is_some() || self.attrs.construct.is_some() || is_phantom(field.ty);
        if self.is_imported() && !has_value {
            "#[dlpack(skip, default)]"
        } else {
            "#[dlpack(skip)]"
        }
    }

    /// Whether the struct is imported, as far as a derive can tell: it does not see the
    /// other derives. If so, the export gives the same help as the import, and the compiler
    /// reports equal errors once.
    fn is_imported(&self) -> bool {
        self.cx.direction() == Direction::Import
            || self.attrs.construct.is_some()
            || self.attrs.validate.is_some()
            || self.attrs.require.is_some()
            || self.fields.iter().any(|field| {
                field.attrs.copy.is_some()
                    || field.attrs.default.is_some()
                    || is_named(field.ty, &["ImportedStorage"])
            })
    }

    /// Whether a field or the struct gives that part.
    fn has(&self, role: Role) -> bool {
        self.roles.get(role).is_some() || self.attrs.stated(role).is_some()
    }

    /// The paths in the values on the struct.
    fn listed(&self) -> impl Iterator<Item = &Ident> {
        let stated = self.attrs.stated.iter().flat_map(Stated::values);
        let lens = self.fields.iter().filter_map(|field| Some(&field.attrs.raw_len.as_ref()?.len));
        stated.chain(lens).filter_map(|value| match value {
            Written::Integer(..) | Written::Call(_) | Written::Any(_) => None,
            Written::Path(path) => path.path.get_ident(),
        })
    }

    /// Whether a value on the struct names the field.
    fn is_listed(&self, member: &Member) -> bool {
        let Member::Named(ident) = member else { return false };
        self.listed().any(|word| word.unraw() == ident.unraw())
    }

    /// Whether a value on the struct is an unknown field name: any field may be meant.
    fn lists_an_unknown_name(&self) -> bool {
        self.listed().any(|word| {
            let name = word.unraw().to_string();
            name.starts_with(char::is_lowercase)
                && !self.fields.iter().any(|field| field.is_named(&name))
        })
    }
}
