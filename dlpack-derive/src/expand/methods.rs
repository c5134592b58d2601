//! The methods of an export: [`Method`], [`Methods`].

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Type;

use super::tokens::local;

/// A method of `DLPackExport`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Describe,
    /// The default of the trait lets no consumer write.
    DescribeMut,
    /// The storage, which `share` uses by default.
    Storage,
    /// The default of the trait is for work that the storage itself synchronizes.
    SyncFor,
    Share,
    /// The default of the trait asks the storage, which a newtype and an enum may not have.
    RecordType,
    /// The default of the trait makes another owner. A newtype forwards the method, because the
    /// inner value may be exportable without an allocation; and an enum, because each variant
    /// knows the type of its owner at compile time.
    ToDlpackOn,
}

/// Methods with their bodies; the others have the default of the trait.
pub(super) type Methods = Vec<(Method, TokenStream)>;

impl Method {
    /// All methods.
    pub(super) const ALL: [Method; 7] = [
        Method::Describe,
        Method::DescribeMut,
        Method::Storage,
        Method::SyncFor,
        Method::Share,
        Method::RecordType,
        Method::ToDlpackOn,
    ];

    /// The method, with that body. It is `doc(hidden)`: rustdoc then shows the trait's own
    /// signature, without names of the expansion.
    pub(super) fn with(self, body: &TokenStream) -> TokenStream {
        let here = Span::mixed_site();
        match self {
            Method::Describe => quote_spanned! {here=>
                #[doc(hidden)]
                #[inline(always)]
                fn describe<'__dlpack>(
                    &'__dlpack self,
                    __out: __dlpack::Describe<'__dlpack>,
                ) -> __dlpack::Result<__dlpack::Description<'__dlpack>, __dlpack::Error> { #body }
            },
            Method::DescribeMut => quote_spanned! {here=>
                #[doc(hidden)]
                #[inline(always)]
                fn describe_mut<'__dlpack>(
                    &'__dlpack mut self,
                    __out: __dlpack::Describe<'__dlpack>,
                ) -> __dlpack::Result<__dlpack::DescriptionMut<'__dlpack>, __dlpack::Error> { #body }
            },
            Method::Storage => quote_spanned! {here=>
                #[inline(always)]
                fn storage(&self) -> __dlpack::Option<&dyn __dlpack::Storage> { #body }
            },
            Method::SyncFor => quote_spanned! {here=>
                #[doc(hidden)]
                #[inline]
                fn sync_for(
                    &self,
                    __consumer: __dlpack::StreamArg<'_>,
                ) -> __dlpack::Result<(), __dlpack::Error> { #body }
            },
            Method::Share => quote_spanned! {here=>
                #[inline]
                fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> { #body }
            },
            Method::RecordType => quote_spanned! {here=>
                #[doc(hidden)]
                #[inline]
                fn record_type(&self) -> __dlpack::Option<&'static __dlpack::RecordType> { #body }
            },
            Method::ToDlpackOn => quote_spanned! {here=>
                #[doc(hidden)]
                #[inline]
                fn to_dlpack_on(
                    &self,
                    __consumer: __dlpack::StreamArg<'_>,
                ) -> __dlpack::Result<__dlpack::ManagedTensor, __dlpack::Error> { #body }
            },
        }
    }

    /// The same method of another exportable value.
    pub(super) fn of(self, ty: &Type, value: &TokenStream) -> TokenStream {
        let (name, argument) = match self {
            Method::Describe => ("describe", Some("__out")),
            Method::DescribeMut => ("describe_mut", Some("__out")),
            Method::Storage => ("storage", None),
            Method::SyncFor => ("sync_for", Some("__consumer")),
            Method::Share => ("share", None),
            Method::RecordType => ("record_type", None),
            Method::ToDlpackOn => ("to_dlpack_on", Some("__consumer")),
        };
        let (here, name) = (Span::mixed_site(), local(name));
        let argument = argument.map(local).map(|argument| quote_spanned!(here=> , #argument));
        quote_spanned!(here=> <#ty as __dlpack::DLPackExport>::#name(#value #argument))
    }
}
