//! Owners whose drops are counted: [`Drops`], [`Ticket`], [`Owner`].

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use tensors::{
    AsDims, DLPackExport, DataType, Describe, Description, DescriptionMut, Error, Layout,
    SharedOwner, Storage,
};

/// Counts how many of its tickets were dropped.
#[derive(Clone, Debug, Default)]
pub struct Drops(Arc<AtomicUsize>);

impl Drops {
    /// A new count, at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something to be dropped.
    pub fn ticket(&self) -> Ticket {
        Ticket(self.clone())
    }

    /// How many tickets were dropped so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Adds one to its [`Drops`] when it is dropped.
#[derive(Debug)]
pub struct Ticket(Drops);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A tensor over any storage, written by hand without `unsafe`.
///
/// Its metadata is that of its fields: the library must detect wrong metadata.
#[derive(Debug)]
pub struct Owner<S> {
    /// Holds the elements.
    pub data: S,
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides, or none for row-major order.
    pub strides: Option<Vec<i64>>,
    /// Bytes from the start of the storage to the first element.
    pub byte_offset: u64,
    /// The declared type of the elements, if there is one.
    pub dtype: Option<DataType>,
    /// Counts the drop, if there is one.
    pub ticket: Option<Ticket>,
}

impl<S: Storage> Owner<S> {
    /// Compact elements in row-major order.
    pub fn new(data: S, shape: &[i64]) -> Self {
        let shape = shape.to_vec();
        Self { data, shape, strides: None, byte_offset: 0, dtype: None, ticket: None }
    }

    /// The same with strides, and the first element that many bytes in.
    #[must_use]
    pub fn strided(self, strides: &[i64], byte_offset: u64) -> Self {
        Self { strides: Some(strides.to_vec()), byte_offset, ..self }
    }

    /// The same, read as another type.
    #[must_use]
    pub fn dtype(self, dtype: DataType) -> Self {
        Self { dtype: Some(dtype), ..self }
    }

    /// The same with a counted drop.
    #[must_use]
    pub fn counted(self, drops: &Drops) -> Self {
        Self { ticket: Some(drops.ticket()), ..self }
    }
}

/// Describes a tensor from optional parts.
pub fn layout<'a, D: AsDims>(
    shape: &'a D,
    strides: Option<&'a D>,
    byte_offset: u64,
    dtype: Option<DataType>,
) -> Layout<'a> {
    let layout = Layout::new(shape).strides(strides).byte_offset(byte_offset);
    match dtype {
        Some(dtype) => layout.dtype(dtype),
        None => layout,
    }
}

impl<S: Storage> DLPackExport for Owner<S> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let Self { data, shape, strides, byte_offset, dtype, .. } = self;
        out.layout(layout(shape, strides.as_ref(), *byte_offset, *dtype)).data(data.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        let Self { data, shape, strides, byte_offset, dtype, .. } = self;
        let layout = layout(shape, strides.as_ref(), *byte_offset, *dtype);
        out.layout(layout).data_mut(data.data_mut())
    }

    fn share(&self) -> Option<SharedOwner> {
        self.data.share()
    }
}
