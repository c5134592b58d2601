//! The error type of this crate: [`Error`]. Its messages are in `error/text.rs`, those for an
//! argument of a Python function in `python/argument/mismatch.rs`.

mod driver_text;
mod text;

pub use driver_text::DriverText;

use core::convert::Infallible;

use crate::device::Device;
use crate::dtype::DataType;
use crate::version::Version;

/// The reason why a tensor cannot be described, exported, copied, imported or accessed.
///
/// A variant contains the sizes, types or devices that its message prints. Axes are counted
/// from 0; the name of a field or its documentation states the unit of a size.
///
/// ```
/// use dlpack_traits::{DataRef, Error, Layout, TensorView};
///
/// let pixels = [0_u8; 10];
/// let too_large = TensorView::new(DataRef::from_slice(&pixels), Layout::new([4, 3]));
/// assert_eq!(
///     too_large.unwrap_err().to_string(),
///     "the tensor spans bytes 0..12 but its storage holds 10",
/// );
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// `shape` and `strides` have different numbers of entries.
    RankMismatch {
        /// Entries of `shape`.
        shape: usize,
        /// Entries of `strides`.
        strides: usize,
    },
    /// More dimensions than [`MAX_NDIM`](crate::MAX_NDIM).
    TooManyDims {
        /// Dimensions found.
        ndim: usize,
    },
    /// A dimension is negative.
    NegativeDim {
        /// The axis.
        axis: usize,
        /// Its value.
        dim: i64,
    },
    /// A dimension does not fit in the `i64` that DLPack stores.
    DimTooLarge {
        /// The axis.
        axis: usize,
    },
    /// A stride does not fit in the `i64` that DLPack stores.
    StrideTooLarge {
        /// The axis.
        axis: usize,
    },
    /// A rank was given that is larger than the arrays of shape and strides, or negative.
    RankBeyondCapacity {
        /// The rank.
        ndim: i64,
        /// Entries of the array.
        capacity: usize,
    },
    /// A stride in bytes is not a multiple of the element size.
    StrideNotWhole {
        /// The axis.
        axis: usize,
        /// The stride, in bytes.
        bytes: i64,
    },
    /// A pitch in bytes is not a multiple of the element size.
    PitchNotWhole {
        /// The pitch, in bytes.
        bytes: i64,
        /// The width of an element, in bits.
        bits: i64,
    },
    /// A pitch in elements is smaller than the row of a non-empty tensor.
    PitchTooSmall {
        /// The pitch, in elements.
        pitch: i64,
        /// The row, in elements.
        row: i64,
    },
    /// A pitch in bytes is smaller than the row of a non-empty tensor.
    BytePitchTooSmall {
        /// The pitch, in bytes.
        bytes: i64,
        /// The row, in bytes.
        row: i64,
    },
    /// A pitch does not fit in the `i64` that DLPack stores, or is a negative number of
    /// bytes.
    PitchOutOfRange,
    /// A pitch was given for a layout that has explicit strides.
    PitchBesideStrides,
    /// An offset is negative.
    NegativeOffset,
    /// An offset counts elements that are packed into bytes, and does not end at a byte
    /// boundary.
    InsideByte {
        /// The element type.
        dtype: DataType,
    },
    /// The number of elements, or of the bytes that they span, does not fit in the address
    /// space; or an offset or a `len` is beyond 63 bits, or a `len` is negative.
    SizeOverflow,
    /// All elements together have more bytes than
    /// [`ImportPolicy::max_bytes`](crate::ImportPolicy::max_bytes) allows.
    TooManyBytes {
        /// Bytes of all elements: those of a broadcast tensor count as often as they are named.
        bytes: u64,
        /// The most that the import allows.
        most: u64,
    },
    /// An element lies outside of the storage, or an `offset` and a `len` select a part
    /// that ends outside of it.
    OutOfBounds {
        /// First byte of the tensor, counted from the start of the storage.
        start: i64,
        /// One past its last byte.
        end: i64,
        /// Size of the storage in bytes.
        len: usize,
    },
    /// An element lies outside of the part of the storage that an `offset` and a `len`
    /// select.
    OutsideWindow {
        /// First byte of the tensor, counted from the start of the storage.
        start: i64,
        /// One past its last byte.
        end: i64,
        /// First byte of the part.
        from: usize,
        /// One past its last byte.
        to: usize,
    },
    /// A contiguous tensor uses less than its storage, and no offset, length, pitch or strides
    /// state a part, and no `spare_capacity`. A tensor without elements uses 0 bytes.
    SpareCapacity {
        /// Elements of the tensor.
        elements: i64,
        /// Bytes of these elements, from the start of the storage on.
        bytes: usize,
        /// Size of the storage in bytes.
        len: usize,
    },
    /// The first element, a stride or the byte offset is not aligned for the element type.
    Misaligned {
        /// The element type.
        dtype: DataType,
        /// The alignment that the address must have, in bytes.
        align: usize,
    },
    /// The standard does not define this element type.
    UnsupportedDType {
        /// The element type that was requested or found.
        dtype: DataType,
    },
    /// A variant of an enum that derives `DataType` has no counterpart in DLPack.
    NoDType {
        /// The name of the variant.
        variant: &'static str,
    },
    /// A variant of a storage has no memory that DLPack can describe.
    NoStorage {
        /// The name of the variant.
        variant: &'static str,
    },
    /// An enum that derives `DataType` has no variant for a DLPack type.
    NoVariant {
        /// The DLPack type.
        dtype: DataType,
    },
    /// A storage was requested as another type, but its elements are not bytes.
    NotBytes {
        /// The requested type.
        dtype: DataType,
    },
    /// A `dtype` was given for a storage that has another one. Only byte storage (`u8`) can
    /// be described with another type.
    DTypeMismatch {
        /// The requested type.
        dtype: DataType,
        /// The type of the storage.
        storage: DataType,
    },
    /// A `device` was given that is not the device of the storage, or a stream of a device that
    /// cannot work on it.
    DeviceMismatch {
        /// The requested device.
        device: Device,
        /// The device of the storage.
        storage: Device,
    },
    /// The data is not in the byte order of this machine, which DLPack cannot express.
    NotNativeEndian,
    /// Read-only memory was requested in the legacy struct, which has no READ_ONLY flag.
    ReadOnlyLegacy,
    /// Padded elements narrower than a byte were requested in the legacy struct, which has
    /// no flag for padding.
    PaddedLegacy,
    /// The storage has a single owner, so an export that borrows the object cannot keep the
    /// memory alive.
    NotShareable,
    /// The owner that [`share`](crate::DLPackExport::share) returned does not own the
    /// memory that [`tensor`](crate::DLPackExport::tensor) describes.
    ShareOutOfRange,
    /// The processor cannot read the memory.
    NotOnHost {
        /// The device of the memory.
        device: Device,
    },
    /// The device type is 0 or negative; DLPack's device types start at 1.
    NoSuchDevice {
        /// The device.
        device: Device,
    },
    /// No available backend supports the device.
    NoBackend {
        /// The requested device.
        device: Device,
    },
    /// Imported memory of a device may have pending work, and has no backend that orders the
    /// consumer after it: [`DeviceBuffer`](crate::backend::DeviceBuffer) has one.
    NotOrdered {
        /// The device of the memory.
        device: Device,
    },
    /// The backend of the device does not support an operation.
    Unsupported {
        /// The device.
        device: Device,
        /// The operation.
        what: &'static str,
    },
    /// The runtime library of a device was not found on this machine.
    NoLibrary {
        /// Its file, or its name.
        name: &'static str,
    },
    /// A call of a device's runtime failed.
    Device {
        /// The device.
        device: Device,
        /// The function of the runtime.
        call: &'static str,
        /// The error code that it returned.
        code: i64,
        /// The text of the driver for it, if there is one.
        text: DriverText,
    },
    /// The `stream` argument is not valid for the device.
    StreamRefused {
        /// The device.
        device: Device,
        /// The number that the consumer passed; `None` if it passed none.
        stream: Option<usize>,
        /// The rule for valid values.
        rule: &'static str,
    },
    /// The consumer named no stream, or one by a handle that may become invalid, and the device
    /// cannot determine when the work of the consumer has finished.
    StreamUntracked {
        /// The device.
        device: Device,
    },
    /// Packed elements can be copied only if they are contiguous in the order of the copy.
    PackedStrides {
        /// The element type.
        dtype: DataType,
    },
    /// A stream was given for host memory, on which no stream works.
    StreamOnHost,
    /// Memory could not be allocated.
    OutOfMemory {
        /// Bytes requested.
        bytes: usize,
    },
    /// The pointer to the imported C struct is NULL.
    NullTensor,
    /// The imported C struct has the layout of another major version, of which only the deleter can be
    /// used.
    VersionUnsupported {
        /// The version of the struct.
        found: Version,
    },
    /// The number of dimensions is negative.
    NegativeRank {
        /// The value of `ndim`.
        ndim: i32,
    },
    /// The number of dimensions is not 0, but `shape` is NULL.
    NullShape {
        /// The number of dimensions.
        ndim: usize,
    },
    /// The tensor is not empty, but `data` is NULL.
    NullData,
    /// The elements were requested as a type that is not theirs.
    ElementMismatch {
        /// The requested type.
        requested: DataType,
        /// The type of the elements.
        found: DataType,
    },
    /// An index is out of bounds, or has the wrong number of entries.
    NoSuchElement,
    /// An axis is not one of the tensor.
    NoSuchAxis {
        /// The requested axis.
        axis: usize,
        /// The number of dimensions.
        ndim: usize,
    },
    /// An index along an axis is out of bounds.
    NoSuchIndex {
        /// The axis.
        axis: usize,
        /// The requested index.
        index: usize,
        /// The size of the dimension.
        dim: i64,
    },
    /// A range of indices along an axis ends beyond it, or before its start.
    NoSuchRange {
        /// The axis.
        axis: usize,
        /// The first requested index.
        start: usize,
        /// The index after the last requested one.
        end: usize,
        /// The size of the dimension.
        dim: i64,
    },
    /// A list of axes does not have each axis of the tensor once.
    NotPermutation {
        /// The first axis that the list does not have once.
        axis: usize,
        /// How often the list has it.
        times: usize,
        /// The number of dimensions.
        ndim: usize,
    },
    /// Two tensors that are visited together have other sizes of a dimension.
    ShapesDiffer {
        /// The first dimension that differs.
        axis: usize,
        /// Its size in the first tensor.
        expected: i64,
        /// Its size in the other one.
        found: i64,
    },
    /// Two tensors that are visited together have other numbers of dimensions.
    RanksDiffer {
        /// Dimensions of the first tensor.
        expected: usize,
        /// Dimensions of the other one.
        found: usize,
    },
    /// A slice or vector does not have as many elements as the tensor or the shape.
    LenMismatch {
        /// Elements of the tensor or the shape.
        needed: usize,
        /// Elements of the slice or vector.
        found: usize,
    },
    /// The bits of an element are not a valid value of its type.
    InvalidBits {
        /// The type of the elements.
        dtype: DataType,
    },
    /// A slice was requested, but the elements are not contiguous in row-major order.
    NotContiguous,
    /// The memory was imported with strides, and is described without strides, in another
    /// shape or as elements of another type.
    StridesMissing,
    /// Write access to read-only imported memory was requested.
    ReadOnly,
    /// Exclusive access to imported memory was requested, but it may have other owners.
    NotExclusive,
    /// A borrow of imported memory was requested, but this program did not export the memory
    /// read-only, or other owners may write it. Memory without another owner is borrowed by
    /// [`exclusive`](crate::ImportedTensor::exclusive).
    NotFrozen,
    /// The struct is of version 1.2 or later and has dimensions, but `strides` is NULL,
    /// which the import policy rejects.
    NullStrides {
        /// The number of dimensions.
        ndim: usize,
    },
    /// The last dimensions of the tensor are not those of the requested element type, or
    /// are not contiguous.
    AxesMismatch {
        /// The dimensions of an element.
        axes: &'static [i64],
    },
    /// Elements were requested as 64-bit numbers, but are wider.
    TooWide {
        /// The type of the elements.
        dtype: DataType,
    },
    /// Write access to imported memory was requested, but two indices may name one element.
    Overlapping,
    /// A reason without a variant: that of a hand-written [`DLPackExport`](crate::DLPackExport),
    /// or one of this crate.
    Custom(&'static str),
}

impl Error {
    /// Converts an error about dimensions to one about strides, for a list of strides.
    #[cold]
    pub(crate) fn of_strides(self) -> Self {
        match self {
            Error::DimTooLarge { axis } => Error::StrideTooLarge { axis },
            error => error,
        }
    }
}

impl core::error::Error for Error {}

/// For generic code with fallible conversions, where a conversion cannot fail.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
