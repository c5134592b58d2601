//! The check of a description against the memory that it describes: [`Checked`].
//!
//! [`Shaped::usual`] proves in 64 bits what is true of nearly every tensor, inline, so
//! that whatever a type does not say costs nothing. [`Shaped::exact`] is cold and the same
//! for all types: it repeats the check in 128 bits, and either completes it or names the
//! error.

use core::ptr::NonNull;

use super::layout::Amount;
use super::lists::Described;
use super::place::{Span, alignment, check_alignment, element_type, stored_bits, whole_bytes};
use super::shaped::{Shaped, Strides};
use super::slot::{INLINE, Slot};
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{self, DLTensor};
use crate::flags::Flags;
use crate::layout::{self, Extent};
use crate::storage::{Access, Memory, Synchronizer};
use crate::stream::StreamArg;
use crate::version::Version;

/// A tensor that was described in a slot. Every claim about its memory is checked.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    pub(super) described: Described<'a>,
    pub(crate) facts: Facts,
}

/// What is known of a described tensor beside its C struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Start of the storage, or its handle.
    base: *mut u8,
    /// First element, or NULL; a handle where there are no addresses.
    data: *mut u8,
    /// Whether a producer answers for where the elements lie.
    vouched: bool,
    /// The bytes of the storage that hold elements; empty where there are none.
    span: Span,
    flags: Flags,
    access: Access,
    /// How many minor versions later than ours the type of the elements is.
    later: u8,
    synchronizer: Synchronizer,
    /// Where shape and strides are stored as `i64`s beside the slot; NULL if nowhere.
    stored: [*const i64; 2],
}

impl Facts {
    /// What a consumer is told, READ_ONLY included.
    #[inline]
    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }

    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.flags.contains(Flags::READ_ONLY)
    }

    #[inline]
    pub(crate) fn set_read_only(&mut self) {
        self.flags = self.flags | Flags::READ_ONLY;
    }

    /// Whether elements narrower than a byte take a byte each.
    #[inline]
    pub(crate) fn is_padded(&self) -> bool {
        self.flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED)
    }

    /// Who may access the memory while it is lent.
    #[inline]
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Start of the storage, or its handle.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// The bytes of the storage that hold elements: where they begin, counted from its
    /// start, and how many they are.
    #[inline]
    pub(crate) fn span(&self) -> (u64, usize) {
        // They lie inside the storage, so their number fits.
        let byte_len = usize::try_from(self.span.end.wrapping_sub(self.span.start)).unwrap_or(0);
        (self.span.start, byte_len)
    }

    /// The version of the standard that a consumer must be told: ours, unless foreign
    /// elements are of a type that a later one added.
    #[inline]
    pub(crate) fn version(&self) -> Version {
        let ours = Version::CURRENT;
        Version::new(ours.major, ours.minor.saturating_add(self.later.into()))
    }

    /// Synchronizes pending work on the memory with the consumer.
    ///
    /// # Errors
    ///
    /// Those of [`Synchronizer::sync_for`].
    ///
    /// # Safety
    ///
    /// 1. The loan of the memory is not over.
    #[inline]
    pub(crate) unsafe fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. is 1. of this function.
        unsafe { self.synchronizer.sync_for(consumer) }
    }

    /// Shape and strides where the tensor stores them, for as long as it is lent; NULL
    /// for a list that it computes or stores as other numbers.
    #[inline]
    pub(crate) fn stored(&self) -> [*const i64; 2] {
        self.stored
    }
}

impl Checked<'_> {
    /// What is known beside the C struct, which is in `slot`.
    ///
    /// A slot of ours does not live as long as the implementation was told: it is moved,
    /// or freed with the packet. The result is the only description of its slot, and safe
    /// code can borrow a slot for the whole lifetime only from a description that it never
    /// gives back, as `Box::leak` does. So no list and no memory of a tensor that was
    /// described in `slot` lies in `slot`. One that was described elsewhere may.
    ///
    /// # Errors
    ///
    /// [`Error::Custom`] for a tensor that was described in another slot.
    #[inline(always)]
    pub(crate) fn settle(self, slot: NonNull<Slot>) -> Result<Facts, Error> {
        if self.is_in(slot) { Ok(self.facts) } else { Err(described_elsewhere()) }
    }

    /// Whether the tensor was described in this slot.
    #[inline(always)]
    pub(crate) fn is_in(&self, slot: NonNull<Slot>) -> bool {
        self.described.is_in(slot)
    }

    /// [`settle`](Self::settle) in the memory of another owner, in which the elements are
    /// found by their address: all of them must lie in it.
    ///
    /// # Errors
    ///
    /// Those of `settle`; [`Error::DeviceMismatch`], [`Error::ShareOutOfRange`] and
    /// [`Error::Misaligned`] if the memory is another.
    ///
    /// # Safety
    ///
    /// 1. The caller alone accesses `slot`.
    #[inline(always)]
    pub(crate) unsafe fn settle_in(
        self,
        memory: &Memory,
        slot: NonNull<Slot>,
    ) -> Result<Facts, Error> {
        let data = relocated(self.described, &self.facts, memory)?;
        let mut facts = self.settle(slot)?;
        // SAFETY: 1. The tensor was described there, its description is over, and by 1 of
        // this function no one else accesses the slot.
        unsafe { Slot::set_data(slot, data) };
        if memory.access.is_read_only() {
            facts.set_read_only();
        }
        (facts.base, facts.data, facts.access) = (memory.ptr, data, memory.access);
        facts.synchronizer = memory.synchronizer();
        Ok(facts)
    }
}

#[cold]
pub(crate) fn described_elsewhere() -> Error {
    Error::Custom("the tensor was described in another slot than the one that was given")
}

/// The pointer to the same elements in the memory of another owner.
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
        // A handle has no neighbours: any other is another object.
        let same = data == memory.ptr && facts.span.end <= memory.byte_len as u64;
        return if same { Ok(data) } else { Err(Error::ShareOutOfRange) };
    }
    if data.is_null() {
        // There are no elements.
        return Ok(data);
    }
    // What lies before the new memory wraps around to beyond its end.
    let start = facts.base.addr().wrapping_add(usize::try_from(facts.span.start).unwrap_or(0));
    let before = start.wrapping_sub(memory.ptr.addr());
    let (_, byte_len) = facts.span();
    match memory.byte_len.checked_sub(before) {
        Some(rest) if byte_len <= rest => {}
        _ => return Err(Error::ShareOutOfRange),
    }
    if facts.vouched {
        check_vouched(described, memory.foreign.is_some(), memory.dtype)?;
    }
    Ok(memory.ptr.with_addr(data.addr()))
}

/// Checks the alignment of elements for which the producer of the memory answered, in
/// memory of another owner: its producer, if there is one, answers for elements `of` one
/// type.
#[cold]
fn check_vouched(described: Described<'_>, foreign: bool, of: DataType) -> Result<(), Error> {
    let tensor = described.tensor();
    let dtype: DataType = tensor.dtype.into();
    match alignment(dtype) {
        Some(align)
            if tensor.data.addr() & align.wrapping_sub(1) != 0 && !(foreign && dtype == of) =>
        {
            Err(Error::Misaligned { dtype, align })
        }
        _ => Ok(()),
    }
}

impl<'a> Shaped<'a> {
    /// Checks what was said against the memory, and writes the C struct into the slot.
    ///
    /// `wrap` makes the result of what was checked. A `map` of the whole `Result` instead
    /// would move it through memory (store forwarding: 10 ns a description).
    #[inline(always)]
    pub(super) fn check<W>(
        mut self,
        memory: &Memory,
        wrap: impl Fn(Checked<'a>) -> W,
    ) -> Result<W, Error> {
        let place = match self.usual(memory) {
            Some(place) => place,
            // Rebuilt, because a call that takes the address of a value forces all of it
            // into memory, on the path above too (measured: 28 ns an export, 20 without).
            None => self.rebuilt().exact(&memory.copied())?,
        };
        // SAFETY: 1. It is what `usual` or `exact` returned.
        Ok(wrap(unsafe { self.finish(memory, &place) }))
    }

    /// The complete tensor.
    ///
    /// # Safety
    ///
    /// 1. `place` was returned by [`usual`](Self::usual) or [`exact`](Self::exact) of this.
    #[inline(always)]
    pub(super) unsafe fn finish(self, memory: &Memory, place: &Place) -> Checked<'a> {
        let Self { lists, stored, .. } = self;
        // SAFETY: 1. By 1 of this function: both write it where they return a place.
        let described = unsafe { lists.described() };
        // Made of the memory here, not by `exact`: what the caller knows of the memory is a
        // constant on both paths (measured: 20 instructions a shared export).
        let facts = Facts {
            base: memory.ptr,
            data: place.data,
            vouched: memory.foreign.is_some(),
            span: place.span,
            flags: place.flags,
            access: memory.access,
            later: memory.foreign.map_or(0, |came| came.later),
            synchronizer: memory.synchronizer(),
            // The slot has more axes than what is stored, if elements have axes.
            stored: if memory.axes.is_empty() { stored } else { [core::ptr::null(); 2] },
        };
        Checked { described, facts }
    }

    /// The check of nearly every tensor: elements of whole bytes, at an address, in a
    /// type that needs no conversion, at least one of them, with numbers that fit in 64
    /// bits. `None` says nothing about the tensor: what was written by then is what
    /// [`exact`](Self::exact) writes again.
    #[inline(always)]
    pub(super) fn usual(&mut self, memory: &Memory) -> Option<Place> {
        let plain = memory.is_plain() && memory.device.is_well_formed();
        if self.padded || !plain {
            return None;
        }
        if self.device.is_some_and(|device| device != memory.device) {
            return None;
        }
        let dtype = match self.dtype {
            Some(dtype) if dtype != memory.dtype => {
                let numbers = dtype.is_well_formed() && dtype.code() != ffi::kDLOpaqueHandle;
                let bytes = memory.dtype == DataType::U8 && memory.axes.is_empty();
                if !bytes || !numbers {
                    return None;
                }
                dtype
            }
            _ if memory.dtype.is_well_formed() => memory.dtype,
            _ => return None,
        };
        let axes = memory.axes;
        if !axes.is_empty() && self.lists.ndim().saturating_add(axes.len()) > INLINE {
            return None;
        }
        // What the caller counts are elements of the storage, which may be arrays of what
        // the standard counts.
        let size = if axes.is_empty() { dtype.byte_size()? } else { memory.element_size()? } as u64;
        let align = alignment(dtype)? as u64;
        let byte_offset = match self.offset {
            Amount::Bytes(0) => 0,
            Amount::Bytes(bytes) => {
                // A whole number of elements of the storage, which may be bytes.
                let whole = bytes.checked_rem(memory.element_size()? as u64) == Some(0);
                if whole { bytes } else { return None }
            }
            Amount::Elements(elements) => elements.unsigned_abs().checked_mul(size)?,
        };
        let widened = self.widened(size)?;
        let (below, above) = match (self.strides, &widened) {
            (Strides::Bytes, _) => {
                self.whole_strides(size)?;
                (self.reach.below(), self.reach.high().checked_add(size)?)
            }
            (_, Some((_, reach))) => {
                (reach.below().checked_mul(size)?, reach.above().checked_mul(size)?)
            }
            (_, None) => {
                (self.reach.below().checked_mul(size)?, self.reach.above().checked_mul(size)?)
            }
        };
        let start = byte_offset.checked_sub(below)?;
        let end = byte_offset.checked_add(above)?;
        let first = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
        let whole = memory.byte_len as u64;
        if end > whole || first & align.wrapping_sub(1) != 0 {
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
        // Nothing is refused from here on.
        if let Some((pitch, _)) = widened {
            self.set_pitch(pitch);
        }
        if matches!(self.strides, Strides::Bytes) {
            self.divide_strides(size);
        }
        if !axes.is_empty() {
            self.lists.append(axes).ok()?;
        }
        let read_only = self.read_only || memory.access.is_read_only() || self.may_overlap();
        let flags = if read_only { Flags::READ_ONLY } else { Flags::NONE };
        // It lies inside the memory, so its offset fits.
        let byte_offset = usize::try_from(byte_offset).unwrap_or(0);
        let data = memory.ptr.wrapping_add(byte_offset);
        self.write(memory, dtype, data, 0);
        Some(Place { data, span: Span { start, end }, flags })
    }

    /// The check of every tensor, in numbers that cannot overflow.
    #[cold]
    #[inline(never)]
    pub(super) fn exact(mut self, memory: &Memory) -> Result<Place, Error> {
        self.fault()?;
        if self.has_units(memory) {
            self.in_elements(memory)?;
        }
        let dtype = self.element_type(memory)?;
        let padded = self.padded | memory.padded;
        let element_bits = stored_bits(dtype, padded);
        let byte_offset = match self.offset {
            Amount::Bytes(bytes) => bytes,
            Amount::Elements(elements) => whole_bytes(elements, element_bits, dtype)?,
        };
        let extent = self.extent()?;
        let whole = (0, memory.byte_len as u64);
        let span = Span::new(memory.byte_len, whole, byte_offset, element_bits, extent)?;
        if extent.is_some() {
            check_alignment(memory, byte_offset, dtype)?;
        }
        let read_only = self.read_only || memory.access.is_read_only() || self.may_overlap();
        let mut flags = if padded { Flags::IS_SUBBYTE_TYPE_PADDED } else { Flags::NONE };
        if read_only {
            flags = flags | Flags::READ_ONLY;
        }
        let (data, byte_offset) = if !memory.device.has_addresses() {
            (memory.ptr, byte_offset)
        } else if extent.is_none() {
            (core::ptr::null_mut(), 0)
        } else {
            // The first element lies inside the memory, so its offset fits.
            (memory.ptr.wrapping_add(usize::try_from(byte_offset).unwrap_or(0)), 0)
        };
        self.write(memory, dtype, data, byte_offset);
        Ok(Place { data, span, flags })
    }

    /// Which elements the tensor reaches; `None` for no elements.
    pub(super) fn extent(&self) -> Result<Option<Extent>, Error> {
        let (shape, strides) = self.lists.split();
        match (layout::numel(shape)?, self.strides) {
            (0, _) => Ok(None),
            (numel, Strides::Contiguous(_)) => {
                Ok(Some(Extent { low: 0, high: numel.saturating_sub(1) }))
            }
            (_, Strides::Elements | Strides::Bytes) => {
                layout::extent_of_some(shape, strides).map(Some)
            }
        }
    }

    /// Whether two indices may name one element.
    #[inline(always)]
    fn may_overlap(&self) -> bool {
        let (shape, strides) = self.lists.split();
        matches!(self.strides, Strides::Elements) && layout::may_overlap(shape, strides)
    }

    /// The type of the elements, if the memory exists and can have it.
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

/// Where the elements of a described tensor are, and what consumers are told of them.
#[derive(Debug)]
pub(super) struct Place {
    /// First element, or NULL; a handle where there are no addresses.
    data: *mut u8,
    span: Span,
    flags: Flags,
}
