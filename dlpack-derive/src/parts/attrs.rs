//! The words of `#[dlpack(...)]` on one item, variant or field.

use proc_macro2::{Ident, Span};
use syn::{Attribute, DeriveInput, Path};

use super::{message, symbol};
use crate::attr;
use crate::attr::Item;
use crate::ctxt::Ctxt;

/// The item, variant or field with the attributes.
pub(super) struct Node<'a> {
    /// Its kind, for messages: *struct*, *variant*.
    pub(super) kind: &'static str,
    /// Its name, or that of the item that contains it.
    pub(super) ident: &'a Ident,
    /// The words that are allowed there.
    pub(super) words: &'static [&'static str],
}

/// The words that were given, without duplicates.
pub(super) struct Words {
    items: Vec<Item>,
    /// A word was rejected.
    pub(super) unread: bool,
}

impl Words {
    /// Reads the attributes of a node. Rejects words that are not allowed
    /// there, and duplicates.
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute], node: &Node<'_>) -> Self {
        let before = cx.count();
        let mut words = Self { items: Vec::new(), unread: false };
        for item in attr::items(cx, attrs, node.words) {
            let word = item.word();
            if !node.words.contains(&word.as_str()) {
                cx.push(message::unknown_attribute(&item.key, node.kind, node.words));
            } else if words.get(&word).is_some() {
                cx.push(crate::message::duplicate_attribute(&item.key, &node.ident.to_string()));
            } else {
                words.items.push(item);
            }
        }
        words.unread = cx.count() > before;
        words
    }

    /// A word with a value.
    pub(super) fn get(&self, word: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.word() == word)
    }

    /// A word without a value.
    pub(super) fn flag(&self, cx: &Ctxt, word: &str) -> Option<&Ident> {
        let item = self.get(word)?;
        attr::expect_no_value(cx, item);
        Some(&item.key)
    }

    /// The path of `crate = path`.
    pub(super) fn krate(&self, cx: &Ctxt) -> Option<Path> {
        attr::krate(cx, self.get(symbol::CRATE)?)
    }

    /// Rejects every further word of several that exclude each other.
    pub(super) fn one_of(&self, cx: &Ctxt, words: &[&str]) {
        let mut given = self.items.iter().filter(|item| words.contains(&item.word().as_str()));
        if let Some(first) = given.next() {
            for second in given {
                cx.push(message::contradiction(&second.key, &first.key));
            }
        }
    }
}

/// The words of a `#[repr(...)]`, each with its span.
pub(super) fn reprs(input: &DeriveInput) -> Vec<(String, Span)> {
    let mut words = Vec::new();
    for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("repr")) {
        // rustc reports errors in a `repr`.
        let _ = attr.parse_nested_meta(|meta| {
            if let Some(word) = meta.path.get_ident() {
                words.push((word.to_string(), word.span()));
            }
            if meta.input.peek(syn::token::Paren) {
                let _: proc_macro2::Group = meta.input.parse()?;
            }
            Ok(())
        });
    }
    words
}
