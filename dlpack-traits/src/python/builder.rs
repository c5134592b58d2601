//! What a Python class can do besides being a tensor: [`class`].

use core::marker::PhantomData;

use pyo3::prelude::*;

use super::class::{ExportClass, install};
use crate::backend::{Backends, Cpu};
use crate::import::DLPackImport;

/// Describes a class of tensors: an exporting one on the CPU, unless more is said.
///
/// ```ignore
/// python::class::<Image>().importable().add(m)?;
/// ```
pub fn class<T: ExportClass>() -> ClassBuilder<T> {
    ClassBuilder { of: PhantomData }
}

/// A class of tensors that is about to be added to a module: [`class`].
#[derive(Debug)]
#[must_use = "the class is not added before `add` or `install`"]
pub struct ClassBuilder<T, I = NotImportable, B = Cpu> {
    of: PhantomData<Words<T, I, B>>,
}

/// A builder has no value of any of them.
type Words<T, I, B> = fn() -> (T, I, B);

/// The class only exports.
#[derive(Debug)]
pub struct NotImportable(());

/// The class is built from tensors too.
#[derive(Debug)]
pub struct Importable(());

impl<T: ExportClass, I, B: Backends> ClassBuilder<T, I, B> {
    /// Gives the class a class method `from_dlpack`, and lets consumers of its
    /// exchange table make objects of it.
    pub fn importable(self) -> ClassBuilder<T, Importable, B>
    where
        T: DLPackImport + Into<PyClassInitializer<T>>,
    {
        ClassBuilder { of: PhantomData }
    }

    /// Names the devices that the class serves, in place of the CPU alone.
    pub fn backends<Set: Backends>(self) -> ClassBuilder<T, I, Set> {
        ClassBuilder { of: PhantomData }
    }

    /// Makes the class what was described, and adds it to a module.
    ///
    /// # Errors
    ///
    /// Those of [`install`](Self::install), and of adding to the module.
    #[expect(clippy::should_implement_trait, reason = "nobody adds builders up")]
    pub fn add(self, module: &Bound<'_, PyModule>) -> PyResult<()> {
        self.install(module.py())?;
        module.add_class::<T>()
    }

    /// Makes the class what was described. For classes that a declarative
    /// `#[pymodule]` adds itself, call this in its `#[pymodule_init]`.
    ///
    /// # Errors
    ///
    /// Those of [`install`](super::install).
    pub fn install(self, py: Python<'_>) -> PyResult<()> {
        install::<T>(py)
    }
}
