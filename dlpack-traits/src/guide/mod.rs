//! The guide: one page per task.
//!
//! | task | page |
//! |---|---|
//! | export a struct to NumPy, PyTorch or C | [`export_my_struct`] |
//! | control which owners may write | [`mutability`] |
//! | choose element types: `f16`, 8-bit floats, pixels, enums of types | [`dtypes`] |
//! | make the struct a Python class | [`python_class`] |
//! | accept an array in a Python function | [`accept_array`] |
//! | accept several dtypes, and convert while reading | [`several_dtypes`] |
//! | return an array from it | [`return_array`] |
//! | make a function of numbers a function of arrays | [`elementwise`] |
//! | put several tensors in one class, argument or result | [`several_tensors`] |
//! | exchange structs as structured arrays, and each field as a tensor | [`records`] |
//! | keep an argument, and return a part of it | [`keep_argument`] |
//! | change the caller's array in place | [`change_in_place`] |
//! | release the GIL during a computation | [`release_gil`] |
//! | use threads of rayon | [`rayon`] |
//! | write an `async fn`, and compute on threads of Tokio | [`async_functions`] |
//! | use arrays of `ndarray` | [`ndarray`] |
//! | raise errors that tell the caller what to do | [`errors`] |
//! | export generic tensors, in the style of burn and candle | [`generic_tensors`] |
//! | launch a kernel of a device on the caller's stream | [`device_functions`] |
//! | import tensors | [`import`] |
//! | call the exchange tables of other libraries | [`exchange_table`] |
//! | export memory of a device | [`new_device`] |
//! | exchange tensors with C or C++, without Python | [`no_python`] |
//! | come from rust-numpy | [`from_rust_numpy`] |
//! | come from `nb::ndarray` of nanobind | [`from_nanobind`] |
//!
//! The repository also contains `docs/derive.md` (the derive by example),
//! `docs/coming-from.md` (from other crates and from C structs by hand) and
//! `docs/standard.md` (each clause of DLPack with its code and its test).

#[doc = include_str!("export_my_struct.md")]
pub mod export_my_struct {}

#[doc = include_str!("mutability.md")]
pub mod mutability {}

#[doc = include_str!("dtypes.md")]
pub mod dtypes {}

#[doc = include_str!("python_class.md")]
pub mod python_class {}

#[doc = include_str!("accept_array.md")]
pub mod accept_array {}

#[doc = include_str!("several_dtypes.md")]
pub mod several_dtypes {}

#[doc = include_str!("return_array.md")]
pub mod return_array {}

#[doc = include_str!("elementwise.md")]
pub mod elementwise {}

#[doc = include_str!("several_tensors.md")]
pub mod several_tensors {}

#[doc = include_str!("records.md")]
pub mod records {}

#[doc = include_str!("keep_argument.md")]
pub mod keep_argument {}

#[doc = include_str!("change_in_place.md")]
pub mod change_in_place {}

#[doc = include_str!("release_gil.md")]
pub mod release_gil {}

#[doc = include_str!("rayon.md")]
pub mod rayon {}

#[doc = include_str!("async_functions.md")]
pub mod async_functions {}

#[doc = include_str!("ndarray.md")]
pub mod ndarray {}

#[doc = include_str!("errors.md")]
pub mod errors {}

#[doc = include_str!("generic_tensors.md")]
pub mod generic_tensors {}

#[doc = include_str!("device_functions.md")]
pub mod device_functions {}

#[doc = include_str!("import.md")]
pub mod import {}

#[doc = include_str!("exchange_table.md")]
pub mod exchange_table {}

#[doc = include_str!("new_device.md")]
pub mod new_device {}

#[doc = include_str!("no_python.md")]
pub mod no_python {}

#[doc = include_str!("from_rust_numpy.md")]
pub mod from_rust_numpy {}

#[doc = include_str!("from_nanobind.md")]
pub mod from_nanobind {}
