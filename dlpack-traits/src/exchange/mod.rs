//! The DLPack 1.3 C exchange API: exchanges tensors between libraries without a call into
//! Python, and without Python at all.
//!
//! [`table`] makes the exchange table of a class of objects. Three of its five functions
//! take a pointer to an object; an [`ObjectHost`] defines what such an object is. Python is one
//! host (`python::PyHost`, feature `pyo3`); a C++ program is another.
//!
//! | function of the table | does |
//! |---|---|
//! | `managed_tensor_allocator` | allocates a zeroed tensor on a device of the class's [`Backends`](crate::backend::Backends) |
//! | `managed_tensor_from_py_object_no_sync` | exports an owning tensor of an object, which stays usable |
//! | `managed_tensor_to_py_object_no_sync` | creates an object from an owning tensor, if the class is [`Importable`] |
//! | `dltensor_from_py_object_no_sync` | exports a borrowed tensor of an object, without an allocation for up to 8 dimensions |
//! | `current_work_stream` | returns the stream of a device; NULL on the CPU |
//!
//! The functions reject the same tensors as `__dlpack__`, and catch panics. On failure
//! they write NULL, call [`ObjectHost::raise`] (or `SetError`) exactly once, and return -1.
//!
//! # Ownership after a failure
//!
//! The standard says that `managed_tensor_to_py_object_no_sync` steals the tensor. It
//! does not say whether it does so when it fails. Here it does not: after a failure the
//! caller still owns the tensor, as with PyTorch's table, and as tvm-ffi expects, which
//! then calls the deleter. (A [`from_dlpack`](crate::DLPackImport::from_dlpack) that
//! stores the tensor elsewhere and then fails has kept the tensor.)

mod allocator;
mod borrowed;
#[cfg(any(feature = "pyo3", test))]
pub(crate) mod foreign_table;
mod host;
mod interned_dims;
#[cfg(any(feature = "pyo3", test))]
pub(crate) mod relay;
mod table;
mod to_object;

use core::ffi::CStr;

pub use host::{ObjectHost, TableError, Wrap};
pub use table::table;

pub use crate::managed::Release;
pub use to_object::{Importable, NotImportable, ToObject};

/// The attribute of a Python type that holds the exchange table.
pub const ATTRIBUTE: &CStr = c"__dlpack_c_exchange_api__";

/// The name of that attribute before DLPack 1.3.
pub const OLD_ATTRIBUTE: &CStr = c"__c_dlpack_exchange_api__";

/// The name of the Python capsule in that attribute.
pub const CAPSULE: &CStr = c"dlpack_exchange_api";
