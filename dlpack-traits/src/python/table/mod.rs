//! Publishes the exchange tables of our classes, and calls those of other libraries.

#[cfg(feature = "pyo3")]
pub(in crate::python) mod calls;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod lazy_bits;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod lookup;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod maker;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod offered;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod owner_class;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod publish;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod py_host;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod to_object;
pub(in crate::python) mod type_cache;
