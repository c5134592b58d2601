//! The validation of a layout against the memory that it describes: [`Checked`].
//!
//! `fast.rs` is the fast path. It is inlined, accepts nearly every tensor, and uses 64-bit
//! arithmetic, so the optimizer removes the checks of attributes that a type does not use.
//! `exact.rs` is the slow path. It is outlined, shared by all types, and repeats the validation in
//! 128-bit arithmetic, which either succeeds or yields the error.

use core::mem::ManuallyDrop;

use super::Describe;
use super::bytes::Span;
use super::facts::Facts;
use super::layout::{Claims, Distance, Layout, Order, Strides, Unit};
use super::list::List;
use super::slot::{Described, Slot, SlotMut};
use crate::alignment::alignment;
use crate::dims::{Dims, Ints};
use crate::dtype::DataType;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{Memory, OwnLayout, Window};

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
    if data.is_null() {
        // The tensor is empty.
        return Ok(data);
    }
    if let Window { data: handle, in_object: Some(in_object), byte_len } = memory.window {
        let byte_offset = in_object.bytes();
        // A different handle is a different object. Both counts begin at the handle.
        let (low, high) = (byte_offset as u64, byte_offset.wrapping_add(byte_len) as u64);
        let Span { start, end } = facts.span;
        return if data == handle && low <= start && end <= high {
            Ok(data)
        } else {
            Err(Error::ShareOutOfRange)
        };
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

impl<'a> Describe<'a> {
    /// Validates a layout against the memory, and writes the tensor into the slot. A layout that is
    /// only a shape gets the strides of `own`. If the lists are `lent`, they are borrowed for `'a`.
    ///
    /// `wrap` converts the validated tensor to the result. A `map` of the whole `Result`
    /// would move it through memory (store forwarding: 10 ns per description).
    ///
    /// Without optimization all that it calls would be copied into each derived struct, 40 KiB of
    /// machine code each.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn check<W>(
        self,
        layout: Layout<'_>,
        lent: bool,
        (memory, own): (&Memory, Option<&'a dyn OwnLayout>),
        wrap: impl Fn(Checked<'a>) -> W,
    ) -> Result<W, Error> {
        let Self { mut slot } = self;
        let Layout { shape, strides, claims, .. } = layout;
        // Nothing below unwinds. Without this, the compiler would keep the lists in memory for the
        // case that it does (measured: 9 instructions per description).
        let lists = ManuallyDrop::new((shape, strides));
        let given = Given::of(&lists.0, &lists.1, claims);
        let place = given.place(&mut slot, memory, own);
        // If elements have axes, the lists in the slot are longer than the stored ones.
        let is_stored = lent && memory.axes.is_empty();
        let stored = if is_stored { given.stored } else { [core::ptr::null(); 2] };
        drop(ManuallyDrop::into_inner(lists));
        let place = place?;
        // SAFETY: 1. Both paths wrote the lists of that many dimensions, and the struct.
        let described = unsafe { slot.described(place.ndim) };
        // Computed from the memory here, and not by the slow path: the caller's knowledge of the
        // memory is constant-folded on both paths (measured: 20 instructions per shared
        // export).
        let facts = Facts::new(memory, place.data, place.span, place.flags, stored);
        Ok(wrap(Checked { described, facts }))
    }
}

/// A layout whose lists are slices.
#[derive(Clone, Copy)]
pub(super) struct Given<'l> {
    pub(super) shape: Numbers<'l>,
    pub(super) strides: GivenStrides<'l>,
    pub(super) claims: Claims,
    /// The addresses of shape and strides, if the tensor stores them with the memory layout of
    /// `i64`s; otherwise NULL.
    pub(super) stored: [*const i64; 2],
}

/// A list of a layout.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'l> {
    pub(super) list: Ints<'l>,
    /// Whether these are all numbers, and not those before the first one that does not fit.
    pub(super) is_whole: bool,
}

impl<'l> Numbers<'l> {
    /// The entries that are in use: the first `rank`, or all. `None` if there are fewer that fit.
    #[inline(always)]
    pub(super) fn used(self, rank: Option<i64>) -> Option<Ints<'l>> {
        match rank {
            None => self.is_whole.then_some(self.list),
            Some(ndim) => self.list.first(usize::try_from(ndim).ok()?),
        }
    }
}

/// The strides of a layout.
#[derive(Clone, Copy)]
pub(super) enum GivenStrides<'l> {
    /// As [`Strides::Contiguous`].
    Contiguous(Order, Option<Distance>),
    /// One for each dimension.
    Explicit(Numbers<'l>, Unit),
}

impl<'l> Given<'l> {
    #[inline(always)]
    pub(super) fn of(shape: &'l List<'_>, strides: &'l Strides<'_>, claims: Claims) -> Self {
        let (shape, stored_shape) = numbers(shape);
        let (strides, stored_strides) = match strides {
            Strides::Contiguous(order, pitch) => {
                (GivenStrides::Contiguous(*order, *pitch), core::ptr::null())
            }
            Strides::Explicit(list, unit) => {
                let (list, stored) = numbers(list);
                let stored = if *unit == Unit::Elements { stored } else { core::ptr::null() };
                (GivenStrides::Explicit(list, *unit), stored)
            }
        };
        Self { shape, strides, claims, stored: [stored_shape, stored_strides] }
    }

    /// Writes the tensor into the slot. A layout that is only a shape gets the strides of `own`.
    #[inline(always)]
    fn place(
        &self,
        slot: &mut SlotMut<'_>,
        memory: &Memory,
        own: Option<&dyn OwnLayout>,
    ) -> Result<Placement, Error> {
        let own = if self.is_only_a_shape() { own.and_then(OwnLayout::strided) } else { None };
        let fast = if own.is_none() { self.write_fast(slot, memory) } else { None };
        match fast {
            Some(place) => Ok(place),
            // Copies, because a call that takes the address of a value forces all of it
            // into memory, also on the fast path (measured: 28 ns per export; 20 ns
            // without).
            None => self.copied().write_exactly(slot.reborrow(), &memory.copied(), own),
        }
    }

    /// A copy, for a call that takes its address.
    #[inline(always)]
    fn copied(&self) -> Self {
        *self
    }

    /// Whether nothing but the shape states where the elements are.
    #[inline(always)]
    fn is_only_a_shape(&self) -> bool {
        matches!(self.strides, GivenStrides::Contiguous(Order::RowMajor, None))
            && self.claims.offset.number == Some(0)
            && self.claims.len.is_none()
    }

    /// Whether the tensor must use all of its storage: it is contiguous, and nothing states that it
    /// uses a part.
    #[inline(always)]
    pub(super) fn fills_storage(&self) -> bool {
        matches!(self.strides, GivenStrides::Contiguous(..)) && !self.claims.partial
    }
}

/// The numbers of a list, and their address if the tensor stores them as `i64`s.
#[inline(always)]
fn numbers<'l>(list: &'l List<'_>) -> (Numbers<'l>, *const i64) {
    let computed = |dims: &'l Dims<'_>| Ints::i64(dims.as_slice());
    match list {
        List::Lent(list) => (Numbers { list: *list, is_whole: true }, list.stored()),
        List::Computed(dims) => {
            (Numbers { list: computed(dims), is_whole: true }, core::ptr::null())
        }
        List::Unfit(dims) => (Numbers { list: computed(dims), is_whole: false }, core::ptr::null()),
    }
}

/// Where the elements of a described tensor are, and the flags of an export.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) ndim: usize,
    /// Address of the first element, or NULL; on a device without addresses, the handle.
    pub(super) data: *mut u8,
    /// Counted from the start of the memory, or from the handle.
    pub(super) span: Span,
    pub(super) flags: Flags,
}
