//! What a Python class can do besides being a tensor: [`class`].

use core::marker::PhantomData;

use pyo3::prelude::*;
use pyo3::types::PyType;

use super::class::{ExportClass, install};
use super::class_method::{ImportClass, add_from_dlpack};
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

/// What a class gets beside its exports: [`NotImportable`] or [`Importable`].
pub trait Imports<T>: sealed::AddTo<T> {}

impl<T, I: sealed::AddTo<T>> Imports<T> for I {}

mod sealed {
    use pyo3::prelude::*;
    use pyo3::types::PyType;

    pub trait AddTo<T> {
        /// Adds what the words of the builder ask for.
        fn add_to(class: &Bound<'_, PyType>) -> PyResult<()>;
    }
}

impl<T> sealed::AddTo<T> for NotImportable {
    fn add_to(_: &Bound<'_, PyType>) -> PyResult<()> {
        Ok(())
    }
}

impl<T: ImportClass> sealed::AddTo<T> for Importable {
    fn add_to(class: &Bound<'_, PyType>) -> PyResult<()> {
        add_from_dlpack::<T>(class)
    }
}

impl<T: ExportClass, I, B: Backends> ClassBuilder<T, I, B> {
    /// Gives the class a class method `from_dlpack(x, /, *, device=None, copy=None)`,
    /// and lets consumers of its exchange table make objects of it.
    ///
    /// Also on a subclass it makes objects of the class itself.
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
    pub fn add(self, module: &Bound<'_, PyModule>) -> PyResult<()>
    where
        I: Imports<T>,
    {
        self.install(module.py())?;
        module.add_class::<T>()
    }

    /// Makes the class what was described. For classes that a declarative
    /// `#[pymodule]` adds itself, call this in its `#[pymodule_init]`.
    ///
    /// # Errors
    ///
    /// Those of [`install`](super::install); for an importable class also
    /// `TypeError` where it defines a `from_dlpack` itself.
    pub fn install(self, py: Python<'_>) -> PyResult<()>
    where
        I: Imports<T>,
    {
        install::<T>(py)?;
        I::add_to(&py.get_type::<T>())
    }
}
