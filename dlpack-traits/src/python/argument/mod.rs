//! Function arguments: arrays that are checked when the function is called, and one body for several
//! element types: [`dispatch!`](crate::python::dispatch).

mod by_numpy;
mod checks;
mod convert;
mod device_tensor;
mod mismatch;
mod tensor;
mod tensor_mut;
mod tensors;
mod wrappers;

use pyo3::PyResult;

pub use checks::ANY_RANK;
pub use convert::{Convert, Convertible};
pub use device_tensor::PyDeviceTensor;
pub use tensor::{PyRecords, PyTensor};
pub use tensor_mut::PyTensorMut;
pub use tensors::PyTensors;
pub use wrappers::{AtMost, Exact, FromTensor};

pub(super) use convert::or_with_missing;
pub(super) use mismatch::{Passed, Shape, of_dtypes, range_of};
pub(super) use tensor::Access;
pub(super) use tensors::in_place;

/// Calls one expression with an argument of any of several element types.
///
/// The expression after the name is compiled for each type, with the argument as a
/// `PyTensor<'_, T, N>` of that type, and the one of its dtype runs. For another dtype the result is
/// the `TypeError` of [`dtype_error`](crate::python::PyTensor::dtype_error), with the name of the
/// argument, what is accepted, and the conversion. The argument is moved into the expression, and not
/// imported again.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::AnyBits;
/// use dlpack_traits::python::{AnyElement, PyTensor, dispatch};
/// use pyo3::prelude::*;
///
/// /// The largest absolute value.
/// #[pyfunction]
/// fn norm(x: PyTensor<'_, AnyElement, 1>) -> PyResult<f64> {
///     dispatch!(x: f32 | f64 | i32 => |x| Ok(largest(&x)))
/// }
///
/// fn largest<T: AnyBits + Into<f64>>(x: &PyTensor<'_, T, 1>) -> f64 {
///     x.elements().iter().map(|value| value.into().abs()).fold(0.0, f64::max)
/// }
/// ```
///
/// The value of the macro is a `PyResult`, as that of the expression. In the expression `return`, `?` and
/// `break` act on the function around the macro. The name is that of a variable that owns a `PyTensor` or
/// `PyTensorMut` without an element type: write `let x = x.0;` for one in `Convert` or `Exact`.
///
/// # Several arguments
///
/// Further arguments must have the dtype of the first one:
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::AnyBits;
/// use dlpack_traits::python::{AnyElement, PyTensor, PyTensorMut, dispatch};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn add(x: PyTensorMut<'_, AnyElement, 1>, y: PyTensor<'_, AnyElement, 1>) -> PyResult<()> {
///     dispatch!((x, y): f32 | f64 => |mut x, y| add_to(&mut x, &y))
/// }
///
/// fn add_to<T: AnyBits + std::ops::Add<Output = T>>(
///     x: &mut PyTensorMut<'_, T, 1>,
///     y: &PyTensor<'_, T, 1>,
/// ) -> PyResult<()> {
///     let mut sums = x.elements().to_vec()?;
///     sums.iter_mut().zip(y.elements().iter()).for_each(|(sum, y)| *sum = *sum + y);
///     Ok(x.elements_mut().copy_from_slice(&sums)?)
/// }
/// ```
///
/// An enum of `PyTensor`s that derives PyO3's `FromPyObject` accepts several dtypes too: it imports the
/// argument once for each variant that does not fit, and raises PyO3's list of their errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    ($x:ident: $($T:ty)|+ => |$a:pat_param| $body:expr $(,)?) => {
        $crate::python::dispatch!(@ $x ($x) ($a) [$($T),+] $body)
    };
    (($x:ident $(, $more:ident)* $(,)?): $($T:ty)|+ => |$($a:pat_param),+ $(,)?| $body:expr $(,)?) => {
        $crate::python::dispatch!(@ $x ($x $(, $more)*) ($($a),+) [$($T),+] $body)
    };
    (@ $first:ident $arguments:tt $typed:tt [$($T:ty),+] $body:expr) => {
        match $first.dtype() {
            $(found if found == <$T as $crate::Element>::DTYPE => {
                $crate::python::dispatch!(@typed $T, $arguments $typed $body)
            })+
            _ => ::core::result::Result::Err($first.not_accepted(
                ::core::stringify!($first),
                &[$(<$T as $crate::Element>::DTYPE),+],
            )),
        }
    };
    (@typed $T:ty, ($($x:ident),+) ($($a:pat_param),+) $body:expr) => {
        match $crate::python::all_typed(move || {
            ::core::result::Result::Ok(($($x.typed_as::<$T>(::core::stringify!($x))?,)+))
        }) {
            ::core::result::Result::Ok(($($a,)+)) => $body,
            ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
        }
    };
}

pub use __dispatch as dispatch;

/// Calls a function that returns arguments of one type, for [`dispatch!`](crate::python::dispatch).
#[doc(hidden)]
pub fn all_typed<A>(arguments: impl FnOnce() -> PyResult<A>) -> PyResult<A> {
    arguments()
}
