//! The attributes of one struct or one field.
//!
//! What takes a look at more than one of them is in `check`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, Expr, Field, Lit, LitStr, Path, Token, UnOp};

use crate::ctxt::Ctxt;
use crate::message;
use crate::meta::{self, Item, Value};
use crate::model::ConstDim;
use crate::symbol::{self, Role};

/// A value and where it was asked for.
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) key: Ident,
}

/// What is given at most once.
struct Once<'c, T> {
    cx: &'c Ctxt,
    owner: &'c Ident,
    value: Option<Spanned<T>>,
}

impl<'c, T> Once<'c, T> {
    fn new(cx: &'c Ctxt, owner: &'c Ident) -> Self {
        Self { cx, owner, value: None }
    }

    /// Takes the first value, and complains about each other one.
    fn set(&mut self, key: &Ident, value: T) {
        if self.value.is_some() {
            self.cx.push(message::duplicate_attribute(key, self.owner));
        } else {
            self.value = Some(Spanned { value, key: key.clone() });
        }
    }
}

/// What stands on the struct.
pub(crate) struct StructAttrs {
    krate: Option<Spanned<Path>>,
    pub(crate) shape: Option<Spanned<Vec<ConstDim>>>,
    pub(crate) read_only: bool,
    /// The word `packed` in `#[repr(...)]`.
    pub(crate) packed: Option<Span>,
    /// Something was not understood. It may have been meant as a role.
    pub(crate) unread: bool,
}

impl StructAttrs {
    pub(crate) fn from_syn(cx: &Ctxt, input: &DeriveInput) -> Self {
        let mut krate = Once::new(cx, &input.ident);
        let mut shape = Once::new(cx, &input.ident);
        let mut read_only = Once::new(cx, &input.ident);
        let before = cx.count();
        let items = meta::items(cx, &input.attrs);
        let mut unread = cx.count() > before;
        for item in items {
            match item.word().as_str() {
                symbol::CRATE => {
                    let before = cx.count();
                    if let Some(path) = parse_crate(cx, &item) {
                        krate.set(&item.key, path);
                    }
                    unread |= cx.count() > before;
                }
                symbol::SHAPE => shape.set(&item.key, parse_shape(cx, &item)),
                symbol::READ_ONLY => {
                    expect_no_value(cx, &item);
                    read_only.set(&item.key, ());
                }
                word => {
                    unread = true;
                    cx.push(if symbol::ON_FIELD.contains(&word) {
                        message::belongs_on_a_field(&item.key)
                    } else {
                        message::unknown_struct_attribute(&item.key)
                    });
                }
            }
        }
        Self {
            krate: krate.value,
            shape: shape.value,
            read_only: read_only.value.is_some(),
            packed: packed(&input.attrs),
            unread,
        }
    }

    /// Where the runtime is, if not in its usual place.
    pub(crate) fn krate(&self) -> Option<&Path> {
        self.krate.as_ref().map(|krate| &krate.value)
    }
}

/// What stands on a field.
pub(crate) struct FieldAttrs {
    /// As they were written; `check` sees to it that there is one at most.
    pub(crate) roles: Vec<Spanned<Role>>,
    pub(crate) skip: Option<Ident>,
    /// Something was not understood. It may have been meant as a role.
    pub(crate) unread: bool,
}

impl FieldAttrs {
    pub(crate) fn from_syn(cx: &Ctxt, field: &Field, ident: &Ident, owner: &Ident) -> Self {
        let mut roles = Vec::new();
        let mut skip = Once::new(cx, ident);
        let before = cx.count();
        let items = meta::items(cx, &field.attrs);
        let mut unread = cx.count() > before;
        for item in items {
            let word = item.word();
            if let Some(role) = Role::named(&word) {
                if role == Role::Shape {
                    expect_no_dims(cx, &item, owner);
                } else {
                    expect_no_value(cx, &item);
                }
                roles.push(Spanned { value: role, key: item.key });
            } else if word == symbol::SKIP {
                expect_no_value(cx, &item);
                skip.set(&item.key, ());
            } else {
                unread = true;
                cx.push(if symbol::ON_STRUCT.contains(&word.as_str()) {
                    message::belongs_on_the_struct(&item.key, owner)
                } else {
                    message::unknown_field_attribute(&item.key)
                });
            }
        }
        Self { roles, skip: skip.value.map(|skip| skip.key), unread }
    }
}

/// Refuses a value after a key that takes none.
fn expect_no_value(cx: &Ctxt, item: &Item) {
    if let Some(value) = item.value.span() {
        cx.push(message::takes_no_value(&item.key, value));
    }
}

/// Refuses a constant shape on a field.
fn expect_no_dims(cx: &Ctxt, item: &Item, owner: &Ident) {
    if let Some(value) = item.value.span() {
        cx.push(message::constant_shape_on_a_field(value, owner));
    }
}

/// The path of `crate = path`. A path in quotes is a mistake, but we know what
/// is meant, so that the rest of the user's code need not suffer for it.
fn parse_crate(cx: &Ctxt, item: &Item) -> Option<Path> {
    let Value::Assigned(tokens, eq) = &item.value else {
        let place = item.value.span().unwrap_or_else(|| item.key.span());
        cx.push(message::expected_path(None, place, None));
        return None;
    };
    let path_and_rest = |input: ParseStream<'_>| {
        let path = input.call(Path::parse_mod_style)?;
        Ok((path, input.parse::<TokenStream>()?))
    };
    if let Ok((path, rest)) = path_and_rest.parse2(tokens.clone()) {
        expect_end(cx, item, rest);
        return Some(path);
    }
    let quoted = syn::parse2::<LitStr>(tokens.clone()).ok();
    let quoted = quoted.and_then(|quoted| quoted.parse_with(Path::parse_mod_style).ok());
    let found = tokens.clone().into_iter().next();
    cx.push(message::expected_path(found.as_ref(), *eq, quoted.as_ref()));
    quoted
}

/// The dimensions of `shape = [...]`; of a wrong one, nothing.
fn parse_shape(cx: &Ctxt, item: &Item) -> Vec<ConstDim> {
    let (tokens, eq) = match &item.value {
        Value::Assigned(tokens, eq) => (tokens.clone(), *eq),
        Value::List(list) => {
            cx.push(message::expected_dims_after_equals(list.span()));
            return Vec::new();
        }
        Value::None => {
            cx.push(message::shape_of_struct_without_dims(&item.key));
            return Vec::new();
        }
    };
    let mut tokens = tokens.into_iter();
    let list = tokens.next();
    let Some(dims) = list.clone().and_then(bracketed) else {
        cx.push(message::expected_dims(list.as_ref(), eq));
        return Vec::new();
    };
    expect_end(cx, item, tokens.collect());
    let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
    match parser.parse2(dims) {
        Ok(dims) => dims.iter().filter_map(|dim| parse_dim(cx, dim)).collect(),
        Err(error) => {
            cx.push(message::expected_dim(error.span()));
            Vec::new()
        }
    }
}

/// Refuses what stands between a value and the next comma.
fn expect_end(cx: &Ctxt, item: &Item, rest: TokenStream) {
    if let Some(token) = rest.into_iter().next() {
        cx.push(message::comma_missing(&item.key, &token));
    }
}

/// What is between the brackets. The invisible brackets around what a
/// `macro_rules!` macro was given do not count.
fn bracketed(token: TokenTree) -> Option<TokenStream> {
    match token {
        TokenTree::Group(group) => match group.delimiter() {
            Delimiter::Bracket => Some(group.stream()),
            Delimiter::None => bracketed(group.stream().into_iter().next()?),
            _ => None,
        },
        _ => None,
    }
}

/// One dimension of `shape = [...]`.
fn parse_dim(cx: &Ctxt, dim: &Expr) -> Option<ConstDim> {
    match dim {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(int) => match int.base10_parse::<i64>() {
                Ok(value) => return Some(ConstDim::Integer(value, int.span())),
                Err(_) => cx.push(message::dim_too_large(int)),
            },
            other => cx.push(message::expected_dim(other.span())),
        },
        Expr::Path(path) if path.attrs.is_empty() => {
            return Some(ConstDim::Constant(path.clone()));
        }
        Expr::Group(group) => return parse_dim(cx, &group.expr),
        Expr::Unary(negative) if matches!(negative.op, UnOp::Neg(_)) => {
            cx.push(message::negative_dim(first(&negative.expr)));
        }
        other => cx.push(message::expected_dim(first(other))),
    }
    None
}

/// The first token of an expression: its whole is underlined on some compilers
/// only.
fn first(expr: &Expr) -> Span {
    let first = expr.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}

/// The word `packed` in the `#[repr(...)]` of a struct.
fn packed(attrs: &[Attribute]) -> Option<Span> {
    let mut packed = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("repr")) {
        // What is wrong about a `repr` is rustc's to say.
        let _ = attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                packed = meta.path.get_ident().map(Ident::span);
            }
            if meta.input.peek(syn::token::Paren) {
                let _: proc_macro2::Group = meta.input.parse()?;
            }
            Ok(())
        });
    }
    packed
}
