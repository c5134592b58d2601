//! The struct or enum and its fields, each with its attributes.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, ExprPath, Fields, Generics, Index, Member, Type};

use crate::attr::{FieldAttrs, StructAttrs, VariantAttrs};
use crate::ctxt::{Ctxt, first_token};
use crate::{attributes, message};

/// The item on which a derive is used.
pub(crate) struct Input<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) body: Body<'a>,
}

/// The fields or variants of the item.
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
    /// The function that converts the field for an export.
    pub(crate) fn with(&self) -> Option<&ExprPath> {
        self.attrs.with.as_ref()?.value.first()
    }

    /// The function that makes the field of an import.
    pub(crate) fn made_with(&self) -> Option<&ExprPath> {
        self.attrs.with.as_ref()?.value.get(1)
    }

    /// Whether it owns memory behind a pointer that a function returns.
    pub(crate) fn owns_pointer(&self) -> bool {
        self.attrs.raw && self.attrs.with.is_some()
    }

    /// Its name, as it is written, or its index.
    pub(crate) fn name(&self) -> String {
        name(&self.member)
    }

    /// The span for errors about the field: the name, or else the start of the type.
    pub(crate) fn place(&self) -> Span {
        match &self.member {
            Member::Named(ident) => ident.span(),
            Member::Unnamed(_) => first_token(self.ty),
        }
    }

    /// Whether the field has that name, written raw or not.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        matches!(&self.member, Member::Named(ident) if ident.unraw() == name)
    }
}

/// The name of a field, as it is written, or its index.
pub(crate) fn name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

impl<'a> Input<'a> {
    /// Reads the fields, and rejects items that have none. `on_struct` has the list of
    /// fields to skip.
    pub(crate) fn from_syn(
        cx: &Ctxt,
        input: &'a DeriveInput,
        on_struct: &StructAttrs,
    ) -> Option<Self> {
        let ident = &input.ident;
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
                let mut fields = fields(cx, &data.fields, ident);
                skip_listed(cx, &mut fields, on_struct, ident);
                Body::Struct { fields, tuple }
            }
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| Variant {
                    ident: &variant.ident,
                    fields: fields(cx, &variant.fields, ident),
                    attrs: VariantAttrs::from_syn(cx, variant),
                });
                Body::Enum(variants.collect())
            }
            Data::Union(_) => {
                let derive = cx.direction().derive();
                cx.push(message::wrong_item(input, derive, "structs and enums"));
                return None;
            }
        };
        Some(Self { ident, generics: &input.generics, body })
    }

    /// All fields, including those of all variants.
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

/// Marks the fields that `skip(..)` on the struct names.
fn skip_listed(cx: &Ctxt, fields: &mut [Field<'_>], attrs: &StructAttrs, owner: &Ident) {
    let Some(list) = &attrs.skip else { return };
    for (name, place) in &list.value {
        let is_meant = |field: &&mut Field<'_>| match &field.member {
            Member::Named(ident) => ident.unraw() == name,
            Member::Unnamed(index) => index.index.to_string() == *name,
        };
        if let Some(field) = fields.iter_mut().find(is_meant) {
            if field.attrs.skip.is_some() {
                let second = Ident::new(attributes::SKIP, *place);
                cx.push(message::duplicate_attribute(&second, name));
            }
            field.attrs.skip = Some(*place);
        } else {
            let names: Vec<String> = fields.iter().map(Field::name).collect();
            cx.push(message::no_such_field(*place, name, owner, &names, false));
        }
    }
}

/// Whether a field is a `PhantomData`, by the name of its type.
pub(crate) fn is_phantom(ty: &Type) -> bool {
    is_named(ty, &["PhantomData"])
}

/// Whether a type has one of these names.
pub(crate) fn is_named(ty: &Type, names: &[&str]) -> bool {
    match ty {
        Type::Group(group) => is_named(&group.elem, names),
        Type::Path(path) => {
            let last = path.path.segments.last();
            last.is_some_and(|last| names.iter().any(|name| last.ident == name))
        }
        _ => false,
    }
}
