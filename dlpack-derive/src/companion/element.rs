//! `#[derive(Element)]`: newtypes and small arrays as elements.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Data, DeriveInput, Field, Fields, Member, Type};

use super::attrs::{Node, Words, reprs};
use super::{finish, first_token, is_phantom, message, scope, symbol};
use crate::bounds::Params;
use crate::ctxt::Ctxt;
use crate::symbol::Direction;

/// A struct that is an element.
struct Model<'a> {
    parts: Parts<'a>,
    /// Where it was asked for.
    lanes: Option<Ident>,
    any_bits: Option<Ident>,
}

/// The fields that are memory. All have the type of the first one.
struct Parts<'a> {
    first: (Member, &'a Type),
    others: Vec<Member>,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let node = Node { kind: "element", ident: &input.ident, words: symbol::ON_ELEMENT };
    let words = Words::read(&cx, &input.attrs, &node);
    let krate = words.krate(&cx);
    let lanes = words.flag(&cx, symbol::LANES).cloned();
    let any_bits = words.flag(&cx, symbol::ANY_BITS).cloned();
    let parts = parts(&cx, input);
    let model = parts.map(|parts| Model { parts, lanes, any_bits });
    finish(
        cx,
        model,
        |model| scope(krate.as_ref(), input, &expand(&model, input)),
        || scope(krate.as_ref(), input, &stub(input)),
    )
}

/// The parts of the element, after every check that tokens allow.
fn parts<'a>(cx: &Ctxt, input: &'a DeriveInput) -> Option<Parts<'a>> {
    let ident = &input.ident;
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => {
            cx.push(message::element_not_a_struct(data.enum_token.span, ident, "an enum"));
            return None;
        }
        Data::Union(data) => {
            cx.push(message::element_not_a_struct(data.union_token.span, ident, "a union"));
            return None;
        }
    };
    let transparent = is_transparent(cx, input);
    let parts = fields.members().zip(fields).filter(|(_, field)| is_part(cx, field, ident));
    let mut parts = parts.collect::<Vec<_>>().into_iter();
    let Some((first, field)) = parts.next() else {
        cx.push(message::element_without_parts(ident));
        return None;
    };
    let mut others = Vec::new();
    for (member, other) in parts {
        if transparent == Some(true) {
            cx.push(message::transparent_with_parts(first_token(&other.ty), ident));
            break;
        }
        if other.ty.to_token_stream().to_string() != field.ty.to_token_stream().to_string() {
            cx.push(message::different_parts(first_token(&other.ty), &other.ty, &field.ty));
        }
        others.push(member);
    }
    Some(Parts { first: (first, &field.ty), others })
}

/// Whether the struct is `repr(transparent)`, or else `repr(C)`.
fn is_transparent(cx: &Ctxt, input: &DeriveInput) -> Option<bool> {
    let mut transparent = None;
    let mut refused = false;
    for (word, span) in reprs(input) {
        match word.as_str() {
            "transparent" => transparent = Some(true),
            "C" => transparent = transparent.or(Some(false)),
            _ => {
                refused = true;
                cx.push(message::element_repr(span, &word));
            }
        }
    }
    if transparent.is_none() && !refused {
        let several = matches!(&input.data, Data::Struct(data) if several(&data.fields));
        cx.push(message::no_repr(&input.ident, if several { "C" } else { "transparent" }));
    }
    transparent
}

fn several(fields: &Fields) -> bool {
    fields.iter().filter(|field| !is_phantom(&field.ty)).count() > 1
}

/// Whether a field is memory of the element. What is left out must take none,
/// which the size of the element proves.
fn is_part(cx: &Ctxt, field: &Field, owner: &Ident) -> bool {
    let ident = field.ident.as_ref().unwrap_or(owner);
    let node = Node { kind: "element field", ident, words: symbol::ON_ELEMENT_FIELD };
    let skipped = Words::read(cx, &field.attrs, &node).flag(cx, symbol::SKIP).is_some();
    !skipped && !is_phantom(&field.ty)
}

fn expand(model: &Model<'_>, input: &DeriveInput) -> TokenStream {
    let here = Span::mixed_site();
    let ident = &input.ident;
    let params = Params::of(&input.generics);
    let (impl_generics, args, own) = input.generics.split_for_impl();
    let (first, ty) = &model.parts.first;
    let others = &model.parts.others;
    let inner = if others.is_empty() {
        ty.to_token_stream()
    } else {
        let count = Literal::usize_unsuffixed(others.len().saturating_add(1));
        quote!([#ty; #count])
    };
    // What a parameter decides is asked of the parameter; what it does not, is
    // asked once, where the type stands.
    let mut predicates: Vec<TokenStream> =
        own.iter().flat_map(|own| &own.predicates).map(ToTokens::to_token_stream).collect();
    if input.generics.type_params().next().is_some() {
        predicates.push(quote_spanned! {here=>
            Self: __dlpack::Copy + __dlpack::Send + __dlpack::Sync + 'static
        });
        if params.decide(*ty) {
            predicates.push(quote_spanned!(here=> #ty: __dlpack::Parts));
        }
    }
    let where_clause = (!predicates.is_empty()).then(|| quote!(where #(#predicates),*));
    let constant = |key: &Option<Ident>, function: &str| {
        key.as_ref().map(|key| {
            let place = here.located_at(key.span());
            let function = Ident::new(function, here);
            quote_spanned!(place=> __dlpack::#function::<__Here, Self>())
        })
    };
    let any_bits = constant(&model.any_bits, "any_bits").unwrap_or_else(|| quote!(false));
    let (dtype, axes) = match constant(&model.lanes, "lanes") {
        Some(lanes) => (lanes, quote!(&[])),
        None => (
            quote_spanned!(here=> __dlpack::dtype::<__Here, Self>()),
            quote_spanned!(here=> __dlpack::axes::<__Here, Self>()),
        ),
    };
    let assert = input.generics.params.is_empty().then(|| {
        let place = here.located_at(ident.span());
        quote_spanned!(place=> __dlpack::assert_element::<#ident>();)
    });
    quote_spanned! {here=>
        enum __Here {}
        #[automatically_derived]
        impl #impl_generics __dlpack::Wraps<__Here> for #ident #args #where_clause {
            type Inner = #inner;
            type Field = #ty;
            fn fields(&self, see: fn(&Self::Field)) {
                see(&self.#first);
                #(see(&self.#others);)*
            }
        }
        #[automatically_derived]
        unsafe impl #impl_generics __dlpack::Element for #ident #args #where_clause {
            const DTYPE: __dlpack::DataType = #dtype;
            const AXES: &'static [__dlpack::i64] = #axes;
            const ANY_BITS: __dlpack::bool = #any_bits;
        }
        #assert
    }
}

/// An impl that holds for whatever can be an element at all.
fn stub(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, args, own) = input.generics.split_for_impl();
    let own = own.iter().flat_map(|own| &own.predicates);
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        unsafe impl #impl_generics __dlpack::Element for #ident #args
        where
            #(#own,)*
            // Bound to a lifetime, so that rustc does not mind if it is not so.
            for<'__dlpack> Self: __dlpack::Copy + __dlpack::Send + __dlpack::Sync + 'static,
        {
            const DTYPE: __dlpack::DataType = __dlpack::DataType::U8;
            const ANY_BITS: __dlpack::bool = false;
        }
    }
}
