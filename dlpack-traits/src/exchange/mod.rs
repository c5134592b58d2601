//! The C exchange table of DLPack 1.3: tensors between libraries without a call
//! into Python, and without Python at all.
//!
//! [`table`] makes the table of a class of objects. Three of its five functions
//! take a pointer to an object; what such an object is, a [`Host`] says. Python
//! is one host (`python::PyHost`, feature `pyo3`); a C++ program is another.
//!
//! | function of the table | does |
//! |---|---|
//! | `managed_tensor_allocator` | a zeroed tensor on a device of the class's [`Backends`](crate::backend::Backends) |
//! | `managed_tensor_from_py_object_no_sync` | an owning tensor of an object, which stays usable |
//! | `managed_tensor_to_py_object_no_sync` | an object of an owning tensor, where the class is [`Importable`] |
//! | `dltensor_from_py_object_no_sync` | a borrowed tensor of an object, without an allocation |
//! | `current_work_stream` | the stream of a device; NULL on the CPU |
//!
//! They refuse what `__dlpack__` refuses. No panic leaves them. On a failure
//! they return -1, have written NULL, and [`Host::raise`] (or `SetError`) was
//! called once.
//!
//! # Who owns the tensor after a failure
//!
//! The standard says that `managed_tensor_to_py_object_no_sync` steals the
//! tensor, and does not say whether it does so when it fails. Here it does not:
//! after a failure the tensor is the caller's, as it is with PyTorch's table, and
//! as tvm-ffi expects, which then calls the deleter. (A
//! [`from_dlpack`](crate::DLPackImport::from_dlpack) that puts the tensor away
//! somewhere and fails nevertheless has kept it.)

mod allocator;
mod dims;
mod held;
mod host;
mod object;
mod table;
mod view;

use core::ffi::CStr;

pub use host::{Fault, Host, Wrap};
pub use object::{Importable, NotImportable, ToObject};
pub use table::table;

#[cfg(feature = "pyo3")]
pub(crate) use host::refuse;

/// The attribute of a Python type that holds the table.
pub const ATTRIBUTE: &CStr = c"__dlpack_c_exchange_api__";

/// What that attribute was called before DLPack 1.3.
pub const OLD_ATTRIBUTE: &CStr = c"__c_dlpack_exchange_api__";

/// The name of the Python capsule in that attribute.
pub const CAPSULE: &CStr = c"dlpack_exchange_api";
