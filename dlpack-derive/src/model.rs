//! What an expansion is made of. Whatever can be built of these types can be
//! expanded.

use proc_macro2::{Span, TokenStream};
use syn::{ExprPath, Generics, Ident, Member, Path, Type, WherePredicate};

use crate::symbol::Unit;

/// A type that can be exported.
pub(crate) struct Model<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// What is asked of the parameters, if not what the derive would ask.
    pub(crate) bound: Option<&'a [WherePredicate]>,
    pub(crate) kind: Kind<'a>,
    pub(crate) access: Access,
    /// Lists of lints that the user allows. What is allowed about a field is
    /// allowed about its type in the expansion too.
    pub(crate) allowed: Vec<&'a TokenStream>,
    /// Types of fields that the deleter drops, as far as the parameters do not
    /// decide about them.
    pub(crate) owned: Vec<&'a Type>,
}

/// What it is.
pub(crate) enum Kind<'a> {
    /// A struct that is a tensor.
    Tensor(Box<Tensor<'a>>),
    /// A struct around something exportable.
    Transparent(RoleField<'a>),
    /// One exportable out of several.
    Enum(Vec<Variant<'a>>),
}

/// A struct that is a tensor.
pub(crate) struct Tensor<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) layout: Layout<'a>,
    pub(crate) sync: Option<RoleField<'a>>,
}

/// Where the elements are.
pub(crate) enum Data<'a> {
    /// In a storage.
    Storage(RoleField<'a>),
    /// Behind a pointer, on the device that a field names, or else the CPU.
    Raw {
        /// Where the user wrote `unsafe`.
        spelled: Span,
        pointer: RoleField<'a>,
        unit: Unit,
        len: Dim<'a>,
        device: Option<RoleField<'a>>,
    },
}

/// How they lie there.
pub(crate) struct Layout<'a> {
    pub(crate) placement: Placement<'a>,
    pub(crate) len: Option<(Unit, RoleField<'a>)>,
    pub(crate) dtype: Option<DType<'a>>,
    pub(crate) device: Option<RoleField<'a>>,
    pub(crate) padded: bool,
}

/// Where each of them is.
pub(crate) enum Placement<'a> {
    /// A field knows.
    Nested(RoleField<'a>),
    /// Several fields know.
    Fields { shape: Shape<'a>, steps: Steps<'a>, offset: Option<(Unit, RoleField<'a>)> },
}

/// Where the shape comes from.
pub(crate) enum Shape<'a> {
    /// A field, of which another one may say how many entries are in use.
    Field { dims: RoleField<'a>, ndim: Option<RoleField<'a>> },
    /// A list above the struct.
    List(Vec<Dim<'a>>),
}

/// How far apart the elements are.
pub(crate) enum Steps<'a> {
    /// Compact, but for the pitch of the slowest axis.
    Compact { order: Order<'a>, pitch: Option<(Unit, RoleField<'a>)> },
    /// As a field lists it.
    Strides(Unit, RoleField<'a>),
}

/// Which axis is the fastest.
pub(crate) enum Order<'a> {
    RowMajor,
    ColumnMajor,
    Field(RoleField<'a>),
}

/// One number in a list.
#[derive(Clone, Copy)]
pub(crate) enum Dim<'a> {
    Integer(i64, Span),
    Constant(&'a ExprPath),
    Field(RoleField<'a>, Span),
}

/// Where the element type comes from, if not from the storage.
pub(crate) enum DType<'a> {
    Field(RoleField<'a>),
    /// A constant of `DataType`.
    Named(&'a Ident),
    /// Any constant.
    Path(&'a Path),
}

/// A field that has a role.
#[derive(Clone, Copy)]
pub(crate) struct RoleField<'a> {
    pub(crate) member: &'a Member,
    pub(crate) ty: &'a Type,
}

/// A variant of an enum.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) body: Body<'a>,
}

/// What is in a variant.
pub(crate) enum Body<'a> {
    /// Something exportable, alone or not.
    Inner { field: RoleField<'a>, alone: bool },
    /// Nothing that concerns DLPack.
    Skipped,
}

/// Whether consumers may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The storage decides.
    AsStorage,
    /// They may not.
    ReadOnly,
}
