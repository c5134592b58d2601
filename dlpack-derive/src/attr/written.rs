//! Values of parts of a layout, as they are written: [`Written`], [`Stated`].

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprField, ExprLit, ExprPath, Lit, LitInt, Member, Token, UnOp};

use super::item::{Item, Value};
use super::value::{expect_end, parse_in, unit_in};
use crate::attributes::{self, Role, Unit, Units};
use crate::ctxt::{Ctxt, first_token};
use crate::dtype_names as names;
use crate::message;

/// A value of a part of the layout.
pub(crate) enum Written {
    Integer(i64, Span),
    /// A constant; if it has one segment, it may be a field.
    Path(ExprPath),
    /// Calls of functions and methods, and fields of fields, from `self` or a path on.
    Call(Expr),
    /// `_`: any size, in an import.
    Any(Span),
}

impl Written {
    /// The span of its first token.
    pub(crate) fn span(&self) -> Span {
        match self {
            Written::Integer(_, span) | Written::Any(span) => *span,
            Written::Path(path) => first_token(path),
            Written::Call(call) => first_token(call),
        }
    }
}

/// A part of the layout that an attribute on the struct states.
pub(crate) struct Stated {
    pub(crate) role: Role,
    /// Unused for roles without a unit.
    pub(crate) unit: Unit,
    pub(crate) key: Ident,
    pub(crate) value: StatedValue,
}

/// The value in a [`Stated`].
pub(crate) enum StatedValue {
    /// Numbers: `shape(height, 3)`.
    List(Vec<Written>),
    /// A value: `shape = self.shape()`; `None` if it could not be parsed.
    One(Option<Written>),
}

impl Stated {
    /// The values in it.
    pub(crate) fn values(&self) -> &[Written] {
        match &self.value {
            StatedValue::List(list) => list,
            StatedValue::One(value) => value.as_slice(),
        }
    }
}

/// The part that a word on the struct states.
pub(super) fn stated(cx: &Ctxt, item: &Item, role: Role) -> Stated {
    let (mut unit, key) = (Unit::Elements, item.key.clone());
    if item.word() == attributes::BYTE_STRIDES {
        unit = Unit::Bytes;
    }
    let is_list = matches!(role, Role::Shape | Role::Strides);
    let (tokens, place) = match &item.value {
        Value::List(list) if role.units() == Units::Required && !item.beside.is_empty() => {
            unit = unit_in(cx, &item.key, list);
            (item.beside.clone(), list.span())
        }
        Value::Assigned(tokens, eq) => {
            if role.units() == Units::Required {
                cx.push(message::unit_missing(&item.key));
            }
            (tokens.clone(), *eq)
        }
        Value::List(list) if is_list => {
            let value = StatedValue::List(dims(cx, item, list));
            return Stated { role, unit, key, value };
        }
        value => {
            let (tokens, place) = item.assigned();
            let found = tokens.into_iter().next();
            match (role, value) {
                (Role::Shape | Role::Strides, _) => cx.push(message::list_missing(&item.key)),
                (Role::Order | Role::DType, _) => {
                    refuse(cx, &item.key, role, found.as_ref(), place);
                }
                _ => cx.push(message::belongs_on_a_field(item)),
            }
            return Stated { role, unit, key, value: StatedValue::One(None) };
        }
    };
    let value = StatedValue::One(one(cx, item, role, tokens, place));
    Stated { role, unit, key, value }
}

/// The value of `order = ...`.
fn one(cx: &Ctxt, item: &Item, role: Role, tokens: TokenStream, place: Span) -> Option<Written> {
    let found = tokens.clone().into_iter().next();
    let parser = |input: ParseStream<'_>| Ok((input.parse()?, input.parse::<TokenStream>()?));
    let parsed: syn::Result<(Expr, TokenStream)> = parser.parse2(tokens);
    let is_number = matches!(role, Role::Pitch | Role::Offset | Role::Len | Role::NDim);
    match parsed {
        Ok((value, rest)) if is_number || is_call(&value) => {
            expect_end(cx, item, rest);
            let value = written(cx, &item.key, value)?;
            Some(named(role, value))
        }
        _ => {
            refuse(cx, &item.key, role, found.as_ref(), place);
            None
        }
    }
}

/// Rejects a value of a role that takes no such value.
fn refuse(cx: &Ctxt, key: &Ident, role: Role, found: Option<&TokenTree>, place: Span) {
    cx.push(match role {
        Role::Shape | Role::Strides => message::expected_dims(key, found, place),
        Role::Order => message::expected_order(found, place),
        Role::DType => message::expected_dtype(found, place),
        _ => message::expected_dim(key, found.map_or(place, TokenTree::span)),
    });
}

/// The path of an order or of a constant of `DataType` that is written as a word.
fn named(role: Role, value: Written) -> Written {
    let Written::Path(path) = &value else { return value };
    let Some(word) = path.path.get_ident() else { return value };
    let (ty, name) = match (role, word.to_string().as_str()) {
        (Role::Order, attributes::ROW_MAJOR) => ("Order", "RowMajor"),
        (Role::Order, attributes::COLUMN_MAJOR) => ("Order", "ColumnMajor"),
        (Role::DType, word) => match names::constant(word) {
            Some(name) => ("DataType", name),
            None => return value,
        },
        _ => return value,
    };
    let here = Span::mixed_site();
    let segments = ["__dlpack", ty].map(|name| Ident::new(name, here));
    let name = Ident::new(name, word.span());
    let path = segments.into_iter().chain([name]).map(syn::PathSegment::from).collect();
    let path = syn::Path { leading_colon: None, segments: path };
    Written::Path(ExprPath { attrs: Vec::new(), qself: None, path })
}

/// The numbers of `shape(...)`, `strides(...)` or `byte_strides(...)`.
fn dims(cx: &Ctxt, item: &Item, list: &proc_macro2::Group) -> Vec<Written> {
    let parser = Punctuated::<ListedDim, Token![,]>::parse_terminated;
    match parse_in(list, list.stream(), parser) {
        Ok(dims) => dims.into_iter().filter_map(|dim| listed_dim(cx, &item.key, dim)).collect(),
        Err(error) => {
            cx.push(message::expected_dim(&item.key, error.span()));
            Vec::new()
        }
    }
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

fn listed_dim(cx: &Ctxt, key: &Ident, dim: ListedDim) -> Option<Written> {
    match dim {
        ListedDim::Any(underscore) => Some(Written::Any(underscore.span)),
        ListedDim::Number(number) => written(cx, key, number),
    }
}

/// Parses one value of the attribute `key`.
pub(super) fn written(cx: &Ctxt, key: &Ident, value: Expr) -> Option<Written> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(int) => return integer(cx, key, int, 1),
            other => cx.push(message::expected_dim(key, other.span())),
        },
        Expr::Path(path) if path.attrs.is_empty() && !path.path.is_ident("self") => {
            return Some(Written::Path(path));
        }
        Expr::Group(group) => return written(cx, key, *group.expr),
        Expr::Unary(negative) if matches!(negative.op, UnOp::Neg(_)) => {
            if key == attributes::SHAPE {
                cx.push(message::negative_dim(first_token(&negative.expr)));
                return None;
            }
            match literal(&negative.expr) {
                Some(int) if is_strides(key) => return integer(cx, key, int, -1),
                _ => cx.push(message::expected_dim(key, first_token(&negative))),
            }
        }
        // `self.width` is the field `width`.
        Expr::Field(ExprField { member: Member::Named(name), base, .. }) if matches!(&*base, Expr::Path(base) if base.path.is_ident("self")) =>
        {
            let path = name.into();
            return Some(Written::Path(ExprPath { attrs: Vec::new(), qself: None, path }));
        }
        Expr::Path(_) => cx.push(message::expected_dim(key, first_token(&value))),
        call if is_call(&call) => return Some(Written::Call(call)),
        other => cx.push(message::expected_dim(key, first_token(&other))),
    }
    None
}

fn is_strides(key: &Ident) -> bool {
    key == attributes::STRIDES || key == attributes::BYTE_STRIDES
}

/// An integer, also in the argument of a macro.
fn literal(expr: &Expr) -> Option<&LitInt> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => Some(int),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

fn integer(cx: &Ctxt, key: &Ident, int: &LitInt, sign: i128) -> Option<Written> {
    let value = int.base10_parse::<i128>().ok().and_then(|value| value.checked_mul(sign));
    let value = value.and_then(|value| value.try_into().ok());
    if value.is_none() {
        cx.push(message::dim_too_large(key, int));
    }
    Some(Written::Integer(value?, int.span()))
}

/// Whether an expression consists of calls and fields, from `self` or a path on. Operators are not
/// part of it: they can overflow.
fn is_call(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => call.attrs.is_empty() && is_call(&call.receiver),
        Expr::Call(call) => call.attrs.is_empty() && matches!(&*call.func, Expr::Path(_)),
        Expr::Field(field) => field.attrs.is_empty() && is_call(&field.base),
        Expr::Index(index) => index.attrs.is_empty() && is_call(&index.expr),
        Expr::Reference(borrow) => borrow.attrs.is_empty() && is_call(&borrow.expr),
        Expr::Group(group) => is_call(&group.expr),
        Expr::Path(path) => path.attrs.is_empty(),
        _ => false,
    }
}
