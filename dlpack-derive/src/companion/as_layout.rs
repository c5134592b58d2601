//! `#[derive(AsLayout)]`: structs that say how elements lie, and no more.
//!
//! The roles, their checks and what is written for them are those of
//! `DLPackExport`; here is what such a struct cannot have.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Data, DeriveInput, Fields};

use super::{finish, message, scope_with};
use crate::ast::Input;
use crate::attr::StructAttrs;
use crate::ctxt::Ctxt;
use crate::symbol::Direction;
use crate::{check, expand};

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let attrs = StructAttrs::from_syn(&cx, input);
    let private = expand::private(attrs.krate());
    let ast = can_be_a_layout(&cx, input).then(|| Input::from_syn(&cx, input)).flatten();
    if let Some(packed) = attrs.packed {
        cx.push(message::packed_layout(packed));
    }
    let dtype = attrs.dtype.as_ref().map(|dtype| &dtype.key);
    let transparent = attrs.transparent.as_ref().map(|transparent| &transparent.key);
    let read_only = attrs.read_only.as_ref().map(|read_only| &read_only.key);
    for key in [dtype, transparent, read_only].into_iter().flatten() {
        cx.push(message::word_not_in_a_layout(key));
    }
    let layout = ast.as_ref().and_then(|ast| check::layout(&cx, ast, &attrs));
    let bound = attrs.bound.as_ref().map(|bound| &bound.value[..]);
    finish(
        cx,
        layout,
        |layout| {
            let item = expand::as_layout(&input.ident, &input.generics, bound, &layout);
            scope_with(&private, input, &item)
        },
        || scope_with(&private, input, &stub(input)),
    )
}

/// Refuses what has no fields that are always there.
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

fn stub(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, args, where_clause) = input.generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics __dlpack::AsLayout for #ident #args #where_clause {
            fn as_layout(&self) -> __dlpack::Result<__dlpack::Layout<'_>, __dlpack::Error> {
                loop {}
            }
        }
    }
}
