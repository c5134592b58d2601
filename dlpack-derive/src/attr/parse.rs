//! Reads the items of `#[dlpack(...)]`: keys, and unparsed values.
//!
//! Values are kept as tokens, so that an error in one does not hide the items after it.

use core::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Attribute, Meta};

use super::item::{Item, Value};
use crate::attributes::{self, Role, Units};
use crate::ctxt::Ctxt;
use crate::message;

/// The items of all `#[dlpack(...)]` among these attributes. Checks that are the same for
/// all words are made for the words in `here`; the caller must reject other words.
pub(crate) fn items(cx: &Ctxt, attrs: &[Attribute], here: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(attributes::DLPACK)) {
        match &attr.meta {
            Meta::List(list) => read(cx, list.tokens.clone(), here, &mut items),
            Meta::Path(path) => cx.push(message::attribute_without_list(path)),
            Meta::NameValue(meta) => cx.push(message::attribute_without_list(&meta.path)),
        }
    }
    items
}

/// The items of a list.
pub(crate) fn items_in(cx: &Ctxt, tokens: TokenStream, here: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    read(cx, tokens, here, &mut items);
    items
}

/// Reads all items, continuing after each error.
fn read(cx: &Ctxt, tokens: TokenStream, here: &[&str], items: &mut Vec<Item>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let key = match token {
            TokenTree::Ident(key) => key,
            token => {
                cx.push(message::not_a_key(&token));
                while tokens.next().is_some_and(|token| !is_punct(&token, ',')) {}
                continue;
            }
        };
        let value = match tokens.peek() {
            Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
                let eq = punct.span();
                tokens.next();
                Value::Assigned(up_to_comma(&mut tokens), eq)
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                let list = Value::List(group.clone());
                tokens.next();
                list
            }
            _ => Value::None,
        };
        let mut item = Item { key, value, beside: TokenStream::new() };
        if let Some(eq) = tokens.next_if(|token| is_punct(token, '=')) {
            item.beside = up_to_comma(&mut tokens);
            match &item.value {
                // Above a struct, the list may be the unit of the value.
                Value::List(list)
                    if here.contains(&item.word().as_str())
                        && !(here == attributes::ON_STRUCT && has_unit(&item)) =>
                {
                    cx.push(message::value_after_a_list(&item.key, list, eq.span()));
                }
                _ => {}
            }
        }
        if tokens.next_if(|token| is_punct(token, ',')).is_none() {
            if let Some(token) = tokens.peek() {
                cx.push(message::comma_missing(&item.key, token));
                // A token that cannot be a key would be rejected as one.
                if !matches!(token, TokenTree::Ident(_)) {
                    up_to_comma(&mut tokens);
                    tokens.next();
                }
            }
        }
        items.push(item);
    }
}

/// The tokens before the next comma that is not between `<` and `>`.
pub(super) fn up_to_comma(tokens: &mut Peekable<IntoIter>) -> TokenStream {
    let (mut depth, mut after_minus) = (0_usize, false);
    let next = || {
        let token = tokens.next_if(|token| depth > 0 || !is_punct(token, ','))?;
        if is_punct(&token, '<') {
            depth = depth.saturating_add(1);
        } else if is_punct(&token, '>') && !after_minus {
            depth = depth.saturating_sub(1);
        }
        after_minus = is_punct(&token, '-');
        Some(token)
    };
    core::iter::from_fn(next).collect()
}

fn is_punct(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == punct)
}

fn has_unit(item: &Item) -> bool {
    Role::of_word(&item.word()).is_some_and(|role| role.units() == Units::Required)
}
