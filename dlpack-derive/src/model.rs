//! The input of the expansion. Every value of these types can be expanded.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprPath, Generics, Ident, Member, Type, WherePredicate};

use crate::ast::Field;
use crate::attr::Require;
use crate::attributes::{Role, Unit};

/// An exportable type.
pub(crate) struct Model<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// The user's bounds on the parameters, if they replace those of the derive.
    pub(crate) bound: Option<&'a [WherePredicate]>,
    pub(crate) kind: Kind<'a>,
    /// Whether consumers may never write; otherwise the storage decides.
    pub(crate) read_only: bool,
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
    Transparent(&'a Field<'a>),
    /// An enum whose variants hold exportable types.
    Enum(Vec<Variant<'a>>),
}

/// A struct with data and a layout.
pub(crate) struct Tensor<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) layout: Layout<'a>,
    pub(crate) sync: Option<&'a Field<'a>>,
}

/// The location of the elements.
pub(crate) enum Data<'a> {
    /// In a storage.
    Storage(&'a Field<'a>),
    /// In a slice that an owner of another crate lends.
    Slice {
        owner: &'a Field<'a>,
        element: &'a Type,
        /// Whether clones own the same memory.
        shared: bool,
    },
    /// Behind a pointer, on the stated device, or else the CPU.
    Raw {
        /// The span of the user's `unsafe`.
        spelled: Span,
        /// The pointer, or an owner that a function converts into it.
        pointer: &'a Field<'a>,
        unit: Unit,
        len: Given<'a>,
        device: Option<Given<'a>>,
        /// Whether consumers may write.
        writable: bool,
        /// The owner, if clones own the same memory.
        shared: Option<&'a Field<'a>>,
    },
}

/// The layout of the elements.
pub(crate) struct Layout<'a> {
    pub(crate) placement: Placement<'a>,
    pub(crate) len: Option<(Unit, Given<'a>)>,
    pub(crate) dtype: Option<Given<'a>>,
    pub(crate) device: Option<Given<'a>>,
    pub(crate) padded: bool,
    /// Whether the storage may have spare capacity behind a contiguous tensor.
    pub(crate) spare_capacity: bool,
    /// Fields without a role whose types may be aliases of integers, which the compiler
    /// decides. Each has the attribute that skips it.
    pub(crate) unmarked: Vec<(&'a Field<'a>, &'static str)>,
}

/// A value that is part of a layout.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) given: Given<'a>,
    pub(crate) role: Role,
    pub(crate) unit: Unit,
    /// The axis, if it is a number in a list on the struct.
    pub(crate) axis: Option<usize>,
}

impl Part<'_> {
    /// The function of `dlpack_traits` that reads or makes the value.
    pub(crate) fn function(&self) -> String {
        let word = match (self.role, self.axis) {
            (Role::Shape, Some(_)) => "extent",
            (Role::Strides, Some(_)) => "stride",
            (role, _) => role.word(),
        };
        match self.unit {
            Unit::Elements => word.to_owned(),
            Unit::Bytes => format!("byte_{word}"),
        }
    }
}

impl<'a> Layout<'a> {
    /// The word for the role of that field, if it is part of the layout.
    pub(crate) fn part(&self, member: &Member) -> Option<&'static str> {
        let parts = self.parts().into_iter();
        let mut fields = parts.filter_map(|part| Some((part.given.field()?, part.role)));
        fields.find(|(field, _)| field.member == *member).map(|(_, role)| role.word())
    }

    /// The parts of the layout, in the order in which expansions read them.
    pub(crate) fn parts(&self) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        let mut add = |role, unit, axis, given: Option<Given<'a>>| {
            parts.extend(given.map(|given| Part { given, role, unit, axis }));
        };
        let one = Unit::Elements;
        match &self.placement {
            Placement::Nested(field) => add(Role::Layout, one, None, Some(Given::of(field))),
            Placement::Fields { shape, steps, offset } => {
                match shape {
                    Shape::Whole { dims, ndim } => {
                        add(Role::Shape, one, None, Some(*dims));
                        add(Role::NDim, one, None, *ndim);
                    }
                    Shape::List(dims) => {
                        for (axis, dim) in dims.iter().enumerate() {
                            add(Role::Shape, one, Some(axis), Some(*dim));
                        }
                    }
                }
                match steps {
                    Steps::Strides(unit, strides) => {
                        add(Role::Strides, *unit, None, Some(*strides));
                    }
                    Steps::Listed(unit, list) => {
                        for (axis, stride) in list.iter().enumerate() {
                            add(Role::Strides, *unit, Some(axis), Some(*stride));
                        }
                    }
                    Steps::Compact { order, pitch } => {
                        add(Role::Order, one, None, *order);
                        if let Some((unit, pitch)) = pitch {
                            add(Role::Pitch, *unit, None, Some(*pitch));
                        }
                    }
                }
                if let Some((unit, offset)) = offset {
                    add(Role::Offset, *unit, None, Some(*offset));
                }
            }
        }
        if let Some((unit, len)) = self.len {
            add(Role::Len, unit, None, Some(len));
        }
        add(Role::DType, one, None, self.dtype);
        add(Role::Device, one, None, self.device);
        parts
    }

    /// Whether the shape is the only field or attribute that states where the elements are.
    pub(crate) fn is_only_a_shape(&self) -> bool {
        self.len.is_none()
            && matches!(
                self.placement,
                Placement::Fields {
                    steps: Steps::Compact { order: None, pitch: None },
                    offset: None,
                    ..
                }
            )
    }
}

/// Shape, strides and offset.
pub(crate) enum Placement<'a> {
    /// In one field.
    Nested(&'a Field<'a>),
    /// In several parts.
    Fields { shape: Shape<'a>, steps: Steps<'a>, offset: Option<(Unit, Given<'a>)> },
}

/// The source of the shape.
pub(crate) enum Shape<'a> {
    /// A list; another value may be the number of entries in use.
    Whole { dims: Given<'a>, ndim: Option<Given<'a>> },
    /// Numbers on the struct.
    List(Vec<Given<'a>>),
}

/// The strides of the elements.
pub(crate) enum Steps<'a> {
    /// Contiguous, except for the pitch of the slowest axis. Without an order, row-major, but an
    /// import also accepts data that keeps its strides.
    Compact { order: Option<Given<'a>>, pitch: Option<(Unit, Given<'a>)> },
    /// A list.
    Strides(Unit, Given<'a>),
    /// Numbers on the struct.
    Listed(Unit, Vec<Given<'a>>),
}

/// The source of a part of the layout.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    Integer(i64, Span),
    Constant(&'a ExprPath),
    /// Calls of functions and methods.
    Call(&'a Expr),
    Field(&'a Field<'a>, Span),
    /// Any size, in an import.
    Any,
}

impl<'a> Given<'a> {
    /// The value of a field with a role.
    pub(crate) fn of(field: &'a Field<'a>) -> Self {
        Given::Field(field, field.place())
    }

    /// The field that it refers to, if any.
    pub(crate) fn field(self) -> Option<&'a Field<'a>> {
        match self {
            Given::Field(field, _) => Some(field),
            Given::Integer(..) | Given::Constant(_) | Given::Call(_) | Given::Any => None,
        }
    }

    /// The span of its first token.
    pub(crate) fn span(self) -> Span {
        match self {
            Given::Integer(_, span) | Given::Field(_, span) => span,
            Given::Constant(path) => path.span(),
            Given::Call(call) => call.span(),
            Given::Any => Span::call_site(),
        }
    }
}

/// A variant of an enum.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) body: Body<'a>,
}

/// The content of a variant.
pub(crate) enum Body<'a> {
    /// An exportable value in one of the fields; the others are skipped.
    Inner { field: &'a Field<'a>, fields: &'a [Field<'a>] },
    /// The variant is skipped.
    Skipped,
}

/// An importable type.
pub(crate) struct Import<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    /// The user's bounds on the parameters, if they replace those of the derive.
    pub(crate) bound: Option<&'a [WherePredicate]>,
    pub(crate) source: Source<'a>,
    pub(crate) require: Option<&'a Require>,
    /// The function that validates the imported value.
    pub(crate) validate: Option<&'a ExprPath>,
}

/// The source of an imported value.
pub(crate) enum Source<'a> {
    /// The parts of a tensor.
    Tensor {
        layout: Box<Layout<'a>>,
        data: &'a Field<'a>,
        /// Whether the elements are copied.
        copy: bool,
        make: Make<'a>,
    },
    /// An importable value in a newtype.
    Transparent { inner: &'a Field<'a>, make: Make<'a> },
    /// The first variant that accepts the tensor.
    Enum(Vec<ImportVariant<'a>>),
}

/// How the struct is made from its fields.
pub(crate) enum Make<'a> {
    /// By a struct expression, with values for the fields that are not part of the tensor.
    Fields(Vec<(&'a Field<'a>, Beside<'a>)>),
    /// By a function whose arguments are the parts, in the order of the fields.
    Call(&'a ExprPath, Vec<&'a Field<'a>>),
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
    pub(crate) inner: &'a Field<'a>,
    pub(crate) beside: Vec<(&'a Field<'a>, Beside<'a>)>,
}
