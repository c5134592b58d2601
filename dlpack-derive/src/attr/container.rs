//! The attributes on the struct or enum.

use proc_macro2::{Ident, Span};
use syn::{Attribute, DeriveInput, ExprPath, Path, WherePredicate};

use super::parse;
use super::require::{self, Require};
use super::value::{self, ConstDType, ConstOrder, WrittenDim};
use super::{Once, Spanned, expect_no_value};
use crate::ctxt::Ctxt;
use crate::{message, symbol};

/// The attributes on the struct or enum.
pub(crate) struct StructAttrs {
    krate: Option<Spanned<Path>>,
    pub(crate) shape: Option<Spanned<Vec<WrittenDim>>>,
    pub(crate) order: Option<Spanned<Option<ConstOrder>>>,
    pub(crate) dtype: Option<Spanned<Option<ConstDType>>>,
    pub(crate) padded: Option<Spanned<()>>,
    pub(crate) read_only: Option<Spanned<()>>,
    pub(crate) transparent: Option<Spanned<()>>,
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
        let owner = &input.ident;
        let mut krate = Once::new(cx, owner);
        let mut shape = Once::new(cx, owner);
        let mut order = Once::new(cx, owner);
        let mut dtype = Once::new(cx, owner);
        let mut padded = Once::new(cx, owner);
        let mut read_only = Once::new(cx, owner);
        let mut transparent = Once::new(cx, owner);
        let mut bound = Once::new(cx, owner);
        let mut skip = Once::new(cx, owner);
        let mut require = Once::new(cx, owner);
        let mut construct = Once::new(cx, owner);
        let mut validate = Once::new(cx, owner);
        let before = cx.count();
        let items = parse::items(cx, &input.attrs, &symbol::ON_STRUCT);
        let mut unread = cx.count() > before;
        let mut names_unread = false;
        for item in items {
            match item.word().as_str() {
                symbol::CRATE => {
                    let before = cx.count();
                    if let Some(path) = value::krate(cx, &item) {
                        krate.set(&item.key, path);
                    }
                    unread |= cx.count() > before;
                }
                symbol::SHAPE => {
                    let before = cx.count();
                    shape.set(&item.key, value::dims(cx, &item));
                    names_unread |= cx.count() > before;
                }
                symbol::SKIP => {
                    let before = cx.count();
                    skip.set(&item.key, value::field_names(cx, &item));
                    names_unread |= cx.count() > before;
                }
                symbol::ORDER => order.set(&item.key, value::order(cx, &item)),
                symbol::DTYPE => dtype.set(&item.key, value::dtype(cx, &item)),
                symbol::BOUND => bound.set(&item.key, value::bound(cx, &item)),
                symbol::REQUIRE => require.set(&item.key, require::require(cx, &item)),
                symbol::CONSTRUCT => construct.set(&item.key, value::function(cx, &item)),
                symbol::VALIDATE => validate.set(&item.key, value::function(cx, &item)),
                symbol::PADDED => {
                    expect_no_value(cx, &item);
                    padded.set(&item.key, ());
                }
                symbol::READ_ONLY => {
                    expect_no_value(cx, &item);
                    read_only.set(&item.key, ());
                }
                symbol::TRANSPARENT => {
                    expect_no_value(cx, &item);
                    transparent.set(&item.key, ());
                }
                word => {
                    unread = true;
                    cx.push(if symbol::ON_FIELD.contains(&word) {
                        message::belongs_on_a_field(&item)
                    } else {
                        message::unknown_struct_attribute(&item.key)
                    });
                }
            }
        }
        Self {
            krate: krate.value,
            shape: shape.value,
            order: order.value,
            dtype: dtype.value,
            padded: padded.value,
            read_only: read_only.value,
            transparent: transparent.value,
            bound: bound.value,
            skip: skip.value,
            require: require.value,
            construct: construct.value,
            validate: validate.value,
            packed: packed(&input.attrs),
            unread,
            names_unread,
        }
    }

    /// The path of `dlpack_traits`, if it is not the default.
    pub(crate) fn krate(&self) -> Option<&Path> {
        self.krate.as_ref().map(|krate| &krate.value)
    }

    /// The keys that only apply to a whole tensor.
    pub(crate) fn beside_a_layout(&self) -> impl Iterator<Item = &Ident> {
        let dtype = self.dtype.as_ref().map(|dtype| &dtype.key);
        let transparent = self.transparent.as_ref().map(|transparent| &transparent.key);
        let read_only = self.read_only.as_ref().map(|read_only| &read_only.key);
        let require = self.require.as_ref().map(|require| &require.key);
        let construct = self.construct.as_ref().map(|construct| &construct.key);
        let validate = self.validate.as_ref().map(|validate| &validate.key);
        let keys = [dtype, transparent, read_only, require, construct, validate];
        keys.into_iter().flatten()
    }

    /// The keys that describe the layout of this struct itself.
    pub(crate) fn of_a_tensor(&self) -> impl Iterator<Item = &Ident> {
        let shape = self.shape.as_ref().map(|shape| &shape.key);
        let order = self.order.as_ref().map(|order| &order.key);
        let dtype = self.dtype.as_ref().map(|dtype| &dtype.key);
        let padded = self.padded.as_ref().map(|padded| &padded.key);
        [shape, order, dtype, padded].into_iter().flatten()
    }
}

/// The word `packed` in the `#[repr(...)]` of a struct.
fn packed(attrs: &[Attribute]) -> Option<Span> {
    let mut packed = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("repr")) {
        // rustc reports errors in a `repr`.
        let _ = attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                packed = meta.path.get_ident().map(Ident::span);
            }
            if meta.input.peek(syn::token::Paren) {
                let _: proc_macro2::Group = meta.input.parse()?;
            }
            Ok(())
        });
    }
    packed
}
