//! `#[derive(DataType)]`: conversions between an enum and run-time element
//! types.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Fields, Variant};

use crate::attr::{self, ConstDType, Words};
use crate::attributes::{self, Direction};
use crate::ctxt::Ctxt;
use crate::dtype_names::{self as names, Named};
use crate::fallback::finish;
use crate::{expand, message};

/// A variant and its meaning.
struct Meaning<'a> {
    variant: &'a Ident,
    /// Whether the variant has no fields; a skipped variant may have some.
    unit: bool,
    is: Is,
}

/// The meaning of a variant.
enum Is {
    /// It has no DLPack type.
    Nothing,
    /// An element type. An alias is only converted into `DataType`, not back.
    Type { dtype: ConstDType, endian: Endian, alias: Option<Ident> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Endian {
    Native,
    Big,
    Little,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new(Direction::Export);
    let node = ("data type", &input.ident);
    let krate = Words::of_part(&cx, &input.attrs, node, attributes::ON_DATA_TYPE).krate(&cx);
    let model = match &input.data {
        Data::Enum(data) => {
            let meanings: Vec<_> =
                data.variants.iter().filter_map(|variant| meaning(&cx, variant)).collect();
            check_twins(&cx, &meanings);
            Some(meanings)
        }
        Data::Struct(_) | Data::Union(_) => {
            cx.push(message::wrong_item(input, "DataType", "enums"));
            None
        }
    };
    let names = expand::module(krate.as_ref(), "parts");
    finish(cx, names, input, model, |meanings| expand(&meanings, input), stub)
}

/// The meaning of a variant; `None` if it was rejected.
fn meaning<'a>(cx: &Ctxt, variant: &'a Variant) -> Option<Meaning<'a>> {
    let ident = &variant.ident;
    let known = attributes::ON_DATA_TYPE_VARIANT;
    let words = Words::of_part(cx, &variant.attrs, ("variant", ident), known);
    words.one_of(cx, &[attributes::SKIP, attributes::DTYPE]);
    words.one_of(cx, &[attributes::SKIP, attributes::ALIAS]);
    words.one_of(cx, &[attributes::SKIP, attributes::BIG_ENDIAN, attributes::LITTLE_ENDIAN]);
    let unit = matches!(variant.fields, Fields::Unit);
    if words.flag(cx, attributes::SKIP).is_some() {
        return Some(Meaning { variant: ident, unit, is: Is::Nothing });
    }
    if !unit {
        cx.push(message::dtype_variant_with_fields(ident));
        return None;
    }
    let alias = words.flag(cx, attributes::ALIAS).cloned();
    let big = words.flag(cx, attributes::BIG_ENDIAN).map(|_| Endian::Big);
    let little = words.flag(cx, attributes::LITTLE_ENDIAN).map(|_| Endian::Little);
    let endian = big.or(little).unwrap_or(Endian::Native);
    let dtype = match words.get(attributes::DTYPE) {
        Some(item) => attr::dtype(cx, item)?,
        // A word that was rejected may have been meant as the type.
        None if words.unread => return None,
        None => match names::named(&ident.unraw().to_string()) {
            Named::As(constant) => {
                let here = Span::mixed_site().located_at(ident.span());
                ConstDType::Named(Ident::new(constant, here))
            }
            Named::Ordered(constant, order) => {
                cx.push(message::byte_order_not_said(ident, constant, order));
                return None;
            }
            Named::Unclear { reason, candidates } => {
                cx.push(message::unclear_variant(ident, reason, &candidates));
                return None;
            }
        },
    };
    Some(Meaning { variant: ident, unit, is: Is::Type { dtype, endian, alias } })
}

/// The path of a type, for use in an impl for a type other than `item`.
pub(super) fn path_of(dtype: &ConstDType, item: &TokenStream) -> TokenStream {
    match dtype {
        ConstDType::Path(path) if path.segments[0].ident == "Self" => {
            let rest = path.segments.iter().skip(1);
            quote!(#item #(::#rest)*)
        }
        other => expand::dtype(other),
    }
}

/// A key for comparing types by their names.
fn name(dtype: &ConstDType) -> String {
    match dtype {
        ConstDType::Named(constant) => constant.to_string(),
        ConstDType::Path(path) => quote!(#path).to_string(),
    }
}

/// Rejects two variants with the same type unless one is an alias, and aliases
/// of no other variant.
fn check_twins(cx: &Ctxt, meanings: &[Meaning<'_>]) {
    let types = || {
        meanings.iter().filter_map(|meaning| match &meaning.is {
            Is::Type { dtype, endian, alias } => Some((meaning, (name(dtype), *endian), alias)),
            Is::Nothing => None,
        })
    };
    for (index, (meaning, dtype, alias)) in types().enumerate() {
        let is_twin = |other: &&(_, _, &Option<Ident>)| other.1 == dtype && other.2.is_none();
        if let Some(alias) = alias {
            if !types().any(|other| is_twin(&&other)) {
                cx.push(message::alias_of_nothing(alias, &dtype.0));
            }
        } else if let Some((first, ..)) = types().take(index).find(|other| is_twin(&other)) {
            cx.push(message::twin_variants(meaning.variant, first.variant, &dtype.0));
        }
    }
}

fn expand(meanings: &[Meaning<'_>], input: &DeriveInput) -> TokenStream {
    let here = Span::mixed_site();
    let ident = &input.ident;
    let (_, args, _) = input.generics.split_for_impl();
    let item = quote!(<#ident #args>);
    let into = meanings.iter().map(|meaning| {
        let variant = meaning.variant;
        let result = result(meaning, &item);
        let fields = (!meaning.unit).then(|| quote!({ .. }));
        quote_spanned!(here=> #ident::#variant #fields => #result,)
    });
    // A variant with a byte order is the native type on some machines only; one
    // without is native on every machine, and is tested first.
    let (native, ordered): (Vec<_>, Vec<_>) = canonical(meanings)
        .map(|(meaning, _, endian)| {
            let (variant, result) = (meaning.variant, result(meaning, &item));
            let test = quote_spanned! {here=>
                if __dlpack::is(__dtype, #result) {
                    return __dlpack::Result::Ok(#ident::#variant);
                }
            };
            (endian, test)
        })
        .partition(|(endian, _)| *endian == Endian::Native);
    let from = native.into_iter().chain(ordered).map(|(_, test)| test);
    let distinct = distinct(meanings, &item, input);
    let impls = conversions(
        input,
        &quote_spanned!(here=> match *__dtype { #(#into)* }),
        &quote_spanned! {here=>
            #(#from)*
            __dlpack::Result::Err(__dlpack::Error::NoVariant { dtype: __dtype })
        },
    );
    quote!(#impls #distinct)
}

/// The DLPack type of a variant, as a `Result`.
fn result(meaning: &Meaning<'_>, item: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    match &meaning.is {
        Is::Nothing => {
            let name = meaning.variant.unraw().to_string();
            quote_spanned! {here=>
                __dlpack::Result::Err(__dlpack::Error::NoDType { variant: #name })
            }
        }
        Is::Type { dtype, endian, .. } => {
            let dtype = path_of(dtype, item);
            match endian {
                Endian::Native => quote_spanned!(here=> __dlpack::Result::Ok(#dtype)),
                Endian::Big => quote_spanned!(here=> __dlpack::big_endian(#dtype)),
                Endian::Little => quote_spanned!(here=> __dlpack::little_endian(#dtype)),
            }
        }
    }
}

/// The variants to which types are converted.
fn canonical<'m, 'a>(
    meanings: &'m [Meaning<'a>],
) -> impl Iterator<Item = (&'m Meaning<'a>, &'m ConstDType, Endian)> {
    meanings.iter().filter_map(|meaning| match &meaning.is {
        Is::Type { dtype, endian, alias: None } => Some((meaning, dtype, *endian)),
        _ => None,
    })
}

/// Emits an assertion that types of unknown value are distinct.
fn distinct(
    meanings: &[Meaning<'_>],
    item: &TokenStream,
    input: &DeriveInput,
) -> Option<TokenStream> {
    let native = || canonical(meanings).filter(|(.., endian)| *endian == Endian::Native);
    let (meaning, ..) = native().find(|(_, dtype, _)| matches!(dtype, ConstDType::Path(_)))?;
    if !input.generics.params.is_empty() {
        return None;
    }
    let place = Span::mixed_site().located_at(meaning.variant.span());
    let dtypes = native().map(|(_, dtype, _)| path_of(dtype, item));
    Some(quote_spanned!(place=> __dlpack::assert_distinct(&[#(#dtypes),*]);))
}

/// The impls, with the bodies of both conversions.
fn conversions(input: &DeriveInput, into: &TokenStream, from: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let ident = &input.ident;
    let (impl_generics, args, where_clause) = input.generics.split_for_impl();
    quote_spanned! {here=>
        #[automatically_derived]
        impl #impl_generics __dlpack::TryFrom<&#ident #args> for __dlpack::DataType #where_clause {
            type Error = __dlpack::Error;
            #[inline]
            fn try_from(__dtype: &#ident #args) -> __dlpack::Result<Self, __dlpack::Error> {
                #into
            }
        }
        #[automatically_derived]
        impl #impl_generics __dlpack::TryFrom<#ident #args> for __dlpack::DataType #where_clause {
            type Error = __dlpack::Error;
            #[inline]
            fn try_from(__dtype: #ident #args) -> __dlpack::Result<Self, __dlpack::Error> {
                <Self as __dlpack::TryFrom<&#ident #args>>::try_from(&__dtype)
            }
        }
        #[automatically_derived]
        impl #impl_generics __dlpack::TryFrom<__dlpack::DataType> for #ident #args #where_clause {
            type Error = __dlpack::Error;
            #[inline]
            fn try_from(__dtype: __dlpack::DataType) -> __dlpack::Result<Self, __dlpack::Error> {
                #from
            }
        }
    }
}

fn stub(input: &DeriveInput) -> TokenStream {
    let never = quote_spanned!(Span::mixed_site()=> loop {});
    conversions(input, &never, &never)
}
