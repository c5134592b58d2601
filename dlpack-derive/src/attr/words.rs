//! Reads the words of `#[dlpack(...)]` on one struct, variant or field: [`for_each`],
//! [`Words`].

use proc_macro2::{Ident, Span};
use syn::{Attribute, DeriveInput, Error, Path};

use super::{Item, expect_no_value, krate, parse};
use crate::ctxt::Ctxt;
use crate::{attributes, message};

/// The struct, variant or field with the attributes.
pub(super) struct Node<'a> {
    /// Its name, or that of the item that contains it.
    pub(super) name: &'a dyn ToString,
    /// The words that are allowed there.
    pub(super) words: &'a [&'static str],
    /// Makes the error for any other word.
    pub(super) unknown: &'a dyn Fn(&Item) -> Error,
}

/// Calls a function with each item. Rejects words that are not allowed there, and
/// duplicates. Returns whether there was an item that could not be read: it may have been
/// meant as any word.
pub(super) fn for_each(
    cx: &Ctxt,
    attrs: &[Attribute],
    node: &Node<'_>,
    each: impl FnMut(Item),
) -> bool {
    let before = cx.count();
    let items = parse::items(cx, attrs, node.words);
    let unparsed = cx.count() > before;
    distinct(cx, items, node, each) || unparsed
}

/// [`for_each`], of items that were parsed.
pub(super) fn distinct(
    cx: &Ctxt,
    items: Vec<Item>,
    node: &Node<'_>,
    mut each: impl FnMut(Item),
) -> bool {
    let mut unread = false;
    let mut given = Vec::new();
    for item in items {
        let word = item.word();
        if !node.words.contains(&word.as_str()) {
            unread = true;
            cx.push((node.unknown)(&item));
        } else if given.contains(&word) {
            cx.push(message::duplicate_attribute(&item.key, &node.name.to_string()));
        } else {
            given.push(word);
            each(item);
        }
    }
    unread
}

/// The words that were given, in their order.
pub(crate) struct Words {
    items: Vec<Item>,
    /// An item could not be read.
    pub(crate) unread: bool,
}

impl Words {
    /// Reads the attributes of a node.
    pub(super) fn read(cx: &Ctxt, attrs: &[Attribute], node: &Node<'_>) -> Self {
        let mut items = Vec::new();
        let unread = for_each(cx, attrs, node, |item| items.push(item));
        Self { items, unread }
    }

    /// Reads the attributes of a node that belongs to a part of a tensor. `kind` describes it
    /// in errors: *element*, *variant*.
    pub(crate) fn of_part(
        cx: &Ctxt,
        attrs: &[Attribute],
        (kind, name): (&str, &Ident),
        words: &[&'static str],
    ) -> Self {
        let unknown = |item: &Item| message::unknown_attribute(&item.key, kind, words);
        Self::read(cx, attrs, &Node { name, words, unknown: &unknown })
    }

    /// A word with a value.
    pub(crate) fn get(&self, word: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.word() == word)
    }

    /// A word without a value.
    pub(crate) fn flag(&self, cx: &Ctxt, word: &str) -> Option<&Ident> {
        let item = self.get(word)?;
        expect_no_value(cx, item);
        Some(&item.key)
    }

    /// The path of `crate = path`.
    pub(crate) fn krate(&self, cx: &Ctxt) -> Option<Path> {
        krate(cx, self.get(attributes::CRATE)?)
    }

    /// Rejects every further word of several that exclude each other.
    pub(crate) fn one_of(&self, cx: &Ctxt, words: &[&str]) {
        let mut given = self.items.iter().filter(|item| words.contains(&item.word().as_str()));
        if let Some(first) = given.next() {
            for second in given {
                cx.push(message::contradiction(&second.key, &first.key));
            }
        }
    }
}

/// The words of a `#[repr(...)]`, each with its span.
pub(crate) fn reprs(input: &DeriveInput) -> Vec<(String, Span)> {
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

/// The word `packed` in the `#[repr(...)]` of an item.
pub(crate) fn packed(input: &DeriveInput) -> Option<Span> {
    reprs(input).into_iter().find(|(word, _)| word == "packed").map(|(_, packed)| packed)
}
