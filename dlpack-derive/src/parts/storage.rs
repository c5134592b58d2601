//! `#[derive(Storage)]`: enums with a storage in each variant, and structs
//! around a storage.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Fields, Member, Type};

use super::data_type::path_of;
use crate::ast::is_phantom;
use crate::attr::{self, ConstDType, Words, packed};
use crate::attributes::{self, Direction};
use crate::bounds;
use crate::ctxt::{Ctxt, first_token};
use crate::dtype_names as names;
use crate::expand::{self, arms_by_index, filled, implementation};
use crate::fallback::{self, finish};
use crate::message;

/// A variant of an enum, or a whole struct.
struct Variant<'a> {
    /// `None` for a struct.
    ident: Option<&'a Ident>,
    holds: Holds<'a>,
}

/// The content of a variant.
enum Holds<'a> {
    /// No data: the variant is skipped.
    Nothing,
    /// A storage, possibly read as another element type.
    Data {
        member: Member,
        ty: &'a Type,
        reading: Option<Reading>,
        /// If tensors can be imported into it, its other fields.
        import: Option<Vec<(Member, &'a Type)>>,
    },
}

/// The element type as which the bytes of a storage are read.
struct Reading {
    dtype: ConstDType,
    padded: bool,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let node = ("storage", &input.ident);
    let krate = Words::of_part(&cx, &input.attrs, node, attributes::ON_STORAGE).krate(&cx);
    if let Some(packed) = packed(input) {
        cx.push(message::packed(packed, "Storage"));
    }
    let model = match &input.data {
        Data::Enum(data) if data.variants.is_empty() => {
            cx.push(message::storage_without_variants(&input.ident));
            None
        }
        Data::Enum(data) => {
            let variants = data.variants.iter().filter_map(|variant| of_enum(&cx, variant));
            Some(variants.collect::<Vec<_>>())
        }
        Data::Struct(data) => of_struct(&cx, &input.ident, &data.fields).map(|data| vec![data]),
        Data::Union(_) => {
            cx.push(message::wrong_item(input, "Storage", "enums and structs"));
            None
        }
    };
    let names = expand::module(krate.as_ref(), "parts");
    finish(cx, names, input, model, |variants| expand(&variants, input), stub)
}

fn of_enum<'a>(cx: &Ctxt, variant: &'a syn::Variant) -> Option<Variant<'a>> {
    let ident = &variant.ident;
    let known = attributes::ON_STORAGE_VARIANT;
    let words = Words::of_part(cx, &variant.attrs, ("variant", ident), known);
    words.one_of(cx, &[attributes::SKIP, attributes::DTYPE]);
    let (reading, import) = (reading(cx, &words), import(cx, &words));
    if words.flag(cx, attributes::SKIP).is_some() {
        return Some(Variant { ident: Some(ident), holds: Holds::Nothing });
    }
    let words = attributes::ON_STORAGE_VARIANT_FIELD;
    let (member, ty, _) = the_field(cx, ident, "variant", &variant.fields, words)?;
    let import = import.then(|| beside(&variant.fields, &member));
    Some(Variant { ident: Some(ident), holds: Holds::Data { member, ty, reading, import } })
}

fn of_struct<'a>(cx: &Ctxt, ident: &'a Ident, fields: &'a Fields) -> Option<Variant<'a>> {
    let (member, ty, words) = the_field(cx, ident, "struct", fields, attributes::ON_STORAGE_FIELD)?;
    let (reading, import) = (reading(cx, &words), import(cx, &words));
    let import = import.then(|| beside(fields, &member));
    Some(Variant { ident: None, holds: Holds::Data { member, ty, reading, import } })
}

/// The one field that is a storage.
fn the_field<'a>(
    cx: &Ctxt,
    owner: &Ident,
    kind: &str,
    fields: &'a Fields,
    known: &'static [&'static str],
) -> Option<(Member, &'a Type, Words)> {
    let mut found: Option<(Member, &Type, Words)> = None;
    for (member, field) in fields.members().zip(fields) {
        let ident = field.ident.as_ref().unwrap_or(owner);
        let words = Words::of_part(cx, &field.attrs, ("storage field", ident), known);
        if words.flag(cx, attributes::SKIP).is_some() || is_phantom(&field.ty) {
            words.one_of(cx, &[attributes::SKIP, attributes::DTYPE]);
        } else if found.is_some() {
            let place = field.ident.as_ref().map_or_else(|| first_token(&field.ty), Ident::span);
            cx.push(message::second_storage(place, kind, owner));
            return None;
        } else {
            found = Some((member, &field.ty, words));
        }
    }
    if found.is_none() {
        cx.push(message::no_storage(kind, owner));
    }
    found
}

/// Whether tensors can be imported into it. An imported tensor has its own
/// element type.
fn import(cx: &Ctxt, words: &Words) -> bool {
    words.one_of(cx, &[attributes::DTYPE, attributes::IMPORT]);
    words.one_of(cx, &[attributes::SKIP, attributes::IMPORT]);
    words.flag(cx, attributes::IMPORT).is_some()
}

/// All fields except the storage.
fn beside<'a>(fields: &'a Fields, storage: &Member) -> Vec<(Member, &'a Type)> {
    let others = fields.members().zip(fields).filter(|(member, _)| member != storage);
    others.map(|(member, field)| (member, &field.ty)).collect()
}

/// The words about reading bytes as another element type.
fn reading(cx: &Ctxt, words: &Words) -> Option<Reading> {
    words.one_of(cx, &[attributes::PACKED, attributes::PADDED]);
    let packed = words.flag(cx, attributes::PACKED);
    let padded = words.flag(cx, attributes::PADDED);
    let Some(item) = words.get(attributes::DTYPE) else {
        if let Some(key) = packed.or(padded) {
            cx.push(message::packing_of_nothing(key));
        }
        return None;
    };
    let dtype = attr::dtype(cx, item)?;
    if let ConstDType::Named(word) = &dtype {
        let name = word.to_string();
        match (names::is_narrow(&name), packed.or(padded)) {
            (true, None) => cx.push(message::packing_not_said(word.span(), &name)),
            (false, Some(key)) => cx.push(message::packing_of_whole_bytes(key, &name)),
            _ => {}
        }
    }
    Some(Reading { dtype, padded: padded.is_some() })
}

fn expand(variants: &[Variant<'_>], input: &DeriveInput) -> TokenStream {
    let (ident, generics) = (&input.ident, &input.generics);
    let (_, args, _) = generics.split_for_impl();
    let item = quote!(<#ident #args>);
    let arms = |method| {
        let arms = variants.iter().map(|variant| arm(variant, method, &item));
        arms.collect::<TokenStream>()
    };
    let data = arms(Method::Data);
    let lend = arms(Method::Lend);
    let share = share(variants, &item);
    let record = arms(Method::RecordType);
    let import = import_storage(variants, input);
    let types = variants.iter().filter_map(|variant| match &variant.holds {
        Holds::Data { ty, .. } => Some(*ty),
        Holds::Nothing => None,
    });
    let types: Vec<_> = types.collect();
    let where_clause = bounds::where_types(generics, &types, "Storage");
    let items = quote_spanned! {Span::mixed_site()=>
        #[inline(always)]
        fn data(&self) -> __dlpack::DataRef<'_> {
            match self { #data }
        }
        #[inline(always)]
        fn data_mut(&mut self) -> __dlpack::DataMut<'_> {
            match self { #lend }
        }
        #[inline(always)]
        fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> { #share }
        #[inline]
        fn record_type(&self) -> __dlpack::Option<&'static __dlpack::RecordType> {
            match self { #record }
        }
    };
    let item = implementation("Storage", ident, generics, &where_clause, &items);
    quote!(#import #item)
}

/// Storages whose owners get one type. More of them are shared as type-erased owners, because
/// the type is a list, whose functions compare one variant after the other.
const MANY: usize = 12;

/// The body of `share`. Of several storages, the other owner has a type that names all of
/// them, so that its functions are called directly; see `OneOf` of the runtime.
fn share(variants: &[Variant<'_>], item: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let data = |variant: &Variant<'_>| matches!(variant.holds, Holds::Data { .. });
    let last = variants.iter().filter(|variant| data(variant)).count().saturating_sub(1);
    if !(1..MANY).contains(&last) {
        let arms = variants.iter().map(|variant| arm(variant, Method::Share, item));
        return quote_spanned!(here=> match self { #(#arms)* });
    }
    let mut number = 0_usize;
    let arms = variants.iter().map(|variant| {
        let ident = variant.ident;
        let Holds::Data { member, ty, .. } = &variant.holds else {
            let nothing = nothing(variant, Method::Share);
            return quote_spanned!(here=> Self::#ident { .. } => return #nothing,);
        };
        let mut owner = quote_spanned!(here=> __dlpack::first(__owner));
        if number == last {
            owner = quote_spanned!(here=> __dlpack::last(__owner));
        }
        for _ in 0..number {
            owner = quote_spanned!(here=> __dlpack::rest(#owner));
        }
        number += 1;
        quote_spanned! {here=>
            Self::#ident { #member: __data, .. } => match __dlpack::sharer(__data).__dlpack_share() {
                __dlpack::Option::Some(__owner) => #owner,
                __dlpack::Option::None => {
                    return <#ty as __dlpack::Storage>::share(__data);
                }
            },
        }
    });
    let arms: Vec<_> = arms.collect();
    quote_spanned! {here=>
        use __dlpack::sharing::*;
        __dlpack::share_one_of(match self { #(#arms)* })
    }
}

/// The impl of `ImportStorage`, if tensors can be imported into a variant.
fn import_storage(variants: &[Variant<'_>], input: &DeriveInput) -> Option<TokenStream> {
    let here = Span::mixed_site();
    let into = variants.iter().filter_map(|variant| match &variant.holds {
        Holds::Data { member, ty, import: Some(beside), .. } => {
            Some((variant.ident, member, *ty, beside))
        }
        _ => None,
    });
    let into: Vec<_> = into.collect();
    if into.is_empty() {
        return None;
    }
    let types: Vec<_> = into.iter().map(|(_, _, ty, _)| *ty).collect();
    let values = into.iter().map(|(variant, member, ty, beside)| {
        let variant = variant.map(|variant| quote_spanned!(here=> ::#variant));
        let held =
            quote_spanned!(here=> <#ty as __dlpack::ImportStorage>::from_imported(__tensor)?);
        let mut fields = vec![(*member, held)];
        fields.extend(beside.iter().map(|(member, ty)| {
            (member, quote_spanned!(here=> <#ty as __dlpack::Default>::default()))
        }));
        filled(&quote_spanned!(here=> Self #variant), fields)
    });
    let values: Vec<_> = values.collect();
    let which = if let [only] = &values[..] {
        only.clone()
    } else {
        let arms = arms_by_index(&values);
        quote_spanned! {here=>
            match __dlpack::which_holds(&__tensor, &[
                #(<#types as __dlpack::ImportStorage>::accepts),*
            ]) {
                #arms
            }
        }
    };
    let generics = &input.generics;
    let where_clause = bounds::where_types(generics, &types, "ImportStorage");
    let items = quote_spanned! {here=>
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::MismatchKind> {
            __dlpack::any_holds(__tensor, &[#(<#types as __dlpack::ImportStorage>::accepts),*])
        }
        fn axes(__tensor: &__dlpack::ImportedTensor) -> &'static [__dlpack::i64] {
            __dlpack::axes_of_one(__tensor, &[#((
                <#types as __dlpack::ImportStorage>::accepts,
                <#types as __dlpack::ImportStorage>::axes,
            )),*])
        }
        fn keeps_strides(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
            __dlpack::one_keeps_strides(__tensor, &[#((
                <#types as __dlpack::ImportStorage>::accepts,
                <#types as __dlpack::ImportStorage>::keeps_strides,
            )),*])
        }
        fn from_imported(
            __tensor: __dlpack::ImportedTensor,
        ) -> __dlpack::Result<Self, __dlpack::Error> {
            __dlpack::Result::Ok(#which)
        }
    };
    Some(implementation("ImportStorage", &input.ident, generics, &where_clause, &items))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Data,
    Lend,
    Share,
    RecordType,
}

/// The match arm of a method for a variant.
fn arm(variant: &Variant<'_>, method: Method, item: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let variant_of = variant.ident.map(|ident| quote_spanned!(here=> ::#ident));
    let path = quote_spanned!(here=> Self #variant_of);
    let Holds::Data { member, ty, reading, .. } = &variant.holds else {
        let nothing = nothing(variant, method);
        return quote_spanned!(here=> #path { .. } => #nothing,);
    };
    let (function, read_as) = match method {
        Method::Data => ("data", "data_as"),
        Method::Lend => ("data_mut", "data_mut_as"),
        Method::Share => ("share", ""),
        Method::RecordType => ("record_type", ""),
    };
    let function = Ident::new(function, here);
    let value = quote_spanned!(here=> <#ty as __dlpack::Storage>::#function(__data));
    let value = match reading {
        Some(_) if method == Method::RecordType => quote!(__dlpack::Option::None),
        Some(Reading { dtype, padded }) if method != Method::Share => {
            let (dtype, read_as) = (path_of(dtype, item), Ident::new(read_as, here));
            quote_spanned! {here=>
                __dlpack::#read_as(#value, __dlpack::Reading {
                    dtype: #dtype,
                    padded: #padded,
                    refusal: const { &__dlpack::Error::NotBytes { dtype: #dtype } },
                })
            }
        }
        _ => value,
    };
    quote_spanned!(here=> #path { #member: __data, .. } => #value,)
}

/// The result of a method for a variant without a storage.
fn nothing(variant: &Variant<'_>, method: Method) -> TokenStream {
    let here = Span::mixed_site();
    let name = variant.ident.map(|ident| ident.unraw().to_string());
    let error = quote_spanned!(here=> __dlpack::Error::NoStorage { variant: #name });
    let fixed = quote_spanned!(here=> const { &#error });
    match method {
        Method::Data => quote_spanned!(here=> __dlpack::DataRef::refused(#fixed)),
        Method::Lend => quote_spanned!(here=> __dlpack::DataMut::refused(#fixed)),
        Method::Share => quote_spanned!(here=> __dlpack::share_nothing(#fixed)),
        Method::RecordType => quote!(__dlpack::Option::None),
    }
}

fn stub(input: &DeriveInput) -> TokenStream {
    fallback::stub(
        "Storage",
        input,
        &quote_spanned! {Span::mixed_site()=>
            fn data(&self) -> __dlpack::DataRef<'_> {
                loop {}
            }
        },
    )
}
