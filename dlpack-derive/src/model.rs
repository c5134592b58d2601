//! What an expansion is made of. Whatever can be built of these types can be
//! expanded.

use proc_macro2::{Ident, Span, TokenStream};
use syn::{ExprPath, Generics, Path, Type};

/// A struct that is a tensor.
pub(crate) struct Model<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) data: RoleField<'a>,
    pub(crate) shape: Shape<'a>,
    pub(crate) strides: Option<RoleField<'a>>,
    pub(crate) byte_offset: Option<RoleField<'a>>,
    pub(crate) dtype: Option<RoleField<'a>>,
    pub(crate) device: Option<RoleField<'a>>,
    pub(crate) access: Access,
    /// Lists of lints that the user allows. What is allowed about a field is
    /// allowed about its type in the expansion too.
    pub(crate) allowed: Vec<&'a TokenStream>,
    /// Types of fields that the deleter drops, as far as the struct's
    /// parameters do not decide about them.
    pub(crate) owned: Vec<&'a Type>,
}

/// A field that has a role.
#[derive(Clone, Copy)]
pub(crate) struct RoleField<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
}

/// Where the shape comes from.
pub(crate) enum Shape<'a> {
    Field(RoleField<'a>),
    Constant(&'a [ConstDim]),
}

/// One dimension of a constant shape.
pub(crate) enum ConstDim {
    Integer(i64, Span),
    Constant(ExprPath),
}

/// Whether consumers may write.
pub(crate) enum Access {
    /// The storage decides.
    AsStorage,
    /// They may not.
    ReadOnly,
}
