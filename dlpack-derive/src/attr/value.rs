//! Parses the values after keys. For an invalid value the result is `None`, or
//! the value that was probably meant.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{ExprPath, LitStr, MacroDelimiter, MetaList, Path, Token, Type, WherePredicate};

use super::item::{Item, Value};
use crate::attributes::{self, Unit};
use crate::ctxt::Ctxt;
use crate::dtype_names as names;
use crate::message;

/// The order of `order = ...`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConstOrder {
    RowMajor,
    ColumnMajor,
}

/// The type of `dtype = ...`.
pub(crate) enum ConstDType {
    /// A path of one segment: a constant of `DataType`.
    Named(Ident),
    /// A longer path: any constant.
    Path(Path),
}

/// The path of `crate = path`. A quoted path is an error, but its value is
/// used, so that the rest of the user's code gets no further errors.
pub(crate) fn krate(cx: &Ctxt, item: &Item) -> Option<Path> {
    let (tokens, eq) = item.assigned();
    if let Ok((path, rest)) = path_and_rest(&tokens) {
        expect_end(cx, item, rest);
        // `Self` is not a module, and a `use` declaration cannot begin with it.
        if let Some(place) = path.segments.iter().find(|segment| segment.ident == "Self") {
            let found = TokenTree::Ident(place.ident.clone());
            cx.push(message::expected_path(Some(&found), eq, None));
            return None;
        }
        return Some(path);
    }
    let quoted = syn::parse2::<LitStr>(tokens.clone()).ok();
    let quoted = quoted.and_then(|quoted| quoted.parse_with(Path::parse_mod_style).ok());
    let found = tokens.into_iter().next();
    cx.push(message::expected_path(found.as_ref(), eq, quoted.as_ref()));
    quoted
}

fn path_and_rest(tokens: &TokenStream) -> syn::Result<(Path, TokenStream)> {
    let parser = |input: ParseStream<'_>| {
        let path = input.call(Path::parse_mod_style)?;
        Ok((path, input.parse::<TokenStream>()?))
    };
    parser.parse2(tokens.clone())
}

/// Parses tokens of a list. An error about missing tokens at the end points to
/// the end of the list.
pub(super) fn parse_in<P: Parser>(
    list: &Group,
    tokens: TokenStream,
    parser: P,
) -> syn::Result<P::Output> {
    let delimiter = MacroDelimiter::Paren(Paren { span: list.delim_span() });
    let path = Ident::new(attributes::DLPACK, list.span()).into();
    MetaList { path, delimiter, tokens }.parse_args_with(parser)
}

/// Rejects tokens between a value and the next comma.
pub(super) fn expect_end(cx: &Ctxt, item: &Item, rest: TokenStream) {
    if let Some(token) = rest.into_iter().next() {
        cx.push(message::comma_missing(&item.key, &token));
    }
}

/// The path of a function in `construct = path`.
pub(super) fn function(cx: &Ctxt, item: &Item) -> Option<ExprPath> {
    let (tokens, place) = item.assigned();
    let found = tokens.clone().into_iter().next();
    let path = syn::parse2::<ExprPath>(tokens);
    if path.is_err() {
        cx.push(message::expected_function(&item.key, found.as_ref(), place));
    }
    path.ok()
}

/// The paths in `with = path`, or in `with(path, path)`; none if they could not be parsed.
pub(super) fn functions(cx: &Ctxt, item: &Item) -> Vec<ExprPath> {
    let Value::List(list) = &item.value else {
        return function(cx, item).into_iter().collect();
    };
    let parser = Punctuated::<ExprPath, Token![,]>::parse_terminated;
    match parse_in(list, list.stream(), parser) {
        Ok(paths) if paths.len() == 2 => return paths.into_iter().collect(),
        Ok(_) => cx.push(message::two_functions(&item.key, list.span())),
        Err(error) => cx.push(message::two_functions(&item.key, error.span())),
    }
    Vec::new()
}

/// The names in `skip(id, 2)`: fields, or the indices of a tuple struct.
pub(super) fn field_names(cx: &Ctxt, item: &Item) -> Vec<(String, Span)> {
    let place = item.place();
    let Value::List(list) = &item.value else {
        let found = item.assigned().0.into_iter().next();
        cx.push(message::expected_fields(found.as_ref(), place));
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut tokens = list.stream().into_iter();
    while let Some(token) = tokens.next() {
        let name = match &token {
            TokenTree::Ident(ident) => Some(ident.unraw().to_string()),
            TokenTree::Literal(literal) => Some(literal.to_string())
                .filter(|number| number.chars().all(|digit| digit.is_ascii_digit())),
            _ => None,
        };
        let Some(name) = name else {
            cx.push(message::expected_fields(Some(&token), token.span()));
            return names;
        };
        match tokens.next() {
            None => {}
            Some(TokenTree::Punct(comma)) if comma.as_char() == ',' => {}
            Some(other) => cx.push(message::expected_fields(Some(&other), other.span())),
        }
        names.push((name, token.span()));
    }
    if names.is_empty() {
        cx.push(message::expected_fields(None, place));
    }
    names
}

/// The type of the elements in `slice = f32`, or in `slice(f32)`.
pub(super) fn element(cx: &Ctxt, item: &Item) -> Option<Type> {
    let (tokens, place) = item.assigned_or_listed();
    let found = tokens.clone().into_iter().next();
    let element = syn::parse2::<Type>(tokens);
    if element.is_err() {
        cx.push(message::expected_element(found.as_ref(), place));
    }
    element.ok()
}

/// The order of `order = row_major`.
pub(super) fn order(cx: &Ctxt, item: &Item) -> Option<ConstOrder> {
    let (tokens, eq) = item.assigned();
    let mut tokens = tokens.into_iter();
    let found = tokens.next();
    let order = match &found {
        Some(TokenTree::Ident(word)) if word == attributes::ROW_MAJOR => ConstOrder::RowMajor,
        Some(TokenTree::Ident(word)) if word == attributes::COLUMN_MAJOR => ConstOrder::ColumnMajor,
        other => {
            cx.push(message::expected_order(other.as_ref(), eq));
            return None;
        }
    };
    expect_end(cx, item, tokens.collect());
    Some(order)
}

/// The constant of `dtype = BF16`.
pub(crate) fn dtype(cx: &Ctxt, item: &Item) -> Option<ConstDType> {
    let (tokens, eq) = item.assigned();
    match path_and_rest(&tokens) {
        Ok((path, rest)) if !path.is_ident("self") => {
            expect_end(cx, item, rest);
            const_dtype(cx, path)
        }
        _ => {
            let found = tokens.into_iter().next();
            cx.push(message::expected_dtype(found.as_ref(), eq));
            None
        }
    }
}

/// A constant, by its path. Rejects a name that is not one of `DataType`: the compiler's own error
/// would suggest no other spelling.
pub(super) fn const_dtype(cx: &Ctxt, path: Path) -> Option<ConstDType> {
    let Some(word) = path.get_ident() else { return Some(ConstDType::Path(path)) };
    if names::constant(&word.unraw().to_string()).is_none() {
        cx.push(message::unknown_dtype(word));
        return None;
    }
    Some(ConstDType::Named(word.clone()))
}

/// The predicates of `bound(T: Trait)`.
pub(super) fn bound(cx: &Ctxt, item: &Item) -> Vec<WherePredicate> {
    let Value::List(list) = &item.value else {
        cx.push(message::expected_bounds(item.place()));
        return Vec::new();
    };
    let parser = Punctuated::<WherePredicate, Token![,]>::parse_terminated;
    if let Ok(predicates) = parser.parse2(list.stream()) {
        return predicates.into_iter().collect();
    }
    let first = list.stream().into_iter().next();
    cx.push(message::expected_bounds(first.map_or_else(|| list.span(), |token| token.span())));
    Vec::new()
}

/// The unit in `offset(bytes)`.
pub(super) fn unit(cx: &Ctxt, item: &Item) -> Unit {
    let Value::List(list) = &item.value else {
        cx.push(message::expected_unit(&item.key, None, item.place()));
        return Unit::Elements;
    };
    unit_in(cx, &item.key, list)
}

pub(super) fn unit_in(cx: &Ctxt, key: &Ident, list: &Group) -> Unit {
    let mut tokens = list.stream().into_iter();
    let found = match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(word)), None) => {
            if let Some(unit) = Unit::ALL.into_iter().find(|unit| word == unit.word()) {
                return unit;
            }
            Some(TokenTree::Ident(word))
        }
        (_, Some(second)) => Some(second),
        (first, None) => first,
    };
    cx.push(message::expected_unit(key, found.as_ref(), list.span()));
    Unit::Elements
}
