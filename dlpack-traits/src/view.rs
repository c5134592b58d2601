//! Checked descriptions of borrowed tensors: [`TensorView`] and [`Lend`].

use core::marker::PhantomData;

use crate::device::Device;
use crate::dims::{AsDims, Dims};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{self, DLTensor};
use crate::layout;
use crate::storage::{Access, Data, DataRef, Memory};

/// How the elements of a tensor lie in its storage.
///
/// Dimensions and strides count elements; the offset counts bytes.
///
/// ```
/// use dlpack_traits::{DataRef, Layout, TensorView};
///
/// // The second column of a 2 x 3 matrix.
/// let matrix = [1_i32, 2, 3, 4, 5, 6];
/// let column = TensorView::new(
///     DataRef::from_slice(&matrix),
///     Layout::strided(&[2], &[3])?.byte_offset(4_usize)?,
/// )?;
/// assert_eq!((column.shape(), column.strides()), (&[2][..], &[3][..]));
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Debug)]
pub struct Layout<'a> {
    shape: Dims<'a>,
    strides: Option<Dims<'a>>,
    byte_offset: u64,
    dtype: Option<DataType>,
    device: Option<Device>,
}

impl<'a> Layout<'a> {
    /// Compact elements in row-major (C) order.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`].
    #[inline]
    pub fn row_major<D: AsDims + ?Sized>(shape: &'a D) -> Result<Self, Error> {
        let shape = shape.as_dims()?;
        Ok(Self { shape, strides: None, byte_offset: 0, dtype: None, device: None })
    }

    /// Elements at explicit strides, in elements, one for each dimension.
    ///
    /// # Errors
    ///
    /// [`Error::DimTooLarge`]; a wrong number of strides is found by
    /// [`TensorView::new`].
    #[inline]
    pub fn strided<D, S>(shape: &'a D, strides: &'a S) -> Result<Self, Error>
    where
        D: AsDims + ?Sized,
        S: AsDims + ?Sized,
    {
        Ok(Self { strides: Some(strides.as_dims()?), ..Self::row_major(shape)? })
    }

    /// Starts the tensor that many bytes into the storage.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the offset is negative or does not fit in 64 bits.
    #[inline]
    pub fn byte_offset<I: TryInto<u64>>(self, bytes: I) -> Result<Self, Error> {
        match bytes.try_into() {
            Ok(byte_offset) => Ok(Self { byte_offset, ..self }),
            Err(_) => Err(Error::OutOfBounds { start: -1, end: -1, len: 0 }),
        }
    }

    /// Reads byte storage (`u8`) as elements of this type. A storage of
    /// another type must already have it.
    #[inline]
    #[must_use]
    pub fn dtype(self, dtype: impl Into<DataType>) -> Self {
        Self { dtype: Some(dtype.into()), ..self }
    }

    /// States the device. It must be the storage's.
    #[inline]
    #[must_use]
    pub fn device(self, device: impl Into<Device>) -> Self {
        Self { device: Some(device.into()), ..self }
    }
}

/// A described piece of memory, every claim of which has been checked against
/// the length of its storage.
#[derive(Debug)]
pub(crate) struct Described<'a> {
    /// The whole storage.
    memory: Memory,
    /// Bytes from its start to the first element.
    byte_offset: u64,
    /// Type of the elements, which may differ from the storage's.
    dtype: DataType,
    shape: Dims<'a>,
    strides: Dims<'a>,
    /// Number of elements.
    numel: i64,
    /// Whether consumers are refused writing even where the memory allows it.
    read_only: bool,
}

impl<'a> Described<'a> {
    /// Checks a layout against the memory that it is to describe.
    #[inline]
    fn new(memory: Memory, layout: Layout<'a>) -> Result<Self, Error> {
        let Layout { shape, strides, byte_offset, dtype, device } = layout;
        if let Some(device) = device {
            if device != memory.device {
                return Err(Error::DeviceMismatch { device, storage: memory.device });
            }
        }
        let dtype = match dtype {
            Some(dtype) => element_type(dtype, memory.dtype)?,
            None => memory.dtype,
        };
        let numel = layout::numel(shape.as_slice())?;
        let strides = match strides {
            Some(strides) => {
                check_strided(&memory, byte_offset, dtype, &shape, &strides)?;
                strides
            }
            None => {
                check_compact(&memory, byte_offset, dtype, numel)?;
                Dims::filled(shape.as_slice().len(), |strides| {
                    layout::row_major_strides(shape.as_slice(), strides);
                    Ok(())
                })?
            }
        };
        check_alignment(&memory, byte_offset, dtype)?;
        Ok(Self { memory, byte_offset, dtype, shape, strides, numel, read_only: false })
    }

    /// Whether a consumer must be told not to write: nobody may, or two
    /// elements share memory, so that one write would change several.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
            || self.memory.access == Access::Frozen
            || layout::may_overlap(self.shape.as_slice(), self.strides.as_slice())
    }

    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    pub(crate) fn dtype(&self) -> DataType {
        self.dtype
    }

    #[inline]
    pub(crate) fn shape(&self) -> &[i64] {
        self.shape.as_slice()
    }

    #[inline]
    pub(crate) fn strides(&self) -> &[i64] {
        self.strides.as_slice()
    }

    #[inline]
    pub(crate) fn numel(&self) -> i64 {
        self.numel
    }

    /// First element and remaining offset, as the wire wants them: NULL when
    /// there are no elements; `data` moved where it is an address, the offset
    /// kept where it is a handle.
    #[inline]
    pub(crate) fn data(&self) -> (*mut u8, u64) {
        if !self.memory.device.has_addresses() {
            (self.memory.ptr, self.byte_offset)
        } else if self.numel == 0 {
            (core::ptr::null_mut(), 0)
        } else {
            (self.first_element(), 0)
        }
    }

    /// Address of the first element, on a device that has addresses.
    #[inline]
    fn first_element(&self) -> *mut u8 {
        // `new` proved that the offset is at most the length of the memory,
        // which is at most `isize::MAX`.
        self.memory.ptr.wrapping_add(usize::try_from(self.byte_offset).unwrap_or(0))
    }

    /// The same tensor in the memory of another owner, which is found by its
    /// address.
    ///
    /// The address must lie in that memory, and so must every element; both
    /// are checked again here, against `memory`.
    #[inline]
    pub(crate) fn relocate(self, memory: Memory) -> Result<Self, Error> {
        let Self { memory: described, byte_offset, dtype, shape, strides, numel, read_only } = self;
        if memory.device != described.device {
            let device = described.device;
            return Err(Error::DeviceMismatch { device, storage: memory.device });
        }
        let shift = if memory.device.has_addresses() && numel != 0 {
            let start = (described.ptr.addr() as u64).checked_add(byte_offset);
            let shift = start.and_then(|start| start.checked_sub(memory.ptr.addr() as u64));
            shift.ok_or(Error::ShareOutOfRange)?
        } else if memory.device.has_addresses() {
            0
        } else if memory.ptr == described.ptr {
            byte_offset
        } else {
            return Err(Error::ShareOutOfRange);
        };
        check_strided(&memory, shift, dtype, &shape, &strides)
            .map_err(|_| Error::ShareOutOfRange)?;
        check_alignment(&memory, shift, dtype)?;
        Ok(Self { memory, byte_offset: shift, dtype, shape, strides, numel, read_only })
    }
}

/// The element type that `dtype` makes of a storage.
#[inline]
fn element_type(dtype: DataType, storage: DataType) -> Result<DataType, Error> {
    if !dtype.is_well_formed() {
        Err(Error::UnsupportedDType { dtype })
    } else if dtype == storage || storage == DataType::U8 {
        Ok(dtype)
    } else {
        Err(Error::DTypeMismatch { dtype, storage })
    }
}

/// Checks that `numel` compact elements fit behind the offset.
#[inline]
fn check_compact(
    memory: &Memory,
    byte_offset: u64,
    dtype: DataType,
    numel: i64,
) -> Result<(), Error> {
    // 63 bits times at most 24 bits.
    let bits = i128::from(numel).saturating_mul(i128::from(dtype.element_bits()));
    check_bits(memory, byte_offset, 0, bits)
}

/// Checks that every element of a strided layout lies in the memory.
#[inline]
fn check_strided(
    memory: &Memory,
    byte_offset: u64,
    dtype: DataType,
    shape: &Dims<'_>,
    strides: &Dims<'_>,
) -> Result<(), Error> {
    let bits = i128::from(dtype.element_bits());
    let (low, end) = match layout::extent(shape.as_slice(), strides.as_slice())? {
        // `extent` keeps both within 2^63, and an element has less than 2^24 bits.
        Some(reached) => (
            reached.low.saturating_mul(bits),
            reached.high.saturating_add(1).saturating_mul(bits),
        ),
        None => (0, 0),
    };
    check_bits(memory, byte_offset, low, end)
}

/// Checks that the bits `low..end`, counted from the offset, lie in the memory.
#[inline]
fn check_bits(memory: &Memory, byte_offset: u64, low: i128, end: i128) -> Result<(), Error> {
    let offset = i128::from(byte_offset).saturating_mul(8);
    let start = offset.saturating_add(low);
    let end = offset.saturating_add(end);
    let len = (memory.byte_len as i128).saturating_mul(8);
    if start < 0 || end > len {
        return Err(out_of_bounds(memory, start, end));
    }
    Ok(())
}

/// The error of [`check_bits`], in whole bytes.
#[cold]
fn out_of_bounds(memory: &Memory, start: i128, end: i128) -> Error {
    let clamp = |bytes: i128| i64::try_from(bytes).unwrap_or(i64::MAX);
    Error::OutOfBounds {
        start: clamp(start.div_euclid(8)),
        end: clamp(end.saturating_add(7).div_euclid(8)),
        len: memory.byte_len,
    }
}

/// Checks that the first element, and with it every other, is aligned, and
/// lies a whole number of the storage's elements from its start.
///
/// Strides count elements, so all elements share what is true of the first.
#[inline]
fn check_alignment(memory: &Memory, byte_offset: u64, dtype: DataType) -> Result<(), Error> {
    if let Some(size) = memory.dtype.byte_size() {
        if byte_offset % size as u64 != 0 {
            return Err(Error::Misaligned { dtype, align: size });
        }
    }
    let Some(align) = alignment(dtype) else { return Ok(()) };
    let address = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
    if memory.device.has_addresses() && address % align as u64 != 0 {
        return Err(Error::Misaligned { dtype, align });
    }
    Ok(())
}

/// Bytes that the address of an element must be a multiple of: the size of one
/// lane, or of one part of a complex number; at most 8. `None` for elements
/// that are packed into bytes.
#[inline]
const fn alignment(dtype: DataType) -> Option<usize> {
    let parts = if dtype.code().0 == ffi::kDLComplex.0 { 2 } else { 1 };
    match dtype.bits() / parts {
        8 => Some(1),
        16 => Some(2),
        32 => Some(4),
        64 | 128 => Some(8),
        _ => None,
    }
}

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
    #[inline]
    pub fn new(data: DataRef<'a>, layout: Layout<'a>) -> Result<Self, Error> {
        Described::new(data.memory(), layout).map(Self)
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
        self.0.numel
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DataType {
        self.0.dtype
    }

    /// Where the memory is.
    pub fn device(&self) -> Device {
        self.0.memory.device
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

    /// The same tensor for readers only, whatever the storage allows.
    #[must_use]
    pub fn into_read_only(mut self) -> Self {
        self.0.read_only = true;
        self
    }

    /// The same tensor as the C struct, borrowed. This allocates nothing.
    pub fn dl_tensor(&self) -> DLTensorRef<'_> {
        DLTensorRef { raw: self.0.to_ffi(), view: PhantomData }
    }

    #[inline]
    pub(crate) fn described(&self) -> &Described<'a> {
        &self.0
    }

    #[inline]
    pub(crate) fn into_described(self) -> Described<'a> {
        self.0
    }
}

impl Described<'_> {
    /// The C struct, its arrays borrowed from `self`.
    fn to_ffi(&self) -> DLTensor {
        let (data, byte_offset) = self.data();
        DLTensor {
            data: data.cast(),
            device: self.memory.device.to_ffi(),
            // `numel` refused more than 64 dimensions.
            ndim: i32::try_from(self.shape().len()).unwrap_or(0),
            dtype: self.dtype.to_ffi(),
            shape: self.shape().as_ptr().cast_mut(),
            strides: self.strides().as_ptr().cast_mut(),
            byte_offset,
        }
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
        let described = Described::new(data.into_memory(), layout)?;
        Ok(Self { described, lent: PhantomData })
    }

    #[inline]
    pub(crate) fn into_described(self) -> Described<'a> {
        self.described
    }
}

impl<'a> From<TensorView<'a>> for Lend<'a> {
    #[inline]
    fn from(view: TensorView<'a>) -> Self {
        Self { described: view.0, lent: PhantomData }
    }
}
