//! What an expansion is made of. Whatever can be built of these types can be
//! expanded.

use proc_macro2::{Span, TokenStream};
use syn::{ExprPath, Generics, Ident, Member, Path, Type, WherePredicate};

use crate::attr::Require;
use crate::symbol::{Role, Unit};

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
    pub(crate) owned: Vec<(&'a Type, Dropped)>,
}

/// What a deleter drops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The owner of the elements.
    Owner,
    /// Another field.
    Beside,
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
    /// Fields without a role, of types that may be aliases of integers, which the compiler
    /// decides; each with the attribute that skips it.
    pub(crate) unsaid: Vec<(RoleField<'a>, &'static str)>,
}

impl<'a> Layout<'a> {
    /// The word for what that field says, if it says something.
    pub(crate) fn part(&self, member: &Member) -> Option<&'static str> {
        let mut fields = self.fields().into_iter();
        fields.find(|(field, _)| field.member == member).map(|(_, word)| word)
    }

    /// Its fields, each with that word.
    fn fields(&self) -> Vec<(RoleField<'a>, &'static str)> {
        let mut fields = Vec::new();
        let mut add = |field: Option<RoleField<'a>>, role: Role| {
            fields.extend(field.map(|field| (field, role.word())));
        };
        match &self.placement {
            Placement::Nested(field) => add(Some(*field), Role::Layout),
            Placement::Fields { shape, steps, offset } => {
                match shape {
                    Shape::Field { dims, ndim } => {
                        add(Some(*dims), Role::Shape);
                        add(*ndim, Role::NDim);
                    }
                    Shape::List(dims) => {
                        for dim in dims {
                            if let Dim::Field(field, _) = dim {
                                add(Some(*field), Role::Shape);
                            }
                        }
                    }
                }
                match steps {
                    Steps::Strides(_, field) => add(Some(*field), Role::Strides),
                    Steps::Compact { order, pitch } => {
                        if let Order::Field(field) = order {
                            add(Some(*field), Role::Order);
                        }
                        add(pitch.map(|(_, field)| field), Role::Pitch);
                    }
                }
                add(offset.map(|(_, field)| field), Role::Offset);
            }
        }
        add(self.len.map(|(_, field)| field), Role::Len);
        if let Some(DType::Field(field)) = self.dtype {
            add(Some(field), Role::DType);
        }
        add(self.device, Role::Device);
        fields
    }
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

/// A type that can be imported.
pub(crate) struct Import<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// What is asked of the parameters, if not what the derive would ask.
    pub(crate) bound: Option<&'a [WherePredicate]>,
    pub(crate) source: Source<'a>,
    pub(crate) require: Option<&'a Require>,
    /// What has a last look at it.
    pub(crate) validate: Option<&'a ExprPath>,
    /// Lists of lints that the user allows.
    pub(crate) allowed: Vec<&'a TokenStream>,
}

/// What it is made of.
pub(crate) enum Source<'a> {
    /// The parts of a tensor.
    Tensor {
        layout: Box<Layout<'a>>,
        data: RoleField<'a>,
        /// Whether the data is a copy.
        copy: bool,
        make: Make<'a>,
    },
    /// Something importable.
    Transparent { inner: RoleField<'a>, make: Make<'a> },
    /// The first variant that accepts the tensor.
    Enum(Vec<ImportVariant<'a>>),
}

/// How the fields become the struct.
pub(crate) enum Make<'a> {
    /// By the struct's own braces, with these values beside the parts.
    Fields(Vec<(RoleField<'a>, Beside<'a>)>),
    /// By a function of the parts, in the order of the fields.
    Call(&'a ExprPath, Vec<RoleField<'a>>),
}

/// What a field is that is no part of the tensor.
pub(crate) enum Beside<'a> {
    /// The default of its type.
    Default,
    /// What a function says.
    Call(&'a ExprPath),
}

/// A variant that tensors can be imported into.
pub(crate) struct ImportVariant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) inner: RoleField<'a>,
    pub(crate) beside: Vec<(RoleField<'a>, Beside<'a>)>,
}
