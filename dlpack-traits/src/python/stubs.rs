//! The types of arguments and results in generated stubs (feature `stubs`): constants of PyO3's
//! introspection.
//!
//! `_SupportsDLPack` and `_Array` are defined by `dlpack_doctor.stubs`, which completes a stub.

use core::marker::PhantomData;

use pyo3::inspect::{PyStaticConstant, PyStaticExpr};
use pyo3::{type_hint_identifier, type_hint_subscript};

use crate::dtype::DataType;
use crate::element::Element;
use crate::import::ImportedElement;

/// An array of NumPy, or a class that exports DLPack.
pub(super) const SUPPORTS_DLPACK: PyStaticExpr = PyStaticExpr::Name { id: "_SupportsDLPack" };

/// The type of the first argument, whose library makes the result.
pub(super) const OF_ARGUMENT: PyStaticExpr = PyStaticExpr::Name { id: "_Array" };

/// What NumPy converts.
pub(super) const ARRAY_LIKE: PyStaticExpr = type_hint_identifier!("numpy.typing", "ArrayLike");

/// Any array of NumPy.
pub(super) const ANY_ARRAY: PyStaticExpr = type_hint_subscript!(
    type_hint_identifier!("numpy.typing", "NDArray"),
    type_hint_identifier!("typing", "Any")
);

/// An array of records.
const RECORDS: PyStaticExpr = type_hint_subscript!(
    type_hint_identifier!("numpy.typing", "NDArray"),
    type_hint_identifier!("numpy", "void")
);

/// An argument: `typing.Annotated[_SupportsDLPack, "float32", "2 dimensions"]`.
pub(super) struct Argument<T, const N: usize, const ANY_RANK: usize>(PhantomData<T>);

impl<T: ImportedElement, const N: usize, const ANY_RANK: usize> Argument<T, N, ANY_RANK> {
    pub(super) const HINT: PyStaticExpr = match T::RECORD {
        Some(_) => RECORDS,
        None => type_hint_subscript!(
            type_hint_identifier!("typing", "Annotated"),
            SUPPORTS_DLPACK,
            text(Self::DTYPE),
            text(Self::RANK)
        ),
    };

    /// With the axes of each element.
    const RANK: &'static str = match N.saturating_add(T::AXES.len()) {
        _ if N == ANY_RANK => "any dimensions",
        0 => "0 dimensions",
        1 => "1 dimension",
        2 => "2 dimensions",
        3 => "3 dimensions",
        4 => "4 dimensions",
        5 => "5 dimensions",
        _ => "6 or more dimensions",
    };

    const DTYPE: &'static str = match T::DTYPE {
        Some(dtype) => match dtype.name() {
            Some(name) => name,
            None => "another dtype",
        },
        None => "any dtype",
    };
}

/// A result: `numpy.typing.NDArray[numpy.float32]`.
pub(super) struct Array<T>(PhantomData<T>);

impl<T: Element> Array<T> {
    pub(super) const HINT: PyStaticExpr =
        type_hint_subscript!(type_hint_identifier!("numpy.typing", "NDArray"), Self::SCALAR);

    const SCALAR: PyStaticExpr = match scalar(T::DTYPE) {
        _ if T::RECORD.is_some() => type_hint_identifier!("numpy", "void"),
        Some(name) => type_hint_identifier!("numpy", name),
        None => type_hint_identifier!("typing", "Any"),
    };
}

/// The class of NumPy's scalars of this type; `None` for types that NumPy does not have.
const fn scalar(dtype: DataType) -> Option<&'static str> {
    match dtype {
        DataType::BOOL => Some("bool_"),
        DataType::I8
        | DataType::I16
        | DataType::I32
        | DataType::I64
        | DataType::U8
        | DataType::U16
        | DataType::U32
        | DataType::U64
        | DataType::F16
        | DataType::F32
        | DataType::F64
        | DataType::COMPLEX64
        | DataType::COMPLEX128 => dtype.name(),
        _ => None,
    }
}

const fn text(value: &'static str) -> PyStaticExpr {
    PyStaticExpr::Constant { value: PyStaticConstant::Str(value) }
}
