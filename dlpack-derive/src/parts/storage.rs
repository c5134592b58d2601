//! `#[derive(Storage)]`: enums with a storage in each variant, and structs
//! around a storage.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Fields, Member, Type};

use super::data_type::{self, DType};
use super::{finish, first_token, scope};
use crate::ast::is_phantom;
use crate::attr::{Words, packed};
use crate::bounds::Params;
use crate::ctxt::Ctxt;
use crate::dtype_names as names;
use crate::expand::filled;
use crate::message;
use crate::symbol::{self, Direction};

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
    dtype: DType,
    padded: bool,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let node = ("storage", &input.ident);
    let krate = Words::of_part(&cx, &input.attrs, node, symbol::ON_STORAGE).krate(&cx);
    if let Some(packed) = packed(input) {
        cx.push(message::packed_storage(packed));
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
        Data::Union(data) => {
            cx.push(message::storage_is_a_union(data.union_token.span, &input.ident));
            None
        }
    };
    finish(
        cx,
        model,
        |variants| scope(krate.as_ref(), input, &expand(&variants, input)),
        || scope(krate.as_ref(), input, &stub(input)),
    )
}

fn of_enum<'a>(cx: &Ctxt, variant: &'a syn::Variant) -> Option<Variant<'a>> {
    let ident = &variant.ident;
    let known = symbol::ON_STORAGE_VARIANT;
    let words = Words::of_part(cx, &variant.attrs, ("variant", ident), known);
    words.one_of(cx, &[symbol::SKIP, symbol::DTYPE]);
    let (reading, import) = (reading(cx, &words), import(cx, &words));
    if words.flag(cx, symbol::SKIP).is_some() {
        return Some(Variant { ident: Some(ident), holds: Holds::Nothing });
    }
    let words = symbol::ON_STORAGE_VARIANT_FIELD;
    let (member, ty, _) = the_field(cx, ident, "variant", &variant.fields, words)?;
    let import = import.then(|| beside(&variant.fields, &member));
    Some(Variant { ident: Some(ident), holds: Holds::Data { member, ty, reading, import } })
}

fn of_struct<'a>(cx: &Ctxt, ident: &'a Ident, fields: &'a Fields) -> Option<Variant<'a>> {
    let (member, ty, words) = the_field(cx, ident, "struct", fields, symbol::ON_STORAGE_FIELD)?;
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
        if words.flag(cx, symbol::SKIP).is_some() || is_phantom(&field.ty) {
            words.one_of(cx, &[symbol::SKIP, symbol::DTYPE]);
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
    words.one_of(cx, &[symbol::DTYPE, symbol::IMPORT]);
    words.one_of(cx, &[symbol::SKIP, symbol::IMPORT]);
    words.flag(cx, symbol::IMPORT).is_some()
}

/// All fields except the storage.
fn beside<'a>(fields: &'a Fields, storage: &Member) -> Vec<(Member, &'a Type)> {
    let others = fields.members().zip(fields).filter(|(member, _)| member != storage);
    others.map(|(member, field)| (member, &field.ty)).collect()
}

/// The words about reading bytes as another element type.
fn reading(cx: &Ctxt, words: &Words) -> Option<Reading> {
    words.one_of(cx, &[symbol::PACKED, symbol::PADDED]);
    let packed = words.flag(cx, symbol::PACKED);
    let padded = words.flag(cx, symbol::PADDED);
    let Some(item) = words.get(symbol::DTYPE) else {
        if let Some(key) = packed.or(padded) {
            cx.push(message::packing_of_nothing(key));
        }
        return None;
    };
    let dtype = data_type::dtype(cx, item)?;
    if let DType::Known(name, span) = &dtype {
        match (names::is_narrow(name), packed.or(padded)) {
            (true, None) => cx.push(message::packing_not_said(*span, name)),
            (false, Some(key)) => cx.push(message::packing_of_whole_bytes(key, name)),
            _ => {}
        }
    }
    Some(Reading { dtype, padded: padded.is_some() })
}

fn expand(variants: &[Variant<'_>], input: &DeriveInput) -> TokenStream {
    let here = Span::mixed_site();
    let ident = &input.ident;
    let (impl_generics, args, own) = input.generics.split_for_impl();
    let params = Params::of(&input.generics);
    let mut predicates: Vec<TokenStream> =
        own.iter().flat_map(|own| &own.predicates).map(ToTokens::to_token_stream).collect();
    for variant in variants {
        if let Holds::Data { ty, .. } = variant.holds {
            if params.decide(ty) {
                predicates.push(quote!(#ty: __dlpack::Storage));
            }
        }
    }
    let where_clause = (!predicates.is_empty()).then(|| quote!(where #(#predicates),*));
    let types = variants.iter().enumerate().filter_map(|(index, variant)| {
        let Holds::Data { ty, .. } = variant.holds else { return None };
        let index = Literal::usize_unsuffixed(index);
        Some(quote! {
            #[automatically_derived]
            impl #impl_generics __dlpack::Variant<__Here, #index> for #ident #args #where_clause {
                type Data = #ty;
            }
        })
    });
    let item = quote!(<#ident #args>);
    let arms = |method| {
        let arms = variants.iter().enumerate();
        arms.map(|(index, variant)| arm(variant, index, method, &item)).collect::<TokenStream>()
    };
    let data = arms(Method::Data);
    let lend = arms(Method::Lend);
    let share = share(variants, &item);
    let import = import_storage(variants, input);
    quote_spanned! {here=>
        enum __Here {}
        #import
        #(#types)*
        #[automatically_derived]
        impl #impl_generics __dlpack::Storage for #ident #args #where_clause {
            #[inline(always)]
            fn data(&self) -> __dlpack::DataRef<'_> {
                match self { #data }
            }
            #[inline(always)]
            fn data_mut(&mut self) -> __dlpack::DataMut<'_> {
                match self { #lend }
            }
            #[inline(always)]
            fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
                #share
            }
        }
    }
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
    let erased = |(index, variant)| arm(variant, index, Method::Share, item);
    if !(1..MANY).contains(&last) {
        let arms = variants.iter().enumerate().map(erased);
        return quote_spanned!(here=> match self { #(#arms)* });
    }
    let mut number = 0_usize;
    let arms = variants.iter().enumerate().map(|(index, variant)| {
        let ident = variant.ident;
        let Holds::Data { member, .. } = &variant.holds else {
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
        let index = Literal::usize_unsuffixed(index);
        quote_spanned! {here=>
            Self::#ident { #member: __data, .. } => match __dlpack::sharer(__data).__dlpack_share() {
                __dlpack::Option::Some(__owner) => #owner,
                __dlpack::Option::None => {
                    return __dlpack::share::<__Here, #index, Self>(__data);
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
    let last = into.len().checked_sub(1)?;
    let ident = &input.ident;
    let (impl_generics, args, own) = input.generics.split_for_impl();
    let params = Params::of(&input.generics);
    let own = own.iter().flat_map(|own| &own.predicates).map(ToTokens::to_token_stream);
    let decided = into.iter().filter(|(_, _, ty, _)| params.decide(ty));
    let decided = decided.map(|(_, _, ty, _)| quote!(#ty: __dlpack::ImportStorage));
    let mut predicates = own.chain(decided).peekable();
    let where_clause = predicates.peek().is_some().then(|| quote!(where));
    let accepts =
        into.iter().map(|(_, _, ty, _)| quote_spanned!(here=> __dlpack::storage::<#ty>().accepts));
    let accepts: Vec<_> = accepts.collect();
    let storages =
        into.iter().map(|(_, _, ty, _)| quote_spanned!(here=> __dlpack::storage::<#ty>()));
    let storages: Vec<_> = storages.collect();
    let values = into.iter().map(|(variant, member, ty, beside)| {
        let variant = variant.map(|variant| quote_spanned!(here=> ::#variant));
        let held = quote_spanned!(here=> __dlpack::storage::<#ty>().of(__tensor)?);
        let mut fields = vec![(*member, held)];
        fields.extend(beside.iter().map(|(member, ty)| {
            (member, quote_spanned!(here=> <#ty as __dlpack::Default>::default()))
        }));
        filled(&quote_spanned!(here=> Self #variant), fields)
    });
    let values: Vec<_> = values.collect();
    let arms = values.iter().enumerate().map(|(number, value)| match number {
        // The index is one of these, so the last arm is `_`.
        number if number == last => quote_spanned!(here=> _ => #value,),
        number => {
            let number = Literal::usize_unsuffixed(number);
            quote_spanned!(here=> #number => #value,)
        }
    });
    let which = if last == 0 {
        quote!(#(#values)*)
    } else {
        quote_spanned! {here=>
            match __dlpack::which_holds(&__tensor, &[#(#accepts),*]) {
                #(#arms)*
            }
        }
    };
    Some(quote_spanned! {here=>
        #[automatically_derived]
        impl #impl_generics __dlpack::ImportStorage for #ident #args
        #where_clause #(#predicates),*
        {
            fn accepts(__tensor: &__dlpack::ImportedTensor) -> __dlpack::Result<(), __dlpack::MismatchKind> {
                __dlpack::any_holds(__tensor, &[#(#accepts),*])
            }
            fn axes(__tensor: &__dlpack::ImportedTensor) -> &'static [__dlpack::i64] {
                __dlpack::axes_of_one(__tensor, &[#((#storages.accepts, #storages.axes)),*])
            }
            fn keeps_strides(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
                __dlpack::one_keeps_strides(
                    __tensor,
                    &[#((#storages.accepts, #storages.keeps_strides)),*],
                )
            }
            fn from_imported(
                __tensor: __dlpack::ImportedTensor,
            ) -> __dlpack::Result<Self, __dlpack::Error> {
                __dlpack::Result::Ok(#which)
            }
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Data,
    Lend,
    Share,
}

/// The match arm of a method for a variant.
fn arm(variant: &Variant<'_>, index: usize, method: Method, item: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let variant_of = variant.ident.map(|ident| quote_spanned!(here=> ::#ident));
    let path = quote_spanned!(here=> Self #variant_of);
    let (member, reading) = match &variant.holds {
        Holds::Data { member, reading, .. } => (member, reading),
        Holds::Nothing => {
            let nothing = nothing(variant, method);
            return quote_spanned!(here=> #path { .. } => #nothing,);
        }
    };
    let index = Literal::usize_unsuffixed(index);
    let function = match (method, reading) {
        (Method::Data, None) => "data",
        (Method::Data, Some(_)) => "data_as",
        (Method::Lend, None) => "data_mut",
        (Method::Lend, Some(_)) => "data_mut_as",
        (Method::Share, _) => "share",
    };
    let function = Ident::new(function, here);
    let reading = match method {
        Method::Data | Method::Lend => reading.as_ref().map(|Reading { dtype, padded }| {
            let dtype = dtype.tokens(item);
            quote_spanned! {here=>
                __dlpack::Reading {
                    dtype: #dtype,
                    padded: #padded,
                    refusal: const { &__dlpack::Error::NotBytes { dtype: #dtype } },
                }
            }
        }),
        Method::Share => None,
    };
    quote_spanned! {here=>
        #path { #member: __data, .. } => {
            __dlpack::#function::<__Here, #index, Self>(__data, #reading)
        }
    }
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
    }
}

fn stub(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, args, where_clause) = input.generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #impl_generics __dlpack::Storage for #ident #args #where_clause {
            fn data(&self) -> __dlpack::DataRef<'_> {
                loop {}
            }
        }
    }
}
