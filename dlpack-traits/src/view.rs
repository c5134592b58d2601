//! Checked descriptions of borrowed tensors: [`TensorView`] and [`Lend`].

use core::marker::PhantomData;

use crate::described::{Described, Layout};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::storage::{Data, DataRef};
use crate::stream::StreamArg;

/// A borrowed tensor: memory, element type, shape and strides, all checked
/// against the length of the storage.
///
/// ```
/// use dlpack_traits::{DataRef, DataType, Layout, TensorView};
///
/// let samples = vec![0.5_f32; 6];
/// let view = TensorView::new(DataRef::from_slice(&samples), Layout::row_major(&[2, 3])?)?;
/// assert_eq!(view.dtype(), DataType::F32);
/// assert_eq!(view.strides(), [3, 1]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Debug)]
pub struct TensorView<'a>(Described<'a>);

impl<'a> TensorView<'a> {
    /// Describes lent memory.
    ///
    /// # Errors
    ///
    /// Any [`Error`] but those of exporting and copying: every element must
    /// lie inside the memory and be aligned, ranks must agree, the element
    /// type must be one that the standard defines and that fits the storage.
    #[inline(always)]
    pub fn new(data: DataRef<'a>, layout: Layout<'a>) -> Result<Self, Error> {
        match Described::plain(data.memory_ref(), &layout) {
            Some(described) => Ok(Self(described)),
            None => Self::of(data, Ok(layout)),
        }
    }

    /// [`new`](Self::new), and the error of a layout that is none.
    ///
    /// It is there once for all who call it: it is long, and every type that is exported
    /// has such a call.
    #[inline(never)]
    pub(crate) fn of(data: DataRef<'a>, layout: Result<Layout<'a>, Error>) -> Result<Self, Error> {
        let plain = layout.as_ref().ok().and_then(|it| Described::plain(data.memory_ref(), it));
        match plain {
            Some(described) => Ok(Self(described)),
            None => Described::new(data.memory(), layout?).map(Self),
        }
    }

    /// Extents, in elements.
    pub fn shape(&self) -> &[i64] {
        self.0.shape()
    }

    /// Strides, in elements; never absent.
    pub fn strides(&self) -> &[i64] {
        self.0.strides()
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Number of elements.
    pub fn numel(&self) -> i64 {
        self.0.numel()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DataType {
        self.0.dtype()
    }

    /// Where the memory is.
    pub fn device(&self) -> Device {
        self.0.memory().device
    }

    /// Whether a consumer is told not to write: the memory is frozen, or two
    /// elements may share memory.
    pub fn is_read_only(&self) -> bool {
        self.0.is_read_only()
    }

    /// First element; NULL when there is none. On a device without addresses,
    /// the handle.
    pub fn as_ptr(&self) -> *const u8 {
        self.0.data().0
    }

    /// Orders pending work on the memory before what a consumer will do on its stream.
    ///
    /// Exports call it. A C function that is called with the borrowed
    /// [`dl_tensor`](Self::dl_tensor) of a device needs it first.
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Layout, StreamArg, TensorView};
    ///
    /// let view = TensorView::new(DataRef::from_slice(&[1_u8]), Layout::row_major(&[1])?)?;
    /// view.sync_for(StreamArg::unspecified())?; // memory of the host is ready
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the device, and [`Error::StreamOnHost`] for memory of the host. An
    /// [`Error::Custom`] for memory of a device that was lent without
    /// [`synchronized_by`](DataRef::synchronized_by).
    #[inline]
    pub fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. The view was made of a loan for `'a`, in which this is called.
        unsafe { self.0.sync_for(consumer) }
    }

    /// The same tensor for readers only, whatever the storage allows.
    #[must_use]
    pub fn into_read_only(self) -> Self {
        Self(self.0.into_read_only())
    }

    /// The same tensor as the C struct, borrowed. This allocates nothing.
    #[inline]
    pub fn dl_tensor(&self) -> DLTensorRef<'_> {
        let shape = self.shape().as_ptr().cast_mut();
        let strides = self.strides().as_ptr().cast_mut();
        DLTensorRef { raw: self.0.to_ffi(shape, strides), view: PhantomData }
    }

    #[inline]
    pub(crate) fn described(&self) -> &Described<'a> {
        &self.0
    }

    #[inline]
    pub(crate) fn described_mut(&mut self) -> &mut Described<'a> {
        &mut self.0
    }

    pub(crate) fn into_described(self) -> Described<'a> {
        self.0
    }
}

/// A [`TensorView`] as a C function takes it: a `DLTensor *` for the time of a call.
///
/// Who receives the pointer may read the struct and its arrays while this
/// value lives, and must not write to them. Whether the elements may be
/// written is [`TensorView::is_read_only`]'s to say: this struct has no flags.
#[derive(Debug)]
pub struct DLTensorRef<'v> {
    raw: DLTensor,
    view: PhantomData<&'v ()>,
}

impl DLTensorRef<'_> {
    /// The C struct.
    pub fn as_ptr(&self) -> *const DLTensor {
        &raw const self.raw
    }
}

/// A tensor lent to a consumer in a mode: for reading, shared, or exclusively.
///
/// [`DLPackExport::lend`](crate::DLPackExport::lend) returns it. There is one
/// at a time, as there is of the [`Data`] that it is made from.
#[derive(Debug)]
pub struct Lend<'a> {
    described: Described<'a>,
    lent: PhantomData<&'a mut [u8]>,
}

impl<'a> Lend<'a> {
    /// Describes lent memory.
    ///
    /// # Errors
    ///
    /// Those of [`TensorView::new`].
    #[inline]
    pub fn new(data: Data<'a>, layout: Layout<'a>) -> Result<Self, Error> {
        Self::of(data, Ok(layout))
    }

    /// [`new`](Self::new), and the error of a layout that is none.
    ///
    /// There once for all who call it, as [`TensorView::of`] is.
    #[inline(never)]
    pub(crate) fn of(data: Data<'a>, layout: Result<Layout<'a>, Error>) -> Result<Self, Error> {
        let (memory, lent) = (data.into_memory(), PhantomData);
        match layout.as_ref().ok().and_then(|layout| Described::plain(&memory, layout)) {
            Some(described) => Ok(Self { described, lent }),
            None => Ok(Self { described: Described::new(memory, layout?)?, lent }),
        }
    }

    #[inline]
    pub(crate) fn described(&self) -> &Described<'a> {
        &self.described
    }
}

impl<'a> From<TensorView<'a>> for Lend<'a> {
    #[inline]
    fn from(view: TensorView<'a>) -> Self {
        Self { described: view.0, lent: PhantomData }
    }
}
