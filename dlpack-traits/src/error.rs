//! Why a tensor cannot be exchanged: [`Error`].

mod text;

use core::convert::Infallible;

use crate::device::Device;
use crate::dtype::DataType;
use crate::ffi::DLDeviceType;
use crate::version::Version;

/// Why a tensor cannot be described, exported, copied, imported or accessed.
///
/// Every variant carries the numbers that a person needs to mend the call.
/// Axes count from 0; sizes are in the unit that the field's name says.
///
/// ```
/// use dlpack_traits::{DataRef, Error, Layout, TensorView};
///
/// let pixels = [0_u8; 10];
/// let too_large = TensorView::new(DataRef::from_slice(&pixels), Layout::row_major(&[4, 3])?);
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
        /// Which one.
        axis: usize,
        /// What it says.
        dim: i64,
    },
    /// A dimension does not fit in the `i64` that DLPack stores.
    DimTooLarge {
        /// Which one.
        axis: usize,
    },
    /// A stride does not fit in the `i64` that DLPack stores.
    StrideTooLarge {
        /// Which one.
        axis: usize,
    },
    /// A rank was given that is not one of the arrays of shape and strides.
    RankBeyondCapacity {
        /// The rank.
        ndim: i64,
        /// Entries of the array.
        capacity: usize,
    },
    /// A stride in bytes is not a whole number of elements.
    StrideNotWhole {
        /// Which one.
        axis: usize,
        /// What it says, in bytes.
        bytes: i64,
    },
    /// A pitch in bytes is not a whole number of elements.
    PitchNotWhole {
        /// The pitch, in bytes.
        bytes: i64,
        /// The width of an element, in bits.
        bits: i64,
    },
    /// A pitch is smaller than the row that it is to hold.
    PitchTooSmall {
        /// The pitch, in elements.
        pitch: i64,
        /// The row, in elements.
        row: i64,
    },
    /// A pitch does not fit in the `i64` that DLPack stores, or is a negative number of
    /// bytes.
    PitchOutOfRange,
    /// A pitch was given for a layout that has explicit strides.
    PitchBesideStrides,
    /// An offset is negative.
    NegativeOffset,
    /// An offset counts elements that are packed into bytes, and ends inside one.
    InsideByte {
        /// The element type.
        dtype: DataType,
    },
    /// The number of elements, or of the bytes that they span, does not fit in
    /// the address space.
    SizeOverflow,
    /// Some element lies outside the storage, or an `offset` and a `len` say that the
    /// tensor is a part that ends outside of it.
    OutOfBounds {
        /// First byte of the tensor, counted from the start of the storage.
        start: i64,
        /// One past its last byte.
        end: i64,
        /// Bytes that the storage holds.
        len: usize,
    },
    /// Some element lies outside the part of the storage that an `offset` and a `len`
    /// give to the tensor.
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
    /// The first element is not aligned for its type.
    Misaligned {
        /// The element type.
        dtype: DataType,
        /// Bytes that its address must be a multiple of.
        align: usize,
    },
    /// The standard does not define this element type.
    UnsupportedDType {
        /// The type asked for.
        dtype: DataType,
    },
    /// A run-time element type has no counterpart in DLPack.
    NoDType {
        /// Its name.
        variant: &'static str,
    },
    /// A variant of a storage holds nothing that DLPack can describe.
    NoStorage {
        /// Its name.
        variant: &'static str,
    },
    /// A run-time element type has no variant for a type of DLPack.
    NoVariant {
        /// The type of DLPack.
        dtype: DataType,
    },
    /// A storage was to be read as another type, but does not hold bytes.
    NotBytes {
        /// The type that it was to be read as.
        dtype: DataType,
    },
    /// A `dtype` was given for a storage that already has another one. Only
    /// byte storage (`u8`) can be read as something else.
    DTypeMismatch {
        /// The type asked for.
        dtype: DataType,
        /// The type of the storage.
        storage: DataType,
    },
    /// A `device` was given that is not the storage's.
    DeviceMismatch {
        /// The device asked for.
        device: Device,
        /// The device of the storage.
        storage: Device,
    },
    /// The data is not in the byte order of this machine, and DLPack has no
    /// field that could say so.
    NotNativeEndian,
    /// Read-only memory was asked for in the legacy struct, which has no flag
    /// to say that it must not be written.
    ReadOnlyLegacy,
    /// Padded elements narrower than a byte were asked for in the legacy struct,
    /// which has no flag to say that they are padded.
    PaddedLegacy,
    /// The storage has one owner, so an export that leaves the object usable
    /// cannot keep it alive.
    NotShareable,
    /// The handle that a [`share`](crate::DLPackExport::share) returned does
    /// not hold the memory that [`tensor`](crate::DLPackExport::tensor) describes.
    ShareOutOfRange,
    /// The memory is not readable by the processor.
    NotOnHost {
        /// Where it is.
        device: Device,
    },
    /// The device type is 0 or negative; DLPack's begin at 1.
    NoSuchDevice {
        /// The device.
        device: Device,
    },
    /// None of the backends at hand serves the device.
    NoBackend {
        /// The device that was asked for.
        device: Device,
    },
    /// A plug-in registered a kind of device that another one serves.
    AlreadyServed {
        /// The kind.
        device_type: DLDeviceType,
    },
    /// The backend of the device does not have that.
    Unsupported {
        /// The device.
        device: Device,
        /// What it lacks.
        what: &'static str,
    },
    /// The runtime library of a device is not on this machine.
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
        /// What it returned.
        code: i32,
    },
    /// The device does not define that `stream`.
    StreamRefused {
        /// The device.
        device: Device,
        /// The number that the consumer sent; `None` if it said nothing.
        stream: Option<usize>,
        /// What to send instead.
        rule: &'static str,
    },
    /// The consumer works on a stream that it did not name, and the device has
    /// no way to find out when it is done.
    StreamUntracked {
        /// The device.
        device: Device,
    },
    /// Elements packed into bytes can only be copied where they are compact.
    PackedStrides {
        /// The element type.
        dtype: DataType,
    },
    /// A stream was given for memory on which no stream works.
    StreamOnHost,
    /// Memory for the exported tensor could not be had.
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// There is no tensor behind the pointer: it is NULL.
    NullTensor,
    /// The struct has the layout of another major version, of which nothing
    /// but the deleter can be used.
    VersionUnsupported {
        /// The version that it names.
        found: Version,
    },
    /// The number of dimensions is negative.
    NegativeRank {
        /// What it says.
        ndim: i32,
    },
    /// There are dimensions, but `shape` is NULL.
    NullShape {
        /// Dimensions announced.
        ndim: usize,
    },
    /// There are elements, but `data` is NULL.
    NullData,
    /// The elements were to be accessed as another type than theirs.
    ElementMismatch {
        /// The type asked for.
        asked: DataType,
        /// The type of the elements.
        found: DataType,
    },
    /// An index names no element.
    NoSuchElement,
    /// The bits of an element are no value of its type.
    InvalidBits {
        /// The type of the elements.
        dtype: DataType,
    },
    /// A slice was asked for, but the elements do not lie one after the other
    /// in row-major order.
    NotCompact,
    /// Imported memory was to be written that came with READ_ONLY.
    ReadOnly,
    /// Imported memory was to be had alone, but others may hold it too.
    NotExclusive,
    /// Imported memory was to be borrowed, but others may write it.
    NotFrozen,
    /// The struct is of version 1.2 or later and has dimensions, but `strides`
    /// is NULL, and the standard was to be taken by its word.
    NullStrides {
        /// Dimensions announced.
        ndim: usize,
    },
    /// The last dimensions of the tensor are not those of the elements that it
    /// was to be accessed as, or do not lie one after the other.
    AxesMismatch {
        /// The dimensions of an element.
        axes: &'static [i64],
    },
    /// Elements were to be read as numbers of 64 bits, but have more.
    TooWide {
        /// The type of the elements.
        dtype: DataType,
    },
    /// Imported memory was to be had alone, but two indices may name one element.
    Overlapping,
    /// A reason that a hand-written [`DLPackExport`](crate::DLPackExport) gave.
    Custom(&'static str),
}

impl Error {
    /// What is wrong with a list of numbers, if these are strides.
    #[cold]
    pub(crate) fn of_strides(self) -> Self {
        match self {
            Error::DimTooLarge { axis } => Error::StrideTooLarge { axis },
            error => error,
        }
    }
}

impl core::error::Error for Error {}

/// For conversions that cannot fail, where one that can is asked for.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
