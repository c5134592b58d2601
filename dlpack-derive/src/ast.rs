//! The struct or enum and its fields, each with its attributes.

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Index, Member, Meta, Type};

use crate::attr::{FieldAttrs, VariantAttrs};
use crate::ctxt::Ctxt;
use crate::message;

/// What the derive stands on.
pub(crate) struct Input<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) body: Body<'a>,
    /// Lists of lints that are allowed on it, or on a field of it.
    pub(crate) allowed: Vec<&'a TokenStream>,
}

/// What is in its braces.
pub(crate) enum Body<'a> {
    Struct { fields: Vec<Field<'a>>, tuple: Option<Span> },
    Enum(Vec<Variant<'a>>),
}

/// A field.
pub(crate) struct Field<'a> {
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: FieldAttrs,
}

/// A variant.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) fields: Vec<Field<'a>>,
    pub(crate) attrs: VariantAttrs,
}

impl Field<'_> {
    /// Its name, as it is written, or its number.
    pub(crate) fn name(&self) -> String {
        name(&self.member)
    }

    /// Whether that is its name, written raw or not.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        matches!(&self.member, Member::Named(ident) if ident.unraw() == name)
    }
}

/// The name of a field, as it is written, or its number.
pub(crate) fn name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

impl<'a> Input<'a> {
    /// Refuses what has no fields.
    pub(crate) fn from_syn(cx: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let ident = &input.ident;
        let mut attrs: Vec<&Attribute> = input.attrs.iter().collect();
        let body = match &input.data {
            Data::Struct(data) => {
                let tuple = match &data.fields {
                    Fields::Named(_) => None,
                    Fields::Unnamed(unnamed) => Some(unnamed.paren_token.span.join()),
                    Fields::Unit => {
                        cx.push(message::unit_struct(ident, cx.direction()));
                        return None;
                    }
                };
                attrs.extend(data.fields.iter().flat_map(|field| &field.attrs));
                Body::Struct { fields: fields(cx, &data.fields, ident), tuple }
            }
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| {
                    attrs.extend(&variant.attrs);
                    attrs.extend(variant.fields.iter().flat_map(|field| &field.attrs));
                    Variant {
                        ident: &variant.ident,
                        fields: fields(cx, &variant.fields, ident),
                        attrs: VariantAttrs::from_syn(cx, variant),
                    }
                });
                Body::Enum(variants.collect())
            }
            Data::Union(data) => {
                cx.push(message::union(data.union_token.span, ident, cx.direction()));
                return None;
            }
        };
        let allowed = attrs.into_iter().filter_map(allowed).collect();
        Some(Self { ident, generics: &input.generics, body, allowed })
    }

    /// All fields, those of all variants.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field<'a>> {
        let (own, variants) = match &self.body {
            Body::Struct { fields, .. } => (&fields[..], &[][..]),
            Body::Enum(variants) => (&[][..], &variants[..]),
        };
        own.iter().chain(variants.iter().flat_map(|variant| &variant.fields))
    }
}

fn fields<'a>(cx: &Ctxt, fields: &'a Fields, owner: &Ident) -> Vec<Field<'a>> {
    let fields = fields.iter().enumerate().map(|(index, field)| {
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        let attrs = FieldAttrs::from_syn(cx, field, &name(&member), owner);
        Field { member, ty: &field.ty, attrs }
    });
    fields.collect()
}

/// The lints that an attribute allows, or expects.
pub(crate) fn allowed(attr: &Attribute) -> Option<&TokenStream> {
    match &attr.meta {
        Meta::List(lints) if lints.path.is_ident("allow") || lints.path.is_ident("expect") => {
            Some(&lints.tokens)
        }
        _ => None,
    }
}
