//! A field of a record with its type: [`Field`].

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use super::record::FieldType;
use super::{Element, SizeMatches};

/// The field of type `F` of the record `R`, a constant that `derive(Record)` defines:
/// `Particle::MASS`. Name, offset and type are those of [`FieldType`].
///
/// [`Records::field`](crate::Records::field) exports the fields of all records of a storage.
pub struct Field<R, F> {
    ty: FieldType,
    of: PhantomData<fn() -> (R, F)>,
}

impl<R, F: Element> Field<R, F> {
    /// Describes a field.
    ///
    /// # Panics
    ///
    /// At compile time, if it does not lie inside of the record.
    pub(crate) const fn new(name: &'static str, offset: usize) -> Self {
        let () = SizeMatches::<F>::OK;
        let end = offset.checked_add(size_of::<F>());
        assert!(matches!(end, Some(end) if end <= size_of::<R>()), "the field lies in the record");
        let (dtype, axes, record) = (F::DTYPE, F::AXES, F::RECORD);
        Self { ty: FieldType { name, offset, dtype, axes, record }, of: PhantomData }
    }
}

impl<R, F> Field<R, F> {
    /// The description without the types.
    pub const fn ty(&self) -> FieldType {
        self.ty
    }
}

impl<R, F> Clone for Field<R, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, F> Copy for Field<R, F> {}

impl<R, F> Deref for Field<R, F> {
    type Target = FieldType;

    fn deref(&self) -> &FieldType {
        &self.ty
    }
}

impl<R, F> fmt::Debug for Field<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Field").field(&self.ty).finish()
    }
}
