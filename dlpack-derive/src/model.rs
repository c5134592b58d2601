//! The input of the expansion. Every value of these types can be expanded.

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprPath, Generics, Ident, Member, Path, Type, WherePredicate};

use crate::attr::Require;
use crate::symbol::{Role, Unit};

/// An exportable type.
pub(crate) struct Model<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// The user's bounds on the parameters, if they replace those of the derive.
    pub(crate) bound: Option<&'a [WherePredicate]>,
    pub(crate) kind: Kind<'a>,
    pub(crate) access: Access,
    /// The lint lists that the user allows. A lint that is allowed on a field is also
    /// allowed in the expansion, which contains the field's type.
    pub(crate) allowed: Vec<&'a TokenStream>,
    /// The types of fields that the deleter drops, except for types that depend on a
    /// parameter.
    pub(crate) owned: Vec<(&'a Type, Dropped)>,
}

/// The role of a field that a deleter drops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The owner of the elements.
    Owner,
    /// Another field.
    Beside,
}

/// The kind of an exportable type.
pub(crate) enum Kind<'a> {
    /// A struct with data and a layout.
    Tensor(Box<Tensor<'a>>),
    /// A newtype around an exportable type.
    Transparent(RoleField<'a>),
    /// An enum whose variants hold exportable types.
    Enum(Vec<Variant<'a>>),
}

/// A struct with data and a layout.
pub(crate) struct Tensor<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) layout: Layout<'a>,
    pub(crate) sync: Option<RoleField<'a>>,
}

/// The location of the elements.
pub(crate) enum Data<'a> {
    /// In a storage.
    Storage(RoleField<'a>),
    /// In a slice that an owner of another crate lends.
    Slice {
        owner: RoleField<'a>,
        element: &'a Type,
        /// Whether clones own the same memory.
        shared: bool,
    },
    /// Behind a pointer, on the device that a field contains, or else the CPU.
    Raw {
        /// The span of the user's `unsafe`.
        spelled: Span,
        pointer: RoleField<'a>,
        unit: Unit,
        len: Dim<'a>,
        device: Option<RoleField<'a>>,
    },
}

/// The layout of the elements.
pub(crate) struct Layout<'a> {
    pub(crate) placement: Placement<'a>,
    pub(crate) len: Option<(Unit, RoleField<'a>)>,
    pub(crate) dtype: Option<DType<'a>>,
    pub(crate) device: Option<RoleField<'a>>,
    pub(crate) padded: bool,
    /// Whether the storage may have spare capacity behind a contiguous tensor.
    pub(crate) spare_capacity: bool,
    /// Fields without a role whose types may be aliases of integers, which the compiler
    /// decides. Each has the attribute that skips it.
    pub(crate) unmarked: Vec<(RoleField<'a>, &'static str)>,
}

impl<'a> Layout<'a> {
    /// The word for the role of that field, if it is part of the layout.
    pub(crate) fn part(&self, member: &Member) -> Option<&'static str> {
        let mut fields = self.fields().into_iter();
        fields.find(|(field, _)| field.member == member).map(|(_, word)| word)
    }

    /// The fields of the layout, each with the word for its role.
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
                            add(dim.field(), Role::Shape);
                        }
                    }
                }
                match steps {
                    Steps::Strides(_, field) => add(Some(*field), Role::Strides),
                    Steps::Listed(_, list) => {
                        for stride in list {
                            add(stride.field(), Role::Strides);
                        }
                    }
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

    /// Whether the shape is the only field or attribute that states where the elements are.
    pub(crate) fn is_only_a_shape(&self) -> bool {
        self.len.is_none()
            && matches!(
                self.placement,
                Placement::Fields {
                    steps: Steps::Compact { order: Order::Default, pitch: None },
                    offset: None,
                    ..
                }
            )
    }
}

/// Shape, strides and offset.
pub(crate) enum Placement<'a> {
    /// In one field.
    Nested(RoleField<'a>),
    /// In several fields.
    Fields { shape: Shape<'a>, steps: Steps<'a>, offset: Option<(Unit, RoleField<'a>)> },
}

/// The source of the shape.
pub(crate) enum Shape<'a> {
    /// A field; another field may contain the number of entries in use.
    Field { dims: RoleField<'a>, ndim: Option<RoleField<'a>> },
    /// A list on the struct.
    List(Vec<Dim<'a>>),
}

/// The strides of the elements.
pub(crate) enum Steps<'a> {
    /// Contiguous, except for the pitch of the slowest axis.
    Compact { order: Order<'a>, pitch: Option<(Unit, RoleField<'a>)> },
    /// The list in a field.
    Strides(Unit, RoleField<'a>),
    /// A list on the struct.
    Listed(Unit, Vec<Dim<'a>>),
}

/// Which axis is the fastest.
pub(crate) enum Order<'a> {
    /// Not stated. Row-major, but an import also accepts data that keeps its strides.
    Default,
    RowMajor,
    ColumnMajor,
    Field(RoleField<'a>),
}

/// A number in a list.
#[derive(Clone, Copy)]
pub(crate) enum Dim<'a> {
    Integer(i64, Span),
    Constant(&'a ExprPath),
    /// Calls of methods, from `self` on.
    Method(&'a Expr),
    Field(RoleField<'a>, Span),
    /// Any size, in an import.
    Any,
}

impl<'a> Dim<'a> {
    /// The field that it refers to, if any.
    pub(crate) fn field(self) -> Option<RoleField<'a>> {
        match self {
            Dim::Field(field, _) => Some(field),
            Dim::Integer(..) | Dim::Constant(_) | Dim::Method(_) | Dim::Any => None,
        }
    }

    /// The span of its first token.
    pub(crate) fn span(self) -> Span {
        match self {
            Dim::Integer(_, span) | Dim::Field(_, span) => span,
            Dim::Constant(path) => path.span(),
            Dim::Method(call) => call.span(),
            Dim::Any => Span::call_site(),
        }
    }
}

/// The source of the element type, if it is not the storage.
pub(crate) enum DType<'a> {
    Field(RoleField<'a>),
    /// A constant of `DataType`.
    Named(&'a Ident),
    /// Any other constant.
    Path(&'a Path),
}

/// A field with a role.
#[derive(Clone, Copy)]
pub(crate) struct RoleField<'a> {
    pub(crate) member: &'a Member,
    pub(crate) ty: &'a Type,
    /// The function that converts the field.
    pub(crate) with: Option<&'a ExprPath>,
}

/// A variant of an enum.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) body: Body<'a>,
}

/// The content of a variant.
pub(crate) enum Body<'a> {
    /// An exportable value, alone or with skipped fields.
    Inner { field: RoleField<'a>, alone: bool },
    /// The variant is skipped.
    Skipped,
}

/// Whether consumers may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// If the storage allows it.
    AsStorage,
    /// Never.
    ReadOnly,
}

/// An importable type.
pub(crate) struct Import<'a> {
    pub(crate) krate: Option<&'a Path>,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// The user's bounds on the parameters, if they replace those of the derive.
    pub(crate) bound: Option<&'a [WherePredicate]>,
    pub(crate) source: Source<'a>,
    pub(crate) require: Option<&'a Require>,
    /// The function that validates the imported value.
    pub(crate) validate: Option<&'a ExprPath>,
    /// The lint lists that the user allows.
    pub(crate) allowed: Vec<&'a TokenStream>,
}

/// The source of an imported value.
pub(crate) enum Source<'a> {
    /// The parts of a tensor.
    Tensor {
        layout: Box<Layout<'a>>,
        data: RoleField<'a>,
        /// Whether the elements are copied.
        copy: bool,
        make: Make<'a>,
    },
    /// An importable value in a newtype.
    Transparent { inner: RoleField<'a>, make: Make<'a> },
    /// The first variant that accepts the tensor.
    Enum(Vec<ImportVariant<'a>>),
}

/// How the struct is made from its fields.
pub(crate) enum Make<'a> {
    /// By a struct expression, with values for the fields that are not part of the tensor.
    Fields(Vec<(RoleField<'a>, Beside<'a>)>),
    /// By a function whose arguments are the parts, in the order of the fields.
    Call(&'a ExprPath, Vec<RoleField<'a>>),
}

/// The value of a field that is not part of the tensor.
pub(crate) enum Beside<'a> {
    /// The default of its type.
    Default,
    /// The result of a function.
    Call(&'a ExprPath),
}

/// A variant that an import can select.
pub(crate) struct ImportVariant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) inner: RoleField<'a>,
    pub(crate) beside: Vec<(RoleField<'a>, Beside<'a>)>,
}
