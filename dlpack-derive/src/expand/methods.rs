//! The bodies of the methods of an export: [`Methods`].

use proc_macro2::TokenStream;

/// The bodies of the methods of the trait.
pub(super) struct Methods {
    pub(super) describe: TokenStream,
    /// `None`: consumers may not write, which is the default of the trait.
    pub(super) describe_mut: Option<TokenStream>,
    /// The storage, which `share` uses by default.
    pub(super) storage: Option<TokenStream>,
    /// `None`: only work that the storage itself synchronizes.
    pub(super) sync_for: Option<TokenStream>,
    pub(super) share: Option<TokenStream>,
    /// `None`: the default of the trait, with another owner. A newtype forwards it, because
    /// the inner value may be exportable without an allocation.
    pub(super) to_dlpack_on: Option<TokenStream>,
}
