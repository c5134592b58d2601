//! What each [`Error`] says; the house style is in `docs/ERRORS.md`.

use core::fmt;

use super::Error;
use crate::dtype::DataType;

/// What to do about a number of bytes that is not a whole number of elements.
const BYTES: &str = "export each element's bytes as a last axis of uint8, or copy them to a `Vec`";

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "one sentence per reason")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::RankMismatch { shape, strides } => {
                write!(f, "shape has {shape} dimensions but strides has {strides}")
            }
            Error::TooManyDims { ndim } => {
                write!(f, "shape has {ndim} dimensions, more than the 64 that consumers accept")
            }
            Error::NegativeDim { axis, dim } => {
                write!(f, "dimension {axis} of shape is {dim}, which is negative")
            }
            Error::DimTooLarge { axis } => {
                write!(f, "dimension {axis} of shape does not fit in 64 signed bits")
            }
            Error::StrideTooLarge { axis } => {
                write!(f, "stride {axis} does not fit in 64 signed bits")
            }
            Error::RankBeyondCapacity { ndim, capacity } => {
                write!(f, "the rank is {ndim} but shape or strides have room for {capacity}")
            }
            Error::StrideNotWhole { axis, bytes } => write!(
                f,
                "stride {axis} is {bytes} bytes, which is not a whole number of elements; if it \
                 counts elements, write `strides(elements)` on the field, or `strides(..)` above the \
                 struct; otherwise {BYTES}"
            ),
            Error::PitchNotWhole { bytes, bits } => {
                write!(f, "`pitch(bytes)` is {bytes} bytes, which is not a multiple of ")?;
                match (bits.checked_div(8), bits.checked_rem(8)) {
                    (Some(size), Some(0)) => write!(f, "the {size} bytes of an element; ")?,
                    _ => write!(f, "the {bits} bits of an element; ")?,
                }
                write!(f, "if it counts elements, write `pitch(elements)`; otherwise {BYTES}")
            }
            Error::PitchTooSmall { pitch, row } => pitch_too_small(f, "elements", row, pitch),
            Error::BytePitchTooSmall { bytes, row } => pitch_too_small(f, "bytes", row, bytes),
            Error::PitchOutOfRange => {
                f.write_str("the pitch is negative or does not fit in 64 signed bits")
            }
            Error::PitchBesideStrides => f.write_str("a layout with strides has no pitch"),
            Error::NegativeOffset => f.write_str("the offset of the first element is negative"),
            Error::InsideByte { dtype } => {
                write!(f, "the offset of packed {dtype} elements ends inside a byte")
            }
            Error::SizeOverflow => {
                f.write_str("the elements of the tensor do not fit in the address space")
            }
            Error::TooManyBytes { bytes, most } => write!(
                f,
                "expected elements of at most {most} bytes together, got {bytes}; pass a part of the \
                 tensor, or import it with a larger `max_bytes`"
            ),
            Error::OutOfBounds { start, end, len } => {
                write!(f, "the tensor spans bytes {start}..{end} but its storage holds {len}")
            }
            Error::OutsideWindow { start, end, from, to } => write!(
                f,
                "the tensor spans bytes {start}..{end} of its storage but `offset` and `len` give \
                 it {from}..{to}"
            ),
            Error::SpareCapacity { elements, bytes, len } => write!(
                f,
                "expected a tensor of all {len} bytes of its storage, got {elements} elements in \
                 {bytes} bytes; correct the shape, state the part with `offset` or `len`, or spare \
                 capacity behind the tensor with `spare_capacity`"
            ),
            Error::Misaligned { dtype, align } => write!(
                f,
                "expected {dtype} elements aligned to {align} bytes; copy them, store them in a \
                 buffer of their own type or in a `SharedBuffer<u8>`, choose an aligned offset, or \
                 read imported ones with `elements`"
            ),
            Error::UnsupportedDType { dtype } => {
                write!(f, "DLPack 1.3 does not define the element type {dtype}")
            }
            Error::NoDType { variant } => {
                write!(f, "elements of type `{variant}` have no DLPack data type")
            }
            Error::NoStorage { variant } => {
                write!(f, "a storage of kind `{variant}` cannot be exported")
            }
            Error::NoVariant { dtype } => {
                write!(f, "elements of type {dtype} have no counterpart in the requested type")
            }
            Error::NotBytes { dtype } => {
                write!(f, "the storage cannot be read as {dtype}; only uint8 storage can")
            }
            Error::DTypeMismatch { dtype, storage } => write!(
                f,
                "dtype is {dtype} but the storage holds {storage}; only uint8 storage can be \
                 read as another type"
            ),
            Error::DeviceMismatch { device, storage } => {
                write!(f, "device is {device} but the storage is on {storage}")
            }
            Error::NotNativeEndian => {
                f.write_str("the data is not in native byte order; convert it before exporting")
            }
            Error::ReadOnlyLegacy => f.write_str(
                "the tensor is read-only, which a legacy capsule cannot express; request it with \
                 `max_version=(1, 0)` or later, or request a copy with `copy=True`",
            ),
            Error::PaddedLegacy => f.write_str(
                "elements narrower than a byte are padded, which a legacy capsule cannot \
                 express; request it with `max_version=(1, 1)` or later",
            ),
            Error::NotShareable => f.write_str(
                "the storage has a single owner; export the object by value with `into_dlpack`, \
                 or hold it, or its storage, in an `Arc`",
            ),
            Error::ShareOutOfRange => {
                f.write_str("the shared handle does not hold the memory of the tensor")
            }
            Error::NotOnHost { device } => {
                write!(f, "the memory is on {device}, where the processor cannot read it")
            }
            Error::NoSuchDevice { device } => write!(
                f,
                "DLPack has no device type {}, expected 1 or more; host memory is 1 (`kDLCPU`)",
                device.device_type().0
            ),
            Error::NoBackend { device } => write!(
                f,
                "no enabled backend supports {device}: none is listed, or the device does not exist"
            ),
            Error::NotOrdered { device } => write!(
                f,
                "nothing orders work on imported memory of {device} before this consumer; import it into a \
                 `DeviceBuffer`, or pass no `stream`"
            ),
            Error::Unsupported { device, what } => {
                write!(f, "the backend of {device} has no {what}")
            }
            Error::NoLibrary { name } => write!(f, "the library {name} was not found"),
            Error::Device { device, call, code, text } => {
                let colon = if text.as_str().is_empty() { "" } else { ": " };
                write!(f, "`{call}` returned {code} for {device}{colon}{}", text.as_str())
            }
            Error::StreamRefused { device, stream: Some(number), rule } => {
                write!(f, "{device} has no `stream` {number}; {rule}")
            }
            Error::StreamRefused { device, stream: None, rule } => {
                write!(f, "{device} needs a `stream`; {rule}")
            }
            Error::StreamUntracked { device } => write!(
                f,
                "{device} does not track work on this consumer's stream; pass a `stream` \
                 that it can track"
            ),
            Error::PackedStrides { dtype } => {
                write!(
                    f,
                    "{dtype} elements are packed into bytes and can only be copied if they \
                     are contiguous"
                )
            }
            Error::StreamOnHost => {
                f.write_str("the tensor is on the CPU, where `stream` must be None")
            }
            Error::OutOfMemory { bytes } => write!(f, "could not allocate {bytes} bytes"),
            Error::NullTensor => f.write_str("there is no tensor: the pointer is NULL"),
            Error::VersionUnsupported { found } => {
                write!(f, "the tensor is of DLPack {found}, which cannot be read as version 1")
            }
            Error::NegativeRank { ndim } => {
                write!(f, "the number of dimensions is {ndim}, which is negative")
            }
            Error::NullShape { ndim } => {
                write!(f, "the tensor has {ndim} dimensions but its shape is NULL")
            }
            Error::NullData => f.write_str("the tensor has elements but its data is NULL"),
            Error::ElementMismatch { requested, found } => {
                write!(f, "expected {requested} elements, got {found}")
            }
            Error::NoSuchElement => f.write_str(
                "the tensor has no element at this index: it takes one number per dimension, each \
                 below the extent",
            ),
            Error::NoSuchAxis { axis, ndim } => {
                write!(f, "expected an axis of {ndim} dimensions, counted from 0, got {axis}")
            }
            Error::NoSuchIndex { axis, index, dim } => {
                write!(f, "expected an index below {dim} for axis {axis}, got {index}")
            }
            Error::NoSuchRange { axis, start, end, dim } => write!(
                f,
                "expected a range of indices within 0..{dim} for axis {axis}, got {start}..{end}"
            ),
            Error::NotPermutation { axis, times, ndim } => write!(
                f,
                "expected each of {ndim} axes once, got axis {axis} {times} times; pass an order of \
                 all axes, such as [1, 0] for two"
            ),
            Error::ShapesDiffer { axis, expected, found } => write!(
                f,
                "expected two tensors of one shape, got dimensions {axis} of {expected} and {found}"
            ),
            Error::RanksDiffer { expected, found } => {
                write!(
                    f,
                    "expected two tensors of one shape, got {expected} and {found} dimensions"
                )
            }
            Error::LenMismatch { needed, found } => write!(
                f,
                "expected {needed} elements, one for each element of the tensor, got {found}"
            ),
            Error::InvalidBits { dtype: DataType::BOOL } => f.write_str(
                "expected bools, got an element that is neither 0 nor 1, as in masks of images",
            ),
            Error::InvalidBits { dtype } => {
                write!(f, "expected {dtype} elements, got bits that are not a value of their type")
            }
            Error::NotContiguous => f.write_str(
                "the elements are not contiguous in row-major order, so they are not a slice; \
                 read them with `elements`, or copy them with its `to_vec`",
            ),
            Error::StridesMissing => f.write_str(
                "the memory was imported with strides, and is described without strides, in \
                 another shape or as elements of another type; describe it with the shape with \
                 which it was imported, or with strides",
            ),
            Error::ReadOnly => f.write_str(
                "the tensor is read-only: its producer set READ_ONLY, or exported the legacy \
                 struct, which cannot state that it is writable; copy it with `to_own_copy`, or \
                 import a legacy struct with `legacy_writable`",
            ),
            Error::NotExclusive => f.write_str(
                "other owners may access the memory of the tensor; change it by value with \
                 `elements_mut` (`update_blocks`, `map_in_place`), or copy it with `to_own_copy`, \
                 or import it with `copy(true)` (from Python `copy=True`); if no one else \
                 accesses it, `unsafe { tensor.assume_exclusive() }?.as_mut_slice::<T>()?` is a \
                 slice",
            ),
            Error::NotFrozen => f.write_str(
                "other owners may write the memory of the tensor; read its elements by value with \
                 `elements` (`for_each_block`, `to_vec`); if no one writes it, \
                 `unsafe { tensor.assume_frozen() }.as_slice::<T>()?` is a slice",
            ),
            Error::NullStrides { ndim } => write!(
                f,
                "the tensor has {ndim} dimensions but its strides are NULL, which DLPack 1.2 and \
                 later forbid"
            ),
            Error::AxesMismatch { axes } => write!(
                f,
                "the last dimensions of the tensor are not the {axes:?} of an element, \
                 contiguous in row-major order"
            ),
            Error::TooWide { dtype } => {
                write!(f, "{dtype} elements have more than 64 bits; read them by their own type")
            }
            Error::Overlapping => f.write_str(
                "two indices may name the same element, so it cannot be lent for writing; copy the \
                 tensor with `to_own_copy`",
            ),
            Error::Custom(reason) => f.write_str(reason),
        }
    }
}

/// Writes the error of a pitch. Rows that overlap are strides, because a pitch is also how an import
/// recognizes rows that lie one after the other.
fn pitch_too_small(f: &mut fmt::Formatter<'_>, unit: &str, row: i64, pitch: i64) -> fmt::Result {
    write!(
        f,
        "expected a `pitch({unit})` of at least {row}, from the start of one row to the start of the \
         next, got {pitch}; if rows overlap, list the strides instead, as in \
         `#[dlpack(strides(hop, 1))]`"
    )
}
