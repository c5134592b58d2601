//! The attributes on the struct or enum.

use proc_macro2::{Ident, Span};
use syn::{DeriveInput, ExprPath, Path, WherePredicate};

use super::require::{self, Require};
use super::value;
use super::words::{self, Node, packed};
use super::written::{self, Stated};
use super::{Item, Spanned, flag};
use crate::attributes::Role;
use crate::ctxt::Ctxt;
use crate::{attributes, message};

/// The attributes on the struct or enum.
#[derive(Default)]
pub(crate) struct StructAttrs {
    /// The path of `dlpack_traits`, if it is not the default.
    pub(crate) krate: Option<Path>,
    /// The parts of the layout that are stated here, one for each role.
    pub(crate) stated: Vec<Stated>,
    pub(crate) padded: Option<Ident>,
    pub(crate) spare_capacity: Option<Ident>,
    pub(crate) read_only: Option<Ident>,
    pub(crate) transparent: Option<Ident>,
    pub(crate) bound: Option<Spanned<Vec<WherePredicate>>>,
    /// The names of skipped fields, each with its span.
    pub(crate) skip: Option<Spanned<Vec<(String, Span)>>>,
    /// This and the next two are for imports.
    pub(crate) require: Option<Spanned<Require>>,
    pub(crate) construct: Option<Spanned<Option<ExprPath>>>,
    pub(crate) validate: Option<Spanned<Option<ExprPath>>>,
    /// The word `packed` in `#[repr(...)]`.
    pub(crate) packed: Option<Span>,
    /// An attribute could not be parsed. It may have been meant as a role.
    pub(crate) unread: bool,
    /// A name in a list of fields could not be parsed: it may be that of any
    /// field.
    pub(crate) names_unread: bool,
}

impl StructAttrs {
    pub(crate) fn from_syn(cx: &Ctxt, input: &DeriveInput) -> Self {
        let unknown = |item: &Item| {
            if attributes::ON_FIELD.contains(&item.word().as_str()) {
                message::belongs_on_a_field(item)
            } else {
                message::unknown_struct_attribute(&item.key)
            }
        };
        let node = Node { name: &input.ident, words: &attributes::ON_STRUCT, unknown: &unknown };
        let mut attrs = Self { packed: packed(input), ..Self::default() };
        let mut krate_unread = false;
        let unread = words::for_each(cx, &input.attrs, &node, |item| {
            let before = cx.count();
            let word = item.word();
            let role = if word == attributes::BYTE_STRIDES {
                Some(Role::Strides)
            } else {
                Role::of_word(&word)
            };
            if let Some(role) = role {
                let stated = written::stated(cx, &item, role);
                attrs.names_unread |= cx.count() > before;
                match attrs.stated(role) {
                    Some(first) => cx.push(message::contradiction(&stated.key, &first.key)),
                    None => attrs.stated.push(stated),
                }
                return;
            }
            match word.as_str() {
                attributes::CRATE => {
                    attrs.krate = value::krate(cx, &item);
                    krate_unread = cx.count() > before;
                }
                attributes::SKIP => {
                    attrs.skip = Some(item.spanned(value::field_names(cx, &item)));
                    attrs.names_unread |= cx.count() > before;
                }
                attributes::BOUND => attrs.bound = Some(item.spanned(value::bound(cx, &item))),
                attributes::REQUIRE => {
                    attrs.require = Some(item.spanned(require::require(cx, &item)));
                }
                attributes::CONSTRUCT => {
                    attrs.construct = Some(item.spanned(value::function(cx, &item)));
                }
                attributes::VALIDATE => {
                    attrs.validate = Some(item.spanned(value::function(cx, &item)));
                }
                attributes::PADDED => attrs.padded = Some(flag(cx, &item)),
                attributes::SPARE_CAPACITY => attrs.spare_capacity = Some(flag(cx, &item)),
                attributes::READ_ONLY => attrs.read_only = Some(flag(cx, &item)),
                _ => attrs.transparent = Some(flag(cx, &item)),
            }
        });
        attrs.unread = unread || krate_unread;
        attrs
    }

    /// The part of the layout with that role, if it is stated here.
    pub(crate) fn stated(&self, role: Role) -> Option<&Stated> {
        self.stated.iter().find(|stated| stated.role == role)
    }

    /// The keys that only apply to a whole tensor.
    pub(crate) fn beside_a_layout(&self) -> impl Iterator<Item = &Ident> {
        let of_tensor = [Role::DType, Role::Device].map(|role| self.stated(role));
        let require = self.require.as_ref().map(|require| &require.key);
        let construct = self.construct.as_ref().map(|construct| &construct.key);
        let validate = self.validate.as_ref().map(|validate| &validate.key);
        let (transparent, read_only) = (self.transparent.as_ref(), self.read_only.as_ref());
        let keys = [transparent, read_only, require, construct, validate];
        of_tensor.into_iter().flatten().map(|stated| &stated.key).chain(keys.into_iter().flatten())
    }

    /// The keys that describe the layout of this struct itself.
    pub(crate) fn of_a_tensor(&self) -> impl Iterator<Item = &Ident> {
        let flags = [self.padded.as_ref(), self.spare_capacity.as_ref()];
        self.stated.iter().map(|stated| &stated.key).chain(flags.into_iter().flatten())
    }
}
