//! The struct and its fields, each with its attributes.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt as _;
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Meta, Type};

use crate::attr::FieldAttrs;
use crate::ctxt::Ctxt;
use crate::message;

/// A struct with named fields.
pub(crate) struct Input<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) fields: Vec<Field<'a>>,
    /// Lists of lints that are allowed on the struct or on a field of it.
    pub(crate) allowed: Vec<&'a TokenStream>,
}

/// A field of it.
pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: FieldAttrs,
}

impl Field<'_> {
    /// Whether that is its name, written raw or not.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.ident.unraw() == name
    }
}

impl<'a> Input<'a> {
    /// Refuses what is not a struct with named fields.
    pub(crate) fn from_syn(cx: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let ident = &input.ident;
        let refusal = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(named) => {
                    let fields = named.named.iter().filter_map(|field| {
                        let name = field.ident.as_ref()?;
                        let attrs = FieldAttrs::from_syn(cx, field, name, ident);
                        Some(Field { ident: name, ty: &field.ty, attrs })
                    });
                    let attrs = named.named.iter().flat_map(|field| &field.attrs);
                    return Some(Self {
                        ident,
                        generics: &input.generics,
                        fields: fields.collect(),
                        allowed: input.attrs.iter().chain(attrs).filter_map(allowed).collect(),
                    });
                }
                Fields::Unnamed(unnamed) => message::tuple_struct(ident, unnamed),
                Fields::Unit => message::unit_struct(ident),
            },
            Data::Enum(data) => message::not_a_struct(data.enum_token.span, ident, "an enum"),
            Data::Union(data) => message::not_a_struct(data.union_token.span, ident, "a union"),
        };
        cx.push(refusal);
        None
    }
}

/// The lints that an attribute allows, or expects.
fn allowed(attr: &Attribute) -> Option<&TokenStream> {
    match &attr.meta {
        Meta::List(lints) if lints.path.is_ident("allow") || lints.path.is_ident("expect") => {
            Some(&lints.tokens)
        }
        _ => None,
    }
}
