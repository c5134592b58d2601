//! Memory behind a raw pointer: `unsafe(ptr, len(elements) = size)`, or `unsafe(mut ptr, ...)`.

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::token::Paren;
use syn::{Expr, Token};

use super::item::{Item, Value};
use super::value::{parse_in, unit_in};
use super::written::{Written, written};
use crate::attributes::{self, Unit};
use crate::ctxt::Ctxt;
use crate::message;

/// The memory behind a pointer.
pub(crate) struct RawLen {
    /// The span of `unsafe`.
    pub(crate) spelled: Span,
    pub(crate) unit: Unit,
    pub(crate) len: Written,
    /// Whether consumers may write: `unsafe(mut ptr, ...)`.
    pub(crate) writable: bool,
}

/// `unsafe(ptr, len(elements) = 3)`.
pub(super) fn raw(cx: &Ctxt, item: &Item) -> Option<RawLen> {
    let Value::List(list) = &item.value else {
        cx.push(message::expected_pointer(item.place()));
        return None;
    };
    let parser = |input: ParseStream<'_>| raw_len(cx, item, input);
    let parsed = parse_in(list, list.stream(), parser);
    parsed.map_err(|error| cx.push(message::expected_pointer(error.span()))).ok()?
}

/// The content of `unsafe(...)`; `None` after an error that was reported.
fn raw_len(cx: &Ctxt, item: &Item, input: ParseStream<'_>) -> syn::Result<Option<RawLen>> {
    let word = |expected: &str| {
        let word = input.call(Ident::parse_any)?;
        if word == expected { Ok(word) } else { Err(syn::Error::new(word.span(), expected)) }
    };
    let writable = input.parse::<Option<Token![mut]>>()?.is_some();
    word(attributes::PTR)?;
    let comma = input.parse::<Option<Token![,]>>()?;
    if input.is_empty() {
        cx.push(message::pointer_without_length(&item.key));
        return Ok(None);
    }
    if comma.is_none() {
        return Err(input.error("`,`"));
    }
    let key = word(attributes::Role::Len.word())?;
    if !input.peek(Paren) {
        cx.push(message::unit_missing(&key));
        input.parse::<TokenStream>()?;
        return Ok(None);
    }
    let unit = unit_in(cx, &key, &input.parse()?);
    if input.parse::<Token![=]>().is_err() {
        return Err(syn::Error::new(key.span(), "`=`"));
    }
    match input.parse::<Expr>() {
        Ok(len) => {
            let len = written(cx, &key, len);
            let spelled = item.key.span();
            Ok(len.map(|len| RawLen { spelled, unit, len, writable }))
        }
        Err(error) => {
            cx.push(message::expected_dim(&key, error.span()));
            input.parse::<TokenStream>()?;
            Ok(None)
        }
    }
}
