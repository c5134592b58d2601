//! One item of `#[dlpack(...)]`: [`Item`], [`Value`].

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;

/// `key`, `key = value` or `key(...)`.
pub(crate) struct Item {
    pub(crate) key: Ident,
    pub(crate) value: Value,
    /// Unexpected tokens between a list and the next comma: `=` and a value.
    pub(crate) beside: TokenStream,
}

/// The tokens after a key.
pub(crate) enum Value {
    /// Nothing.
    None,
    /// `= value`. The tokens may be empty; errors then point to the span of `=`.
    Assigned(TokenStream, Span),
    /// `(...)`.
    List(Group),
}

impl Value {
    /// The span of its first token, if there is one.
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Value::None => None,
            Value::Assigned(tokens, eq) => {
                let first = tokens.clone().into_iter().next();
                Some(first.map_or(*eq, |token| token.span()))
            }
            Value::List(list) => Some(list.span()),
        }
    }
}

impl Item {
    /// The key as a word.
    pub(crate) fn word(&self) -> String {
        self.key.unraw().to_string()
    }

    /// The span of its value, or else of its key.
    pub(crate) fn place(&self) -> Span {
        self.value.span().unwrap_or_else(|| self.key.span())
    }

    /// The tokens after a `=`, and the span for an error if there are none. A list is one token.
    pub(crate) fn assigned(&self) -> (TokenStream, Span) {
        match &self.value {
            Value::None => (TokenStream::new(), self.key.span()),
            Value::Assigned(tokens, eq) => (tokens.clone(), *eq),
            Value::List(list) => (list.to_token_stream(), list.span()),
        }
    }

    /// The same, of a list those in it.
    pub(crate) fn assigned_or_listed(&self) -> (TokenStream, Span) {
        match &self.value {
            Value::List(list) => (list.stream(), list.span()),
            _ => self.assigned(),
        }
    }

    /// The single word after a `=`, which may be the name of a field.
    pub(crate) fn assigned_word(&self) -> Option<Ident> {
        let tokens = match &self.value {
            Value::Assigned(tokens, _) => tokens,
            _ => &self.beside,
        };
        let mut tokens = tokens.clone().into_iter();
        match (tokens.next(), tokens.next()) {
            (Some(TokenTree::Ident(word)), None) => Some(word),
            _ => None,
        }
    }
}
