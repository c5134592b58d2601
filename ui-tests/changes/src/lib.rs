//! Macros that change an item after a derive read its tokens: the compiler gets
//! another item than the derive. No macro here emits `unsafe`.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};

use proc_macro::{TokenStream, TokenTree};

/// Replaces the item by the tokens in parentheses. A derive above it reads the
/// item as it was.
#[proc_macro_attribute]
pub fn replaced_by(replacement: TokenStream, _: TokenStream) -> TokenStream {
    replacement
}

/// Expands to the type before the semicolon the first time, and from then on to
/// the type behind it.
#[proc_macro]
pub fn once(types: TokenStream) -> TokenStream {
    static EXPANSIONS: AtomicUsize = AtomicUsize::new(0);
    let is_first = EXPANSIONS.fetch_add(1, Ordering::Relaxed) == 0;
    let is_semicolon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ';');
    let mut types = types.into_iter();
    let first = types.by_ref().take_while(|token| !is_semicolon(token)).collect();
    if is_first { first } else { types.collect() }
}
