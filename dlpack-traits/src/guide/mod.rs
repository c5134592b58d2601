//! The manual: one page per task.
//!
//! | task | page |
//! |---|---|
//! | export a struct to NumPy, PyTorch or C | [`export_my_struct`] |
//! | control which owners may write | [`mutability`] |
//! | choose element types: `f16`, 8-bit floats, pixels, enums of types | [`dtypes`] |
//! | make the struct a Python class | [`python_class`] |
//! | write Python functions over arrays | [`functions`] |
//! | import tensors | [`import`] |
//! | use the C exchange API, for example to launch kernels | [`exchange_table`] |
//! | export memory of a device | [`new_device`] |
//! | exchange tensors with C or C++, without Python | [`no_python`] |
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

#[doc = include_str!("functions.md")]
pub mod functions {}

#[doc = include_str!("import.md")]
pub mod import {}

#[doc = include_str!("exchange_table.md")]
pub mod exchange_table {}

#[doc = include_str!("new_device.md")]
pub mod new_device {}

#[doc = include_str!("no_python.md")]
pub mod no_python {}
