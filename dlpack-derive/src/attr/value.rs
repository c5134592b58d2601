//! Parses the values after keys. For an invalid value the result is `None`, or
//! the value that was probably meant.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{
    Expr, ExprField, ExprLit, ExprPath, Lit, LitInt, LitStr, MacroDelimiter, Member, MetaList,
    Path, Token, Type, UnOp, WherePredicate,
};

use super::item::{Item, Value};
use crate::ctxt::Ctxt;
use crate::dtype_names as names;
use crate::message;
use crate::symbol::{self, Unit};

/// A number in a list, as written.
pub(crate) enum WrittenDim {
    Integer(i64, Span),
    /// A constant; if it has one segment, it may be a field.
    Path(ExprPath),
    /// Calls of methods of the struct or of its fields, and fields of fields, from `self` on.
    Method(Expr),
    /// `_`: any size, in an import.
    Any(Span),
}

impl WrittenDim {
    /// The span of its first token.
    pub(crate) fn span(&self) -> Span {
        match self {
            WrittenDim::Integer(_, span) | WrittenDim::Any(span) => *span,
            WrittenDim::Path(path) => first(path),
            WrittenDim::Method(call) => first(call),
        }
    }
}

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

/// The length of the memory behind a pointer.
pub(crate) struct RawLen {
    /// The span of `unsafe`.
    pub(crate) spelled: Span,
    pub(crate) unit: Unit,
    pub(crate) len: WrittenDim,
}

/// The path of `crate = path`. A quoted path is an error, but its value is
/// used, so that the rest of the user's code gets no further errors.
pub(crate) fn krate(cx: &Ctxt, item: &Item) -> Option<Path> {
    let Value::Assigned(tokens, eq) = &item.value else {
        let place = item.value.span().unwrap_or_else(|| item.key.span());
        cx.push(message::expected_path(None, place, None));
        return None;
    };
    if let Ok((path, rest)) = path_and_rest(tokens) {
        expect_end(cx, item, rest);
        // `Self` is not a module, and a `use` declaration cannot begin with it.
        if let Some(place) = path.segments.iter().find(|segment| segment.ident == "Self") {
            let found = TokenTree::Ident(place.ident.clone());
            cx.push(message::expected_path(Some(&found), *eq, None));
            return None;
        }
        return Some(path);
    }
    let quoted = syn::parse2::<LitStr>(tokens.clone()).ok();
    let quoted = quoted.and_then(|quoted| quoted.parse_with(Path::parse_mod_style).ok());
    let found = tokens.clone().into_iter().next();
    cx.push(message::expected_path(found.as_ref(), *eq, quoted.as_ref()));
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
fn parse_in<P: Parser>(list: &Group, tokens: TokenStream, parser: P) -> syn::Result<P::Output> {
    let delimiter = MacroDelimiter::Paren(Paren { span: list.delim_span() });
    let path = Ident::new(symbol::DLPACK, list.span()).into();
    MetaList { path, delimiter, tokens }.parse_args_with(parser)
}

/// Rejects tokens between a value and the next comma.
fn expect_end(cx: &Ctxt, item: &Item, rest: TokenStream) {
    if let Some(token) = rest.into_iter().next() {
        cx.push(message::comma_missing(&item.key, &token));
    }
}

/// The path of a function in `construct = path`.
pub(super) fn function(cx: &Ctxt, item: &Item) -> Option<ExprPath> {
    let (tokens, place) = match &item.value {
        Value::Assigned(tokens, eq) => (tokens.clone(), *eq),
        Value::List(list) => (list.to_token_stream(), list.span()),
        Value::None => (TokenStream::new(), item.key.span()),
    };
    let found = tokens.clone().into_iter().next();
    let path = syn::parse2::<ExprPath>(tokens);
    if path.is_err() {
        cx.push(message::expected_function(&item.key, found.as_ref(), place));
    }
    path.ok()
}

/// The numbers of `shape(...)`, `strides(...)` or `byte_strides(...)`.
pub(super) fn dims(cx: &Ctxt, item: &Item) -> Vec<WrittenDim> {
    let list = match &item.value {
        Value::List(list) => list,
        Value::Assigned(tokens, eq) => {
            let found = tokens.clone().into_iter().next();
            cx.push(message::expected_dims(&item.key, found.as_ref(), *eq));
            return Vec::new();
        }
        Value::None => {
            cx.push(message::list_missing(&item.key));
            return Vec::new();
        }
    };
    let parser = Punctuated::<ListedDim, Token![,]>::parse_terminated;
    match parse_in(list, list.stream(), parser) {
        Ok(dims) => dims.iter().filter_map(|dim| listed_dim(cx, &item.key, dim)).collect(),
        Err(error) => {
            cx.push(message::expected_dim(&item.key, error.span()));
            Vec::new()
        }
    }
}

/// The names in `skip(id, 2)`: fields, or the indices of a tuple struct.
pub(super) fn field_names(cx: &Ctxt, item: &Item) -> Vec<(String, Span)> {
    let place = item.value.span().unwrap_or_else(|| item.key.span());
    let list = match &item.value {
        Value::List(list) => list,
        Value::Assigned(tokens, _) => {
            let found = tokens.clone().into_iter().next();
            cx.push(message::expected_fields(found.as_ref(), place));
            return Vec::new();
        }
        Value::None => {
            cx.push(message::expected_fields(None, place));
            return Vec::new();
        }
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

/// An entry of `shape(...)`.
enum ListedDim {
    Any(Token![_]),
    Number(Expr),
}

impl Parse for ListedDim {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // `syn` parses it as an expression only with its feature `full`.
        if input.peek(Token![_]) {
            input.parse().map(Self::Any)
        } else {
            input.parse().map(Self::Number)
        }
    }
}

fn listed_dim(cx: &Ctxt, key: &Ident, dim: &ListedDim) -> Option<WrittenDim> {
    match dim {
        ListedDim::Any(underscore) => Some(WrittenDim::Any(underscore.span)),
        ListedDim::Number(number) => written_dim(cx, key, number),
    }
}

/// Parses one number of the attribute `key`.
fn written_dim(cx: &Ctxt, key: &Ident, dim: &Expr) -> Option<WrittenDim> {
    match dim {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(int) => return integer(cx, key, int, 1),
            other => cx.push(message::expected_dim(key, other.span())),
        },
        Expr::Path(path) if path.attrs.is_empty() => return Some(WrittenDim::Path(path.clone())),
        Expr::Group(group) => return written_dim(cx, key, &group.expr),
        Expr::Unary(negative) if matches!(negative.op, UnOp::Neg(_)) => {
            if key != symbol::STRIDES && key != symbol::BYTE_STRIDES {
                cx.push(message::negative_dim(first(&negative.expr)));
                return None;
            }
            match literal(&negative.expr) {
                Some(int) => return integer(cx, key, int, -1),
                None => cx.push(message::expected_dim(key, first(negative))),
            }
        }
        // `self.width` is the field `width`.
        Expr::Field(ExprField { member: Member::Named(name), base, .. }) if matches!(&**base, Expr::Path(base) if base.path.is_ident("self")) =>
        {
            let path = name.clone().into();
            return Some(WrittenDim::Path(ExprPath { attrs: Vec::new(), qself: None, path }));
        }
        computed @ (Expr::MethodCall(_) | Expr::Field(_)) if is_of_self(computed) => {
            return Some(WrittenDim::Method(computed.clone()));
        }
        other => cx.push(message::expected_dim(key, first(other))),
    }
    None
}

/// An integer, also in the argument of a macro.
fn literal(expr: &Expr) -> Option<&LitInt> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => Some(int),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

fn integer(cx: &Ctxt, key: &Ident, int: &LitInt, sign: i128) -> Option<WrittenDim> {
    let value = int.base10_parse::<i128>().ok().and_then(|value| value.checked_mul(sign));
    let value = value.and_then(|value| value.try_into().ok());
    if value.is_none() {
        cx.push(message::dim_too_large(key, int));
    }
    Some(WrittenDim::Integer(value?, int.span()))
}

/// Whether an expression consists of fields and calls of methods, from `self` on.
fn is_of_self(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => call.attrs.is_empty() && is_of_self(&call.receiver),
        Expr::Field(field) => field.attrs.is_empty() && is_of_self(&field.base),
        Expr::Path(path) => path.path.is_ident("self"),
        _ => false,
    }
}

/// The type of the elements in `slice = f32`, or in `slice(f32)`.
pub(super) fn element(cx: &Ctxt, item: &Item) -> Option<Type> {
    let (tokens, place) = match &item.value {
        Value::Assigned(tokens, eq) => (tokens.clone(), *eq),
        Value::List(list) => (list.stream(), list.span()),
        Value::None => (TokenStream::new(), item.key.span()),
    };
    let found = tokens.clone().into_iter().next();
    let element = syn::parse2::<Type>(tokens);
    if element.is_err() {
        cx.push(message::expected_element(found.as_ref(), place));
    }
    element.ok()
}

/// The first token of an expression: not every compiler underlines the whole
/// expression.
fn first(expr: &impl ToTokens) -> Span {
    let first = expr.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}

/// The order of `order = row_major`.
pub(super) fn order(cx: &Ctxt, item: &Item) -> Option<ConstOrder> {
    let (tokens, eq) = match &item.value {
        Value::Assigned(tokens, eq) => (tokens.clone(), *eq),
        Value::List(list) => {
            cx.push(message::expected_order(Some(&list.clone().into()), list.span()));
            return None;
        }
        Value::None => {
            cx.push(message::expected_order(None, item.key.span()));
            return None;
        }
    };
    let mut tokens = tokens.into_iter();
    let found = tokens.next();
    let order = match &found {
        Some(TokenTree::Ident(word)) if word == symbol::ROW_MAJOR => ConstOrder::RowMajor,
        Some(TokenTree::Ident(word)) if word == symbol::COLUMN_MAJOR => ConstOrder::ColumnMajor,
        other => {
            cx.push(message::expected_order(other.as_ref(), eq));
            return None;
        }
    };
    expect_end(cx, item, tokens.collect());
    Some(order)
}

/// The constant of `dtype = BF16`.
pub(super) fn dtype(cx: &Ctxt, item: &Item) -> Option<ConstDType> {
    let (tokens, eq) = match &item.value {
        Value::Assigned(tokens, eq) => (tokens, eq),
        Value::List(list) => {
            cx.push(message::expected_dtype(Some(&list.clone().into()), list.span(), None));
            return None;
        }
        Value::None => {
            cx.push(message::expected_dtype(None, item.key.span(), None));
            return None;
        }
    };
    let Ok((path, rest)) = path_and_rest(tokens) else {
        let found = tokens.clone().into_iter().next();
        let meant = names::quoted(found.as_ref());
        cx.push(message::expected_dtype(found.as_ref(), *eq, meant));
        return None;
    };
    expect_end(cx, item, rest);
    Some(match path.get_ident() {
        Some(ident) => ConstDType::Named(ident.clone()),
        None => ConstDType::Path(path),
    })
}

/// The predicates of `bound(T: Trait)`.
pub(super) fn bound(cx: &Ctxt, item: &Item) -> Vec<WherePredicate> {
    let Value::List(list) = &item.value else {
        let place = item.value.span().unwrap_or_else(|| item.key.span());
        cx.push(message::expected_bounds(place));
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
    let list = match &item.value {
        Value::List(list) => list,
        other => {
            let place = other.span().unwrap_or_else(|| item.key.span());
            cx.push(message::expected_unit(&item.key, None, place));
            return Unit::Elements;
        }
    };
    unit_in(cx, &item.key, list)
}

fn unit_in(cx: &Ctxt, key: &Ident, list: &Group) -> Unit {
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

/// `unsafe(ptr, len(elements) = 3)`.
pub(super) fn raw(cx: &Ctxt, item: &Item) -> Option<RawLen> {
    let Value::List(list) = &item.value else {
        let place = item.value.span().unwrap_or_else(|| item.key.span());
        cx.push(message::expected_pointer(place));
        return None;
    };
    let mut tokens = list.stream().into_iter();
    match tokens.next() {
        Some(TokenTree::Ident(word)) if word == symbol::PTR => {}
        other => {
            let place = other.map_or_else(|| list.span(), |token| token.span());
            cx.push(message::expected_pointer(place));
            return None;
        }
    }
    let comma = tokens.next();
    let key = tokens.next();
    let key = match (comma, key) {
        (Some(TokenTree::Punct(comma)), Some(TokenTree::Ident(key)))
            if comma.as_char() == ',' && key == symbol::Role::Len.word() =>
        {
            key
        }
        (None | Some(TokenTree::Punct(_)), None) => {
            cx.push(message::pointer_without_length(&item.key));
            return None;
        }
        (Some(place), None) | (_, Some(place)) => {
            cx.push(message::expected_pointer(place.span()));
            return None;
        }
    };
    let mut next = tokens.next();
    let unit = match &next {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            let unit = unit_in(cx, &key, group);
            next = tokens.next();
            unit
        }
        _ => {
            cx.push(message::unit_missing(&key));
            return None;
        }
    };
    match next {
        Some(TokenTree::Punct(eq)) if eq.as_char() == '=' => {}
        other => {
            cx.push(message::expected_pointer(other.map_or(key.span(), |token| token.span())));
            return None;
        }
    }
    match parse_in(list, tokens.collect(), Expr::parse) {
        Ok(len) => {
            Some(RawLen { spelled: item.key.span(), unit, len: written_dim(cx, &key, &len)? })
        }
        Err(error) => {
            cx.push(message::expected_dim(&key, error.span()));
            None
        }
    }
}
