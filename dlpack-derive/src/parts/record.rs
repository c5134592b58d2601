//! `#[derive(Record)]`: structs whose fields have names and types of their own.
//!
//! The `unsafe impl`, and the function that is its proof, are those of `#[derive(Element)]`. Names
//! and offsets are constants beside it, on which no proof depends.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt as _;
use syn::{Data, DataStruct, DeriveInput, Fields, Type, Visibility};

use super::element::{destructured, implementation, listed, stub, where_clause};
use crate::ast::is_phantom;
use crate::attr::{Words, reprs};
use crate::attributes::{self, Direction};
use crate::ctxt::{Ctxt, first_token};
use crate::fallback::finish;
use crate::{expand, message};

/// A struct that is a record.
struct Model<'a> {
    /// Those that have a name in other libraries.
    fields: Vec<Field<'a>>,
    /// The names and types of all fields.
    all: Vec<(&'a Ident, &'a Type)>,
    any_bits: Option<Ident>,
}

struct Field<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    vis: &'a Visibility,
    constant: Ident,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let node = ("record", &input.ident);
    let words = Words::of_part(&cx, &input.attrs, node, attributes::ON_RECORD);
    let krate = words.krate(&cx);
    let any_bits = words.flag(&cx, attributes::ANY_BITS).cloned();
    check_repr(&cx, input);
    let model = fields(&cx, input, any_bits);
    let names = expand::module(krate.as_ref(), "parts");
    finish(cx, names, input, model, |model| expand(&model, input), stub)
}

/// Requires `repr(C)`, without a change of the alignment.
fn check_repr(cx: &Ctxt, input: &DeriveInput) {
    let reprs = reprs(input);
    if reprs.is_empty() {
        cx.push(message::no_repr("a record", &input.ident, "C"));
    }
    for (word, span) in reprs {
        if word != "C" {
            cx.push(message::record_repr(span, &word));
        }
    }
}

/// The fields, after every check that tokens allow.
fn fields<'a>(cx: &Ctxt, input: &'a DeriveInput, any_bits: Option<Ident>) -> Option<Model<'a>> {
    let Data::Struct(DataStruct { fields, .. }) = &input.data else {
        cx.push(message::wrong_item(input, "Record", "structs"));
        return None;
    };
    let Fields::Named(named) = fields else {
        cx.push(message::record_without_names(&input.ident));
        return None;
    };
    let (mut kept, mut all) = (Vec::<Field<'_>>::new(), Vec::new());
    for field in &named.named {
        let Some(ident) = &field.ident else { continue };
        all.push((ident, &field.ty));
        let known = attributes::ON_RECORD_FIELD;
        let words = Words::of_part(cx, &field.attrs, ("record field", ident), known);
        if words.flag(cx, attributes::SKIP).is_some() || is_phantom(&field.ty) {
            continue;
        }
        let constant = Ident::new(&screaming(&ident.unraw().to_string()), ident.span());
        if let Some(other) = kept.iter().find(|other| other.constant == constant) {
            cx.push(message::one_constant(ident, other.ident, &constant));
        }
        kept.push(Field { ident, ty: &field.ty, vis: &field.vis, constant });
    }
    if kept.is_empty() {
        cx.push(message::record_without_fields(&input.ident));
        return None;
    }
    Some(Model { fields: kept, all, any_bits })
}

/// `mass` is `MASS`, and `bodyMass` is `BODY_MASS`.
fn screaming(name: &str) -> String {
    let (mut constant, mut after_lower) = (String::new(), false);
    for letter in name.chars() {
        if after_lower && letter.is_uppercase() {
            constant.push('_');
        }
        after_lower = letter.is_lowercase();
        constant.extend(letter.to_uppercase());
    }
    constant
}

fn expand(model: &Model<'_>, input: &DeriveInput) -> TokenStream {
    let here = Span::mixed_site();
    let ident = &input.ident;
    let types: Vec<_> = model.all.iter().map(|(_, ty)| *ty).collect();
    let where_clause = where_clause(input, &types);
    let constants = model.fields.iter().map(|Field { ident, ty, vis, constant }| {
        let name = ident.unraw().to_string();
        let doc = format!("The field `{name}`.");
        // If the type does not fit, the error points to it.
        let field = quote_spanned!(here.located_at(first_token(ty))=> __dlpack::field);
        quote_spanned! {here=>
            #[doc = #doc]
            #[allow(dead_code)]
            #vis const #constant: __dlpack::Field<Self, #ty> =
                #field(#name, __dlpack::offset_of!(Self, #ident));
        }
    });
    let (impl_generics, args, _) = input.generics.split_for_impl();
    let names = model.fields.iter().map(|field| &field.constant);
    let members: Vec<_> = model.all.iter().map(|(name, _)| name).collect();
    let proof = destructured(&members, ident.span(), listed);
    let items = quote_spanned! {here=>
        const LANES: __dlpack::bool = false;
        const FIELDS: &'static [__dlpack::FieldType] = &[#(Self::#names.ty()),*];
        #proof
    };
    let proof =
        implementation(input, where_clause.as_ref(), (ident, model.any_bits.as_ref()), &items);
    quote_spanned! {here=>
        impl #impl_generics #ident #args #where_clause {
            #(#constants)*
        }
        #proof
    }
}
