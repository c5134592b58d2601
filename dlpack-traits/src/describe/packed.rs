//! A description in the form that the slow path takes: [`Packed`].

use core::marker::PhantomData;

use super::amount::Amount;
use super::lists::Lists;
use super::shaped::{Shaped, Strides};
use super::slot::Slot;
use super::walk::ElementRange;
use crate::device::Device;
use crate::dtype::DataType;
use crate::ffi;

/// A [`Shaped`] in memory, for the call of [`check_slow`](super::check::check_slow).
///
/// The description of each type is inlined and contains the stores of all fields. So there
/// are few fields, all of them are initialized, and those that are usually constant are
/// adjacent: the compiler merges stores of adjacent constants (measured: 110 bytes of code
/// less per description than for a `Shaped`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Packed<'a> {
    slot: *mut Slot,
    ndim: usize,
    offset: u64,
    pitch: u64,
    len: u64,
    device: Device,
    dtype: DataType,
    strides: Strides,
    offset_unit: Unit,
    pitch_unit: Unit,
    len_unit: Unit,
    has_dtype: bool,
    has_device: bool,
    padded: bool,
    read_only: bool,
    partial: bool,
    refused: bool,
    life: PhantomData<&'a mut Slot>,
}

/// The unit of an [`Amount`], or that there is none.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Unit {
    Absent,
    Elements,
    Bytes,
}

impl<'a> Packed<'a> {
    #[inline(always)]
    pub(super) fn new(shaped: &Shaped<'a>) -> Self {
        let (slot, ndim) = shaped.lists.parts();
        let (offset, offset_unit) = split(Some(shaped.offset));
        let (pitch, pitch_unit) = split(shaped.pitch);
        let (len, len_unit) = split(shaped.len);
        Self {
            slot,
            ndim,
            offset,
            pitch,
            len,
            device: shaped.device.unwrap_or(Device::new(ffi::DLDeviceType(0), 0)),
            dtype: shaped.dtype.unwrap_or(DataType::new(ffi::DLDataTypeCode(0), 0, 0)),
            strides: shaped.strides,
            offset_unit,
            pitch_unit,
            len_unit,
            has_dtype: shaped.dtype.is_some(),
            has_device: shaped.device.is_some(),
            padded: shaped.padded,
            read_only: shaped.read_only,
            partial: shaped.partial,
            refused: shaped.refused,
            life: PhantomData,
        }
    }

    /// The description, without what the slow path does not use: the reach, and the
    /// addresses of stored lists.
    #[inline(always)]
    pub(super) fn unpacked(self) -> Shaped<'a> {
        Shaped {
            // SAFETY: 1. `new` took them from lists that are alive for `'a`, and that are
            // not used before the result is dropped: `check` uses only their slot.
            lists: unsafe { Lists::of_parts((self.slot, self.ndim)) },
            strides: self.strides,
            pitch: joined(self.pitch, self.pitch_unit),
            offset: joined(self.offset, self.offset_unit).unwrap_or(Amount::Bytes(0)),
            len: joined(self.len, self.len_unit),
            dtype: self.has_dtype.then_some(self.dtype),
            device: self.has_device.then_some(self.device),
            padded: self.padded,
            read_only: self.read_only,
            partial: self.partial,
            ranked: false,
            stored: [core::ptr::null(); 2],
            repeats: 0,
            reach: ElementRange::BEYOND,
            refused: self.refused,
            unfit: false,
        }
    }
}

#[inline(always)]
fn split(amount: Option<Amount>) -> (u64, Unit) {
    match amount {
        None => (0, Unit::Absent),
        Some(Amount::Elements(elements)) => {
            (u64::from_ne_bytes(elements.to_ne_bytes()), Unit::Elements)
        }
        Some(Amount::Bytes(bytes)) => (bytes, Unit::Bytes),
    }
}

fn joined(amount: u64, unit: Unit) -> Option<Amount> {
    match unit {
        Unit::Absent => None,
        Unit::Elements => Some(Amount::Elements(i64::from_ne_bytes(amount.to_ne_bytes()))),
        Unit::Bytes => Some(Amount::Bytes(amount)),
    }
}
