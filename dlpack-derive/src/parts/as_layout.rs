//! `#[derive(AsLayout)]` and `#[derive(FromLayout)]`: structs that are only a
//! layout.
//!
//! The roles, their checks and their expansion are those of `DLPackExport`;
//! this file rejects the roles and attributes that such a struct cannot have.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Fields};

use super::{finish, scope_with};
use crate::ast::Input;
use crate::attr::StructAttrs;
use crate::ctxt::Ctxt;
use crate::symbol::Direction;
use crate::{check, expand, message};

pub(crate) fn as_layout(input: &DeriveInput) -> TokenStream {
    derive(input, Direction::Export)
}

pub(crate) fn from_layout(input: &DeriveInput) -> TokenStream {
    derive(input, Direction::Import)
}

fn derive(input: &DeriveInput, direction: Direction) -> TokenStream {
    let cx = Ctxt::new(direction);
    let attrs = StructAttrs::from_syn(&cx, input);
    let private = expand::private(attrs.krate());
    let private = match direction {
        Direction::Export => private,
        Direction::Import => quote!(#private::import),
    };
    let ast = can_be_a_layout(&cx, input).then(|| Input::from_syn(&cx, input, &attrs)).flatten();
    if let Some(packed) = attrs.packed {
        cx.push(message::packed_layout(packed));
    }
    for key in attrs.beside_a_layout() {
        cx.push(message::word_not_in_a_layout(key));
    }
    let bound = attrs.bound.as_ref().map(|bound| &bound.value[..]);
    let (ident, generics) = (&input.ident, &input.generics);
    let stub = || scope_with(&private, input, &stub(input, direction));
    match direction {
        Direction::Export => {
            let layout = ast.as_ref().and_then(|ast| check::layout(&cx, ast, &attrs));
            let expand = |layout| {
                let item = expand::as_layout(ident, generics, bound, &layout);
                scope_with(&private, input, &item)
            };
            finish(cx, layout, expand, stub)
        }
        Direction::Import => {
            let layout = ast.as_ref().and_then(|ast| check::import_layout(&cx, ast, &attrs));
            let expand = |(layout, make)| {
                let item = expand::from_layout(ident, generics, bound, &layout, &make);
                scope_with(&private, input, &item)
            };
            finish(cx, layout, expand, stub)
        }
    }
}

/// Rejects items without fields, and enums and unions.
fn can_be_a_layout(cx: &Ctxt, input: &DeriveInput) -> bool {
    let ident = &input.ident;
    let refusal = match &input.data {
        Data::Struct(data) if matches!(data.fields, Fields::Unit) => {
            message::layout_without_fields(ident)
        }
        Data::Struct(_) => return true,
        Data::Enum(data) => message::layout_not_a_struct(data.enum_token.span, ident, "an enum"),
        Data::Union(data) => message::layout_not_a_struct(data.union_token.span, ident, "a union"),
    };
    cx.push(refusal);
    false
}

fn stub(input: &DeriveInput, direction: Direction) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, args, where_clause) = input.generics.split_for_impl();
    match direction {
        Direction::Export => quote_spanned! {Span::mixed_site()=>
            #[automatically_derived]
            impl #impl_generics __dlpack::AsLayout for #ident #args #where_clause {
                fn layout(&self) -> __dlpack::Layout<'_> {
                    loop {}
                }
            }
        },
        Direction::Import => quote_spanned! {Span::mixed_site()=>
            #[automatically_derived]
            impl #impl_generics __dlpack::FromLayout for #ident #args #where_clause {
                const ORDER: __dlpack::Order = __dlpack::Order::RowMajor;
                fn accepts(
                    _: &__dlpack::ImportedTensor,
                    _: &[__dlpack::i64],
                    _: __dlpack::bool,
                ) -> __dlpack::Result<(), __dlpack::MismatchKind> {
                    loop {}
                }
                fn from_layout(
                    _: &__dlpack::Accepted<'_>,
                ) -> __dlpack::Result<Self, __dlpack::ImportError> {
                    loop {}
                }
            }
        },
    }
}
