//! `#[derive(AsLayout)]` and `#[derive(FromLayout)]`: structs that are only a
//! layout.
//!
//! The roles, their checks and their expansion are those of `DLPackExport`;
//! this file rejects the roles and attributes that such a struct cannot have.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Data, DeriveInput, Fields};

use crate::ast::Input;
use crate::attr::StructAttrs;
use crate::attributes::Direction;
use crate::ctxt::Ctxt;
use crate::fallback::{finish, stub};
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
    let krate = attrs.krate.as_ref();
    let names = match direction {
        Direction::Export => expand::private(krate),
        Direction::Import => expand::module(krate, "import"),
    };
    let ast = can_be_a_layout(&cx, input).then(|| Input::from_syn(&cx, input, &attrs)).flatten();
    if let Some(packed) = attrs.packed {
        cx.push(message::packed(packed, "AsLayout"));
    }
    for key in attrs.beside_a_layout() {
        cx.push(message::word_not_in_a_layout(key));
    }
    let bound = attrs.bound.as_ref().map(|bound| &bound.value[..]);
    let (ident, generics) = (&input.ident, &input.generics);
    match direction {
        Direction::Export => {
            let layout = ast.as_ref().and_then(|ast| check::layout(&cx, ast, &attrs));
            let expand = |layout| expand::as_layout(ident, generics, bound, &layout);
            finish(cx, names, input, layout, expand, stub_of_as_layout)
        }
        Direction::Import => {
            let layout = ast.as_ref().and_then(|ast| check::import_layout(&cx, ast, &attrs));
            let expand =
                |(layout, make)| expand::from_layout(ident, generics, bound, &layout, &make);
            finish(cx, names, input, layout, expand, stub_of_from_layout)
        }
    }
}

/// Rejects items without fields, and enums and unions.
fn can_be_a_layout(cx: &Ctxt, input: &DeriveInput) -> bool {
    let refusal = match &input.data {
        Data::Struct(data) if matches!(data.fields, Fields::Unit) => {
            message::layout_without_fields(&input.ident)
        }
        Data::Struct(_) => return true,
        Data::Enum(_) | Data::Union(_) => message::wrong_item(input, "AsLayout", "structs"),
    };
    cx.push(refusal);
    false
}

fn stub_of_as_layout(input: &DeriveInput) -> TokenStream {
    stub(
        "AsLayout",
        input,
        &quote_spanned! {Span::mixed_site()=>
            fn layout(&self) -> __dlpack::Layout<'_> {
                loop {}
            }
        },
    )
}

fn stub_of_from_layout(input: &DeriveInput) -> TokenStream {
    stub(
        "FromLayout",
        input,
        &quote_spanned! {Span::mixed_site()=>
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
        },
    )
}
