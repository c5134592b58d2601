//! The error messages of the derive, one function for each error.
//! `docs/ERRORS.md` defines the style; `ui-tests` contains each message in
//! context. Messages about types, which the macro cannot see, are attributes and assertions
//! in `dlpack_traits::__private`.

mod attribute;
mod import;
mod item;
mod parts;
mod role;
mod value;

pub(crate) use attribute::*;
pub(crate) use import::*;
pub(crate) use item::*;
pub(crate) use parts::*;
pub(crate) use role::*;
pub(crate) use value::*;

use proc_macro2::{Delimiter, Ident, Span, TokenTree};
use quote::ToTokens as _;
use syn::{Error, Lit, Type};

/// An error with a help text.
pub(crate) fn refusal(span: Span, sentence: impl AsRef<str>, help: impl AsRef<str>) -> Error {
    Error::new(span, format!("{}\n= help: {}", sentence.as_ref(), help.as_ref()))
}

/// An error about an attribute that has no effect.
fn useless(key: &Ident, sentence: impl AsRef<str>) -> Error {
    refusal(key.span(), sentence, format!("remove `{key}`"))
}

/// An error about a token, or about the place where one is missing.
fn expected(what: &str, found: Option<&TokenTree>, place: Span, help: impl AsRef<str>) -> Error {
    let sentence = format!("expected {what}, found {}", describe(found));
    refusal(found.map_or(place, TokenTree::span), sentence, help)
}

/// Describes a token in words.
pub(crate) fn describe(found: Option<&TokenTree>) -> String {
    let words = match found {
        None => "nothing",
        Some(TokenTree::Ident(ident)) => return format!("`{ident}`"),
        Some(TokenTree::Punct(punct)) => return format!("`{}`", punct.as_char()),
        Some(TokenTree::Group(group)) => match group.delimiter() {
            Delimiter::Parenthesis => "a list in parentheses",
            Delimiter::Brace => "a block",
            Delimiter::Bracket => "a list in brackets",
            Delimiter::None => return describe(group.stream().into_iter().next().as_ref()),
        },
        Some(TokenTree::Literal(literal)) => match Lit::new(literal.clone()) {
            Lit::Str(_) => "a string literal",
            Lit::Int(_) => "an integer literal",
            Lit::Float(_) => "a float literal",
            _ => "a literal",
        },
    };
    words.to_owned()
}

/// A list of words, each in backticks.
pub(crate) fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// A type in the usual formatting.
pub(crate) fn written(ty: &Type) -> String {
    let mut text = String::new();
    for token in ty.to_token_stream() {
        let token = token.to_string();
        if token.starts_with(char::is_alphanumeric) && text.ends_with(char::is_alphanumeric) {
            text.push(' ');
        }
        text.push_str(&token);
    }
    text
}

/// A number with a noun.
fn counted(count: usize, thing: &str) -> String {
    match count {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    }
}
