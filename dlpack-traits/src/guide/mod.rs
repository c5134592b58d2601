//! The manual, a page per task.
//!
//! | you want to | read |
//! |---|---|
//! | give a struct of yours to NumPy, PyTorch or C | [`export_my_struct`] |
//! | say who may write to it | [`mutability`] |
//! | name the elements: `f16`, 8-bit floats, pixels, enums of types | [`dtypes`] |
//! | make it a Python class | [`python_class`] |
//! | take tensors of others | [`import`] |
//! | launch kernels on them without a call into Python | [`exchange_table`] |
//! | bring memory of a device of your own | [`new_device`] |
//! | exchange tensors with C or C++, without Python | [`no_python`] |
//!
//! In the repository, `docs/derive.md` goes through the derive shape by shape,
//! `docs/coming-from.md` starts from other crates and from code by hand, and
//! `docs/standard.md` leads from each clause of DLPack to its code and its test.

#[doc = include_str!("export_my_struct.md")]
pub mod export_my_struct {}

#[doc = include_str!("mutability.md")]
pub mod mutability {}

#[doc = include_str!("dtypes.md")]
pub mod dtypes {}

#[doc = include_str!("python_class.md")]
pub mod python_class {}

#[doc = include_str!("import.md")]
pub mod import {}

#[doc = include_str!("exchange_table.md")]
pub mod exchange_table {}

#[doc = include_str!("new_device.md")]
pub mod new_device {}

#[doc = include_str!("no_python.md")]
pub mod no_python {}
