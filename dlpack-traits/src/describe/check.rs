//! The validation of a description against the memory that it describes: [`Checked`].
//!
//! [`Shaped::check_fast`] is the fast path. It is inlined, accepts nearly every tensor, and uses
//! 64-bit arithmetic, so the optimizer removes the checks of attributes that a type does
//! not use. [`Shaped::check_exactly`] is the slow path. It is outlined, shared by all types, and
//! repeats the validation in 128-bit arithmetic, which either succeeds or yields the error.

use super::alignment::{alignment, check_alignment, whole_byte_alignment};
use super::amount::Amount;
use super::bytes::{Span, all_fit, element_type, stored_bits, whole_bytes};
use super::facts::Facts;
use super::lists::Described;
use super::packed::Packed;
use super::shaped::{Shaped, Strides};
use super::slot::Slot;
use super::walk::contiguous;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{self, DLTensor};
use crate::flags::Flags;
use crate::storage::{Memory, OwnLayout, Strided, Window};
use crate::strides::{self, Extent};

/// A tensor that was described in a slot. All claims about its memory are validated.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    pub(super) described: Described<'a>,
    pub(crate) facts: Facts,
}

impl Checked<'_> {
    /// Ends the description, and returns the facts beyond the C struct, which is in `slot`.
    ///
    /// A slot of this crate does not live as long as the lifetime that the implementation
    /// was given: it is moved, or freed with the packet. `self` is the only description of
    /// its slot, and safe code can borrow a slot for the whole lifetime only from a
    /// description that it never returns, as `Box::leak` does. So neither the lists nor the
    /// memory of a tensor that was described in `slot` are inside of `slot`. Those of a
    /// tensor that was described elsewhere may be.
    ///
    /// # Errors
    ///
    /// [`Error::Custom`] for a tensor that was described in another slot.
    #[inline(always)]
    pub(crate) fn into_facts(self, slot: *const Slot) -> Result<Facts, Error> {
        if self.is_in(slot) { Ok(self.facts) } else { Err(described_elsewhere()) }
    }

    /// Whether the tensor was described in this slot.
    #[inline(always)]
    pub(crate) fn is_in(&self, slot: *const Slot) -> bool {
        self.described.is_in(slot)
    }

    /// As [`into_facts`](Self::into_facts), in the memory of another owner. The elements keep their
    /// addresses, and all of them must be inside of that memory.
    ///
    /// # Errors
    ///
    /// Those of `into_facts`; [`Error::DeviceMismatch`], [`Error::ShareOutOfRange`] and
    /// [`Error::Misaligned`] if that memory is on another device, does not contain all
    /// elements, or does not guarantee their alignment.
    ///
    /// # Safety
    ///
    /// 1. Only the caller accesses `slot`.
    #[inline(always)]
    pub(crate) unsafe fn into_relocated_facts(
        self,
        memory: &Memory,
        slot: *mut Slot,
    ) -> Result<Facts, Error> {
        let data = relocated(self.described, &self.facts, memory)?;
        let mut facts = self.into_facts(slot)?;
        // SAFETY: 1. The tensor was described there, its description has ended, and by our
        // caller's 1 no one else accesses the slot.
        unsafe { Slot::set_data(slot, data) };
        facts.relocate(memory, data);
        Ok(facts)
    }
}

#[cold]
pub(crate) fn described_elsewhere() -> Error {
    Error::Custom("the tensor was described in another slot than the one that was given")
}

/// Returns the pointer to the same elements with the provenance of another owner's memory.
///
/// It reads the facts, not the struct that was just written.
#[inline(always)]
fn relocated(described: Described<'_>, facts: &Facts, memory: &Memory) -> Result<*mut u8, Error> {
    memory.check()?;
    let device = facts.synchronizer.device();
    if device != memory.device {
        return Err(Error::DeviceMismatch { device, storage: memory.device });
    }
    let data = facts.data;
    if !memory.device.has_addresses() {
        // A different handle is a different object. Both counts begin at the handle.
        let Window { data: handle, byte_offset, byte_len } = memory.window;
        let (low, high) = (byte_offset as u64, byte_offset.wrapping_add(byte_len) as u64);
        let Span { start, end } = facts.span;
        let inside = start == end || (low <= start && end <= high);
        return if data == handle && inside { Ok(data) } else { Err(Error::ShareOutOfRange) };
    }
    if data.is_null() {
        // The tensor is empty.
        return Ok(data);
    }
    // For an address before the new memory, the difference wraps to more than its length.
    let start = facts.base.addr().wrapping_add(usize::try_from(facts.span.start).unwrap_or(0));
    let before = start.wrapping_sub(memory.window.data.addr());
    let (_, byte_len) = facts.span();
    match memory.window.byte_len.checked_sub(before) {
        Some(rest) if byte_len <= rest => {}
        _ => return Err(Error::ShareOutOfRange),
    }
    // No type of elements has a greater alignment than 16.
    if facts.vouched && data.addr() & 15 != 0 {
        check_vouched(described, memory.foreign.is_some(), memory.dtype)?;
    }
    Ok(memory.window.data.with_addr(data.addr()))
}

/// Checks the alignment of elements that were guaranteed by the producer of their memory,
/// in memory of another owner: its producer, if there is one, guarantees elements of the
/// type `of`.
#[cold]
fn check_vouched(described: Described<'_>, foreign: bool, of: DataType) -> Result<(), Error> {
    let tensor = described.tensor();
    let dtype: DataType = tensor.dtype.into();
    match alignment(dtype, tensor.device.into()) {
        Some(align)
            if tensor.data.addr() & align.wrapping_sub(1) != 0 && !(foreign && dtype == of) =>
        {
            Err(Error::Misaligned { dtype, align })
        }
        _ => Ok(()),
    }
}

impl<'a> Shaped<'a> {
    /// Validates the description against the memory, and writes the C struct into the slot.
    /// A description without strides gets those of `layout`.
    ///
    /// `wrap` converts the validated tensor to the result. A `map` of the whole `Result`
    /// would move it through memory (store forwarding: 10 ns per description).
    #[inline(always)]
    pub(super) fn check<W>(
        mut self,
        memory: &Memory,
        layout: Option<&'a dyn OwnLayout>,
        wrap: impl Fn(Checked<'a>) -> W,
    ) -> Result<W, Error> {
        let ndim = self.ndim_in(memory);
        let layout = if self.has_only_a_shape() { layout } else { None };
        if let Some(strided) = layout.and_then(OwnLayout::strided) {
            let place = in_layout(Packed::new(&self), &memory.copied(), &strided)?;
            // SAFETY: 1. `in_layout` returned what `check_slow` did, `ndim_in` returned `ndim`.
            return Ok(wrap(unsafe { self.finish(ndim, memory, &place) }));
        }
        let place = match self.check_fast(memory) {
            Some(place) => place,
            // Copies, because a call that takes the address of a value forces all of it
            // into memory, also on the fast path (measured: 28 ns per export; 20 ns
            // without).
            None => check_slow(Packed::new(&self), &memory.copied())?,
        };
        // SAFETY: 1. `check_fast` or `check_slow` returned `place`, and `ndim_in` returned `ndim`.
        Ok(wrap(unsafe { self.finish(ndim, memory, &place) }))
    }

    /// The number of dimensions of the complete tensor. The paths append the axes of the elements
    /// to the lists.
    ///
    /// It is computed before them, because it is one value then: read from the struct, it is one
    /// of each path (measured: 10 instructions per borrowed tensor of an enum).
    #[inline(always)]
    pub(super) fn ndim_in(&self, memory: &Memory) -> usize {
        self.lists.ndim().wrapping_add(memory.axes.len())
    }

    /// Returns the complete tensor.
    ///
    /// # Safety
    ///
    /// 1. `place` was returned by [`check_fast`](Self::check_fast), [`check_slow`] or [`in_layout`]
    ///    of this, and `ndim` before by [`ndim_in`](Self::ndim_in), for the same memory.
    #[inline(always)]
    pub(super) unsafe fn finish(
        self,
        ndim: usize,
        memory: &Memory,
        place: &Placement,
    ) -> Checked<'a> {
        let Self { lists, stored, .. } = self;
        // SAFETY: 1. By our caller's 1: all three write the struct before they return a place, with
        // the axes of the elements appended, once.
        let described = unsafe { lists.described(ndim) };
        // Computed from the memory here, and not by `check_slow`: the caller's knowledge of the
        // memory is constant-folded on both paths (measured: 20 instructions per shared
        // export).
        // If elements have axes, the lists in the slot are longer than the stored ones.
        let stored = if memory.axes.is_empty() { stored } else { [core::ptr::null(); 2] };
        let facts = Facts::new(memory, place.data, place.span, place.flags, stored);
        Checked { described, facts }
    }

    /// The fast path, for nearly every tensor: elements of whole bytes, at an address, of a
    /// type that needs no conversion, at least one of them, with numbers that fit in 64
    /// bits. `None` does not mean that the tensor is invalid; [`check_exactly`](Self::check_exactly)
    /// overwrites everything that was written by then.
    #[inline(always)]
    pub(super) fn check_fast(&mut self, memory: &Memory) -> Option<Placement> {
        let plain = memory.is_common() && memory.device.is_well_formed();
        if self.padded || !plain {
            return None;
        }
        // Contiguous only: where strides are explicit, a test of the reach costs up to 14
        // instructions. Here it saves 11 with a run-time dtype, and costs 6 with elements that are
        // larger than their alignment (measured).
        if matches!(self.strides, Strides::Contiguous(_)) && self.reach.is_beyond() {
            return None;
        }
        if self.device.is_some_and(|device| device != memory.device) {
            return None;
        }
        let dtype = self.dtype.unwrap_or(memory.dtype);
        let bytes = memory.dtype == DataType::U8 && memory.axes.is_empty();
        // Storages of bytes nearly always have a constant type, so nothing is left of this test, and the
        // comparison of both types is not made (measured: 4 instructions).
        let fits = if bytes { dtype.code() != ffi::kDLOpaqueHandle } else { dtype == memory.dtype };
        if !fits {
            return None;
        }
        let element = dtype.whole_bytes()?;
        let axes = memory.axes;
        if !axes.is_empty() && !self.lists.can_append(axes) {
            return None;
        }
        // Offsets, strides and lengths count elements of the storage, which may be arrays
        // of elements in the sense of DLPack.
        // Without a call if there are no axes: a call would take the address of `memory`, and
        // so force all of it out of registers.
        let stored =
            if axes.is_empty() { memory.dtype.byte_size()? } else { memory.element_size()? } as u64;
        let size = if axes.is_empty() { element.size as u64 } else { stored };
        let align = whole_byte_alignment(element, memory.device) as u64;
        let byte_offset = match self.offset {
            Amount::Bytes(0) => 0,
            Amount::Bytes(bytes) => {
                // A multiple of the storage's elements, which may be bytes.
                let whole = bytes.checked_rem(stored) == Some(0);
                if whole { bytes } else { return None }
            }
            Amount::Elements(elements) => elements.unsigned_abs().checked_mul(size)?,
        };
        let widened = self.widened(size)?;
        let reach = widened.map_or(self.reach, |(_, reach)| reach);
        let (below, above) = if matches!(self.strides, Strides::Bytes) {
            self.whole_strides(size)?;
            (reach.below(), reach.high().checked_add(size)?)
        } else {
            let above = reach.above().checked_mul(size)?;
            // Strides are rarely negative.
            let below = match reach.below() {
                0 => 0,
                below => below.checked_mul(size)?,
            };
            (below, above)
        };
        let start = byte_offset.checked_sub(below)?;
        let end = byte_offset.checked_add(above)?;
        let first = (memory.window.data.addr() as u64).wrapping_add(byte_offset);
        let whole = memory.window.byte_len as u64;
        let inside = if self.fills_storage() { end == whole } else { end <= whole };
        // The alignment first (measured: 2 instructions less per borrowed view).
        if first & align.wrapping_sub(1) != 0 || !inside {
            return None;
        }
        if let Some(len) = self.len {
            let len = match len {
                Amount::Bytes(bytes) => bytes,
                Amount::Elements(elements) => elements.unsigned_abs().checked_mul(size)?,
            };
            let last = byte_offset.checked_add(len)?;
            if last > whole || end > last || start < byte_offset {
                return None;
            }
        }
        if !matches!(self.strides, Strides::Contiguous(_)) && self.repeats != 1 {
            // Rare, and the only case in which elements inside of the memory may have more bytes, all
            // together, than it: too many for an import.
            if !reach.bytes_fit(self.repeats, size) {
                return None;
            }
        }
        // From here on the tensor is accepted.
        if let Some((pitch, _)) = widened {
            self.set_pitch(pitch);
        }
        if matches!(self.strides, Strides::Bytes) {
            self.divide_strides(size);
        }
        if !axes.is_empty() {
            // A pitch of an axis of size 1 may be too large, for the slow path too.
            self.lists.append_inline(axes).ok()?;
        }
        let read_only = self.read_only || memory.access.is_read_only() || self.may_overlap();
        let flags = if read_only { Flags::READ_ONLY } else { Flags::NONE };
        // The first element is inside of the memory, so its offset fits.
        let byte_offset = usize::try_from(byte_offset).unwrap_or(0);
        let data = memory.window.data.wrapping_add(byte_offset);
        self.write(memory, dtype, data, 0);
        Some(Placement { data, span: Span { start, end }, flags })
    }

    /// The slow path, for every tensor, in numbers that cannot overflow.
    #[inline(always)]
    fn check_exactly(&self, memory: &Memory) -> Result<Placement, Error> {
        let dtype = self.element_type(memory)?;
        let padded = self.padded | memory.padded;
        let element_bits = stored_bits(dtype, padded);
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Elements(elements) => whole_bytes(elements, element_bits, dtype)?,
        };
        let extent = self.extent()?;
        let Window { data, byte_offset: window, byte_len } = memory.window;
        let whole = (0, byte_len as u64);
        let span = Span::new(byte_len, whole, byte_offset, element_bits, extent)?;
        if span.end != byte_len as u64 && self.fills_storage() {
            return Err(spare_capacity(self.lists.split().0, span, byte_len));
        }
        let span = span.after(window as u64);
        if extent.is_some() {
            // The elements of a contiguous tensor have the bytes of the span.
            if !matches!(self.strides, Strides::Contiguous(_)) {
                let (shape, _) = self.lists.split();
                all_fit(strides::numel(shape)?, element_bits)?;
            }
            check_alignment(memory, byte_offset, dtype)?;
        }
        let read_only = self.read_only || memory.access.is_read_only() || self.may_overlap();
        let mut flags = if padded { Flags::IS_SUBBYTE_TYPE_PADDED } else { Flags::NONE };
        if read_only {
            flags = flags | Flags::READ_ONLY;
        }
        let (data, byte_offset) = if !memory.device.has_addresses() {
            (data, byte_offset.checked_add(window as u64).ok_or(Error::SizeOverflow)?)
        } else if extent.is_none() {
            (core::ptr::null_mut(), 0)
        } else {
            // The first element is inside of the memory, so its offset fits.
            (data.wrapping_add(usize::try_from(byte_offset).unwrap_or(0)), 0)
        };
        self.write(memory, dtype, data, byte_offset);
        Ok(Placement { data, span, flags })
    }

    /// Whether the tensor must use all of its storage: it is contiguous, and nothing states that it
    /// uses a part.
    #[inline(always)]
    fn fills_storage(&self) -> bool {
        matches!(self.strides, Strides::Contiguous(_)) && !self.partial
    }

    /// The elements that the tensor reaches; `None` for an empty tensor.
    pub(super) fn extent(&self) -> Result<Option<Extent>, Error> {
        let (shape, strides) = self.lists.split();
        let numel = match contiguous(shape.iter().map(|&dim| (Some(dim), ())), |(), _, _| {}) {
            Some(numel) => numel,
            None => strides::numel(shape)?,
        };
        match (numel, self.strides) {
            (0, _) => Ok(None),
            (numel, Strides::Contiguous(_)) => {
                Ok(Some(Extent { low: 0, high: numel.saturating_sub(1) }))
            }
            (_, Strides::Elements | Strides::Bytes) => {
                strides::extent_of_some(shape, strides).map(Some)
            }
        }
    }

    /// Whether two indices may name the same element.
    #[inline(always)]
    fn may_overlap(&self) -> bool {
        let (shape, strides) = self.lists.split();
        let explicit = matches!(self.strides, Strides::Elements);
        explicit && self.repeats != 1 && strides::may_overlap(shape, strides)
    }

    /// The type of the elements, if there is memory and it can have elements of this type.
    #[inline(always)]
    pub(super) fn element_type(&self, memory: &Memory) -> Result<DataType, Error> {
        memory.check()?;
        if !memory.device.is_well_formed() {
            return Err(Error::NoSuchDevice { device: memory.device });
        }
        if let Some(device) = self.device.filter(|&device| device != memory.device) {
            return Err(Error::DeviceMismatch { device, storage: memory.device });
        }
        element_type(self.dtype.unwrap_or(memory.dtype), memory)
    }

    /// Writes the C struct.
    #[inline(always)]
    fn write(&self, memory: &Memory, dtype: DataType, data: *mut u8, byte_offset: u64) {
        self.lists.write(DLTensor {
            data: data.cast(),
            device: memory.device.to_ffi(),
            ndim: 0,
            dtype: dtype.to_ffi(),
            shape: core::ptr::null_mut(),
            strides: core::ptr::null_mut(),
            byte_offset,
        });
    }
}

/// The error for a tensor that must use all `len` bytes of its storage, and uses fewer.
#[cold]
fn spare_capacity(shape: &[i64], used: Span, len: usize) -> Error {
    // The bytes are inside of the storage, so both numbers fit.
    let elements = strides::numel(shape).unwrap_or(0);
    let bytes = usize::try_from(used.end).unwrap_or(len);
    Error::SpareCapacity { elements, bytes, len }
}

/// The slow path of [`Shaped::check`]: [`Shaped::check_exactly`] of an unpacked description.
#[cold]
#[inline(never)]
pub(super) fn check_slow(packed: Packed<'_>, memory: &Memory) -> Result<Placement, Error> {
    let shaped = packed.unpacked();
    shaped.fault()?;
    if shaped.has_units(memory) {
        check_slow_in_elements(packed, memory)
    } else {
        shaped.check_exactly(memory)
    }
}

/// As [`check_slow`], after a conversion of strides and offset. It unpacks the description again,
/// because the conversion takes its address, which forces it into memory.
#[inline(never)]
fn check_slow_in_elements(packed: Packed<'_>, memory: &Memory) -> Result<Placement, Error> {
    let mut shaped = packed.unpacked();
    shaped.in_elements(memory)?;
    shaped.check_exactly(memory)
}

/// The slow path of [`Shaped::check`] for a description that
/// [has only a shape](Shaped::has_only_a_shape).
#[cold]
#[inline(never)]
fn in_layout(
    packed: Packed<'_>,
    memory: &Memory,
    strided: &Strided<'_>,
) -> Result<Placement, Error> {
    let mut shaped = packed.unpacked();
    shaped.fault()?;
    // An empty tensor has no elements that could be confused.
    if shaped.extent()?.is_some() {
        shaped.take_layout(memory, strided)?;
    }
    if shaped.has_units(memory) {
        shaped.in_elements(memory)?;
    }
    shaped.check_exactly(memory)
}

/// Where the elements of a described tensor are, and the flags of an export.
#[derive(Debug)]
pub(super) struct Placement {
    /// Address of the first element, or NULL; on a device without addresses, the handle.
    data: *mut u8,
    /// Counted from the start of the memory, or from the handle.
    span: Span,
    flags: Flags,
}
