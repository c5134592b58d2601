//! One item of `#[dlpack(...)]`: [`Item`], [`Value`].

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
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
