//! `#[derive(Element)]`: newtypes and small arrays as elements.
//!
//! This expansion is the only one of this crate that has an `unsafe impl`
//! although the struct contains no `unsafe`. The checks of tokens in this file
//! only improve the errors. None of them is a proof: another macro can change
//! the struct after the derive has read it, a macro in a type can expand to two
//! types, and the user's crate decides what each path resolves to. The proof is
//! the function in the expansion, which the compiler checks against the struct
//! that it compiles, and whose type `dlpack_traits` evaluates.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Data, DataStruct, DeriveInput, Field, Fields, Member, Type};

use crate::ast::is_phantom;
use crate::attr::{Words, reprs};
use crate::attributes::{self, Direction};
use crate::bounds::Params;
use crate::ctxt::{Ctxt, first_token};
use crate::fallback::finish;
use crate::{expand, message};

/// A struct that is an element.
struct Model<'a> {
    memory: Memory<'a>,
    /// The attribute, if it was given.
    lanes: Option<Ident>,
    any_bits: Option<Ident>,
}

/// The fields.
struct Memory<'a> {
    /// The type of the first field that occupies memory.
    ty: &'a Type,
    /// The fields that occupy memory.
    parts: Vec<Member>,
    /// The other fields.
    markers: Vec<(Member, &'a Type)>,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let node = ("element", &input.ident);
    let words = Words::of_part(&cx, &input.attrs, node, attributes::ON_ELEMENT);
    let krate = words.krate(&cx);
    let lanes = words.flag(&cx, attributes::LANES).cloned();
    let any_bits = words.flag(&cx, attributes::ANY_BITS).cloned();
    let memory = memory(&cx, input);
    let model = memory.map(|memory| Model { memory, lanes, any_bits });
    let names = expand::module(krate.as_ref(), "parts");
    finish(cx, names, input, model, |model| expand(&model, input), stub)
}

/// The fields, after every check that tokens allow.
fn memory<'a>(cx: &Ctxt, input: &'a DeriveInput) -> Option<Memory<'a>> {
    let ident = &input.ident;
    let Data::Struct(DataStruct { fields, .. }) = &input.data else {
        cx.push(message::wrong_item(input, "Element", "structs"));
        return None;
    };
    let transparent = is_transparent(cx, input);
    let (parts, markers): (Vec<_>, Vec<_>) =
        fields.members().zip(fields).partition(|(_, field)| is_part(cx, field, ident));
    let Some((_, first)) = parts.first() else {
        cx.push(message::element_without_parts(ident));
        return None;
    };
    for (_, other) in parts.iter().skip(1) {
        if transparent == Some(true) {
            cx.push(message::transparent_with_parts(first_token(&other.ty), ident));
            break;
        }
        if other.ty.to_token_stream().to_string() != first.ty.to_token_stream().to_string() {
            cx.push(message::different_parts(first_token(&other.ty), &other.ty, &first.ty));
        }
    }
    Some(Memory {
        ty: &first.ty,
        parts: parts.into_iter().map(|(member, _)| member).collect(),
        markers: markers.into_iter().map(|(member, field)| (member, &field.ty)).collect(),
    })
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
        cx.push(message::no_repr(
            "an element",
            &input.ident,
            if several { "C" } else { "transparent" },
        ));
    }
    transparent
}

fn several(fields: &Fields) -> bool {
    fields.iter().filter(|field| !is_phantom(&field.ty)).count() > 1
}

/// Whether a field occupies memory of the element. The compiler proves by type
/// that the other fields are `PhantomData`, `()` or `[T; 0]`.
fn is_part(cx: &Ctxt, field: &Field, owner: &Ident) -> bool {
    let ident = field.ident.as_ref().unwrap_or(owner);
    let known = attributes::ON_ELEMENT_FIELD;
    let words = Words::of_part(cx, &field.attrs, ("element field", ident), known);
    let skipped = words.flag(cx, attributes::SKIP).is_some();
    !skipped && !is_phantom(&field.ty)
}

fn expand(model: &Model<'_>, input: &DeriveInput) -> TokenStream {
    let here = Span::mixed_site();
    let lanes = model.lanes.is_some();
    let fields = fields(&model.memory);
    let items = quote_spanned! {here=>
        const LANES: __dlpack::bool = #lanes;
        #fields
    };
    let asserted = model.lanes.as_ref().unwrap_or(&input.ident);
    let where_clause = where_clause(input, &[model.memory.ty]);
    implementation(input, where_clause.as_ref(), (asserted, model.any_bits.as_ref()), &items)
}

/// The bounds of an impl for a struct with fields of these types. If a type depends on a parameter,
/// the bound is in the `where` clause; otherwise it is checked once, at the type.
pub(super) fn where_clause(input: &DeriveInput, types: &[&Type]) -> Option<TokenStream> {
    let here = Span::mixed_site();
    let params = Params::of(&input.generics);
    let own = input.generics.where_clause.iter().flat_map(|own| &own.predicates);
    let mut predicates: Vec<TokenStream> = own.map(ToTokens::to_token_stream).collect();
    if input.generics.type_params().next().is_some() {
        predicates.push(quote_spanned! {here=>
            Self: __dlpack::Copy + __dlpack::Send + __dlpack::Sync + 'static
        });
        let decided = types.iter().filter(|ty| params.decide(ty));
        predicates.extend(decided.map(|ty| quote_spanned!(here=> #ty: __dlpack::Element)));
    }
    (!predicates.is_empty()).then(|| quote!(where #(#predicates),*))
}

/// The `unsafe impl`, and assertions whose errors point to these words.
pub(super) fn implementation(
    input: &DeriveInput,
    where_clause: Option<&TokenStream>,
    (element, any_bits): (&Ident, Option<&Ident>),
    items: &TokenStream,
) -> TokenStream {
    let here = Span::mixed_site();
    let ident = &input.ident;
    let (impl_generics, args, _) = input.generics.split_for_impl();
    let claim = Literal::usize_unsuffixed(any_bits.is_some().into());
    let assert = input.generics.params.is_empty().then(|| {
        let assert = |key: &Ident, function: &str| {
            let place = here.located_at(key.span());
            let function = Ident::new(function, here);
            quote_spanned!(place=> __dlpack::#function::<#ident>();)
        };
        let element = assert(element, "assert_element");
        let any_bits = any_bits.map(|key| assert(key, "assert_any_bits"));
        quote!(#element #any_bits)
    });
    quote_spanned! {here=>
        #[automatically_derived]
        unsafe impl #impl_generics __dlpack::Fields for #ident #args #where_clause {
            type AnyBits = [(); #claim];
            #items
        }
        #assert
    }
}

/// The function that destructures an element, with its parts and its markers.
fn fields(Memory { ty, parts, markers }: &Memory<'_>) -> TokenStream {
    // If a type does not fit, the error points to the first field, or to the
    // marker.
    let is_marker = |ty| is_phantom(ty) || matches!(ty, Type::Tuple(ty) if ty.elems.is_empty());
    let blamed = markers.iter().find(|(_, ty)| !is_marker(ty)).map_or(*ty, |(_, ty)| *ty);
    let members = parts.iter().chain(markers.iter().map(|(member, _)| member));
    let members: Vec<_> = members.collect();
    destructured(&members, first_token(blamed), |names| {
        let (parts, markers) = names.split_at(parts.len());
        let list = listed(markers);
        quote!(([#(#parts),*], #list))
    })
}

/// The nested list of pointers to some fields.
pub(super) fn listed(names: &[Ident]) -> TokenStream {
    names.iter().rev().fold(quote!(()), |rest, name| quote!((#name, #rest)))
}

/// The function that destructures the struct. It is the proof of the
/// `unsafe impl`:
///
/// - A pattern does not use `Deref`, and does not match a union, a packed field
///   or a reference. It has no `..`, so it names all fields, including those
///   that another macro added.
/// - Each `let` makes a pointer from a reference to the field, without naming a
///   type and so without a coercion to another. `&mut` makes it invariant.
/// - It contains no path except `Self` and the bound that the trait has too.
pub(super) fn destructured(
    members: &[impl ToTokens],
    blamed: Span,
    result: impl Fn(&[Ident]) -> TokenStream,
) -> TokenStream {
    let here = Span::mixed_site();
    // An identifier in a pattern can be a constant of the user. A constant of
    // this name would be an error: none is a pointer, and the pattern has no
    // `else`.
    let name = |number| Ident::new(&format!("__part{number}"), here);
    let names: Vec<_> = (0..members.len()).map(name).collect();
    let result = result(&names);
    let split = quote_spanned!(here.located_at(blamed)=> impl __dlpack::Split);
    quote_spanned! {here=>
        #[inline]
        fn fields(&'static mut self) -> #split {
            let Self { #(#members: #names),* } = self;
            #(let #names: *mut _ = #names;)*
            #result
        }
    }
}

/// An impl that avoids further errors in the user's code.
///
/// It must not be a valid `Element` if `compile_error!` is not an error,
/// because the user's crate also decides what `::core` resolves to. The struct
/// is its own part here, so that its type and its axes depend on themselves,
/// which the compiler rejects.
pub(super) fn stub(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, args, own) = input.generics.split_for_impl();
    let own = own.iter().flat_map(|own| &own.predicates);
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        unsafe impl #impl_generics __dlpack::Fields for #ident #args
        where
            #(#own,)*
            // A bound with a lifetime may be unsatisfied without an error here.
            for<'__dlpack> Self: __dlpack::Copy + __dlpack::Send + __dlpack::Sync + 'static,
        {
            const LANES: __dlpack::bool = false;
            type AnyBits = [(); 0];
            fn fields(&'static mut self) -> impl __dlpack::Split {
                let __part: *mut Self = self;
                ([__part], ())
            }
        }
    }
}
