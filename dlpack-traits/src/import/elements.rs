//! Elements that others may write: [`Elements`].

use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::Imported;
use super::typed::{Positions, Runs, Typed};
use crate::element::Element;
use crate::error::Error;
use crate::storage::{Access, Cells, Terms};

/// An element type whose values can be told from other bits: every plain one
/// (`bytemuck::Pod`), and `bool`. It is implemented for all of them.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be read",
    label = "not a type whose values can be told from other bits",
    note = "a `Foreign` without a type does not say what its elements are: `foreign.typed::<f32>()?` does, or `foreign.tensor().elements::<f32>()?`",
    note = "a type of your own needs `#[derive(Element)]`, which describes its memory, and a trait of `bytemuck` that says which bits are values: `Pod` and `Zeroable` where all are, with `#[dlpack(any_bits)]`, or a `CheckedBitPattern` whose `Bits` are `NoUninit`",
    note = "`bytemuck` derives the former two with its feature `derive`; `#[derive(Element)]` does not, because its implementation and yours would conflict"
)]
pub trait Readable: Element + CheckedBitPattern<Bits: NoUninit> {}

#[diagnostic::do_not_recommend]
impl<T: Element + CheckedBitPattern<Bits: NoUninit>> Readable for T {}

/// The elements of an imported tensor, read one by one and by value, while
/// others may write them: [`Imported::elements`].
///
/// Each is read as relaxed atomics: of the largest power of two, up to 8, that
/// divides the size of an element of the tensor's type, byte by byte where it is
/// not aligned. (An element of one's own [`SharedBuffer`](crate::SharedBuffer):
/// of the size with which the buffer writes it.) Of a READ_ONLY tensor it is an
/// ordinary load, since atomics need memory that can be written. What Rust reads
/// is some value, never a reference that a foreign store could break. An element
/// that is being written by ordinary stores at the same moment is a race all the
/// same, as it is between two threads of the writer: order the two.
///
/// A `bool` is checked: foreign memory may hold other bytes than 0 and 1.
///
/// An element type that is an array, such as a pixel of `[u8; 3]`, is what lies in
/// the last dimensions of the tensor; or one element of as many lanes. A tensor
/// with lanes is read as [`Lanes`](crate::Lanes).
pub struct Elements<'a, T> {
    typed: Typed<'a>,
    how: How,
    read_as: PhantomData<fn() -> T>,
}

/// How an element is read.
#[derive(Clone, Copy)]
enum How {
    /// As memory that may not even be written, as atomics may be.
    Plain,
    /// As atomics of the largest power of two, up to 8, that divides its size.
    Atomic,
    /// As atomics of another size.
    Units(u8),
}

impl Imported {
    /// The elements, to be read by value. Others may write them meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], and
    /// [`Error::AxesMismatch`] for elements that are arrays.
    #[inline]
    pub fn elements<T: Readable>(&self) -> Result<Elements<'_, T>, Error> {
        let typed = self.typed::<T>()?;
        let Terms { access, unit } = self.terms();
        let below = usize::from(unit).wrapping_sub(1);
        // The first one is, and so is every other.
        let aligned = (typed.first.addr() | typed.step.unsigned_abs()) & below == 0;
        let how = match access {
            Access::Frozen | Access::Exclusive | Access::ForeignReadOnly => How::Plain,
            _ if unit == Cells::unit(size_of::<T>()) && aligned => How::Atomic,
            Access::Shared | Access::SharedReadOnly => How::Units(unit),
        };
        Ok(Elements { typed, how, read_as: PhantomData })
    }
}

impl<'a, T: Readable> Elements<'a, T> {
    /// Extents, without those of elements that are arrays.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        self.typed.shape
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.typed.len
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads one element.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchElement`] if the index has not one entry per dimension,
    /// or one that is outside; [`Error::InvalidBits`] for a `bool` that is
    /// neither.
    #[inline]
    pub fn load(&self, index: &[usize]) -> Result<T, Error> {
        let position = self.typed.position(index)?;
        // SAFETY: it is that of an index inside of the shape.
        unsafe { self.load_at(position) }
    }

    /// Reads the element that many bytes from the first one.
    ///
    /// # Safety
    ///
    /// 1. `position` is that of an index inside of the shape.
    #[inline]
    unsafe fn load_at(&self, position: isize) -> Result<T, Error> {
        // SAFETY: by 1 and by 4 of `Imported::from_raw` an element of the same
        // allocation is there.
        let place = unsafe { self.typed.first.offset(position) };
        let mut bits = <T::Bits as Zeroable>::zeroed();
        let to = bytemuck::bytes_of_mut(&mut bits);
        match self.how {
            How::Plain => {
                // SAFETY: by 4 of `Imported::from_raw` the element is
                // initialised and alive as long as the handle, which is
                // borrowed; by 5, or by the terms of our own loan, nobody
                // writes it now. `bits` has its size, as `CheckedBitPattern`
                // demands, and is ours.
                unsafe { place.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
            }
            How::Atomic => {
                // SAFETY: 1. As above, and READ_ONLY is not set. 2. It is
                // aligned as the first element is: it is a whole number of
                // elements away. 3. Every view of this tensor reads it like
                // this, others keep to 5 of `from_raw`, and our own loans say
                // how wide their atomics are. 4. `bits` has the element's size.
                unsafe { Cells::new(place) }.load(to);
            }
            How::Units(unit) => {
                // SAFETY: 1. As above. The atomics around a part of an element
                // are part of the element, and so of the memory. 2. is as 3. above.
                unsafe { Cells::read(place, unit, to) };
            }
        }
        bytemuck::checked::try_cast(bits).map_err(|_| Error::InvalidBits { dtype: T::DTYPE })
    }

    /// All elements in row-major order of their indices, each of them checked.
    /// Where any bits are a value, [`iter`](Self::iter) is simpler.
    #[inline]
    pub fn try_iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<T, Error>> + FusedIterator + use<'a, T> {
        TryIter { elements: *self, positions: Positions::of(self.typed) }
    }

    /// A copy of all elements in row-major order, each read at its own moment.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::InvalidBits`].
    #[inline]
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut copy = Vec::new();
        let bytes = self.len().saturating_mul(size_of::<T>());
        copy.try_reserve_exact(self.len()).map_err(|_| Error::OutOfMemory { bytes })?;
        let mut room = copy.spare_capacity_mut();
        for run in Runs::of(self.typed) {
            let mut position = run.start;
            let (places, rest) = room.split_at_mut_checked(run.len).unwrap_or_default();
            room = rest;
            for place in places {
                // SAFETY: it is that of an index inside of the shape.
                place.write(unsafe { self.load_at(position) }?);
                // Behind the last one this is not used.
                position = position.wrapping_add(run.step);
            }
        }
        // SAFETY: there is room for as many, and the runs, which have as many
        // elements together, filled it from the start.
        unsafe { copy.set_len(self.len()) };
        Ok(copy)
    }
}

impl<'a, T: Element + Pod> Elements<'a, T> {
    /// All elements in row-major order of their indices.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + FusedIterator + use<'a, T> {
        // Of plain data every pattern of bits is a value.
        self.try_iter().map(|element| element.unwrap_or_else(|_| T::zeroed()))
    }
}

/// Reads one element after the other.
struct TryIter<'a, T> {
    elements: Elements<'a, T>,
    positions: Positions<'a>,
}

impl<T: Readable> Iterator for TryIter<'_, T> {
    type Item = Result<T, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let position = self.positions.next()?;
        // SAFETY: it is that of an index inside of the shape.
        Some(unsafe { self.elements.load_at(position) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, Self::Item) -> A>(self, result: A, mut f: F) -> A {
        let elements = self.elements;
        self.positions.fold(result, |result, position| {
            // SAFETY: it is that of an index inside of the shape.
            f(result, unsafe { elements.load_at(position) })
        })
    }
}

impl<T: Readable> ExactSizeIterator for TryIter<'_, T> {}
impl<T: Readable> FusedIterator for TryIter<'_, T> {}

impl<T> Clone for Elements<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Elements").field(&self.typed).finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::described::Layout;
    use crate::export::DLPackExport;
    use crate::ffi::{DLManagedTensorVersioned, DLPackVersion, DLTensor, kDLCPU};
    use crate::flags::Flags;
    use crate::storage::{SharedBuffer, Storage};
    use crate::view::{Lend, TensorView};
    use crate::{Complex, Lanes};

    /// How the elements of a struct are read, that begin that far into aligned memory.
    fn came<T: Readable>(skew: usize, flags: Flags) -> How {
        let mut memory = [0_u64; 8];
        let (mut shape, mut strides) = ([2], [1]);
        let mut managed = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 3 },
            manager_ctx: core::ptr::null_mut(),
            deleter: None,
            flags: flags.bits(),
            dl_tensor: DLTensor {
                data: memory.as_mut_ptr().wrapping_byte_add(skew).cast(),
                device: crate::ffi::DLDevice { device_type: kDLCPU, device_id: 0 },
                ndim: 1,
                dtype: T::DTYPE.to_ffi(),
                shape: shape.as_mut_ptr(),
                strides: strides.as_mut_ptr(),
                byte_offset: 0,
            },
        };
        // SAFETY: 1. to 5. All of it outlives the handle, and nobody writes.
        let tensor = unsafe { Imported::from_raw(&raw mut managed) }.expect("in order");
        tensor.elements::<T>().expect("such elements").how
    }

    /// How the elements are read of what this crate lent, and on what terms.
    fn lent<T: Readable>(storage: impl Storage + Send + 'static) -> (How, Terms) {
        struct Tensor<S>(S);
        impl<S: Storage> DLPackExport for Tensor<S> {
            fn tensor(&self) -> Result<TensorView<'_>, Error> {
                TensorView::new(self.0.data(), Layout::row_major(&[2])?)
            }
            fn lend(&mut self) -> Result<Lend<'_>, Error> {
                Lend::new(self.0.lend(), Layout::row_major(&[2])?)
            }
        }
        let tensor = Tensor(storage).into_dlpack().expect("a tensor").import().expect("ours");
        (tensor.elements::<T>().expect("such elements").how, tensor.terms())
    }

    /// What others may write is read by atomics as wide as those by which Rust code
    /// anywhere writes it: as wide as elements are, up to eight bytes, where they are
    /// aligned for that.
    #[test]
    fn foreign_elements_are_read_by_the_atomics_of_their_size() {
        assert!(matches!(came::<u8>(3, Flags::NONE), How::Atomic));
        assert!(matches!(came::<i16>(2, Flags::NONE), How::Atomic));
        assert!(matches!(came::<f32>(4, Flags::NONE), How::Atomic));
        assert!(matches!(came::<f64>(8, Flags::NONE), How::Atomic));
        assert!(matches!(came::<Complex<f64>>(8, Flags::NONE), How::Atomic));
        assert!(matches!(came::<Complex<f32>>(8, Flags::NONE), How::Atomic));
        // Nobody has atomics here but of bytes.
        assert!(matches!(came::<i16>(1, Flags::NONE), How::Units(1)));
        assert!(matches!(came::<f32>(2, Flags::NONE), How::Units(1)));
        assert!(matches!(came::<f64>(4, Flags::NONE), How::Units(1)));
        assert!(matches!(came::<Complex<f32>>(4, Flags::NONE), How::Units(1)));
        // Memory that cannot be written has no atomics.
        assert!(matches!(came::<f64>(8, Flags::READ_ONLY), How::Plain));
        assert!(matches!(came::<f64>(4, Flags::READ_ONLY), How::Plain));
    }

    /// Four bytes, which are four elements of a tensor.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Rgba([u8; 4]);

    // SAFETY: any bytes are four numbers.
    unsafe impl Zeroable for Rgba {}
    // SAFETY: as above, and there is nothing between them.
    unsafe impl Pod for Rgba {}
    // SAFETY: 1. to 4. An array of bytes, which is nothing but these.
    unsafe impl Element for Rgba {
        const DTYPE: crate::DataType = crate::DataType::U8;
        const AXES: &'static [i64] = &[4];
        const ANY_BITS: bool = true;
    }

    /// Of our own loans it is known who writes, and how.
    #[test]
    fn own_elements_are_read_on_the_terms_of_their_loan() {
        fn shared<T: Element + Pod>(unit: u8) {
            let (how, terms) = lent::<T>(SharedBuffer::<T>::zeroed(2).expect("memory"));
            assert!(matches!(how, How::Atomic));
            assert_eq!(terms, Terms { access: Access::Shared, unit });
        }
        shared::<u8>(1);
        shared::<i16>(2);
        shared::<f32>(4);
        shared::<f64>(8);
        shared::<Complex<f64>>(8);
        shared::<Lanes<u8, 4>>(4);
        // They begin where one of their parts does, which may be inside of an atomic.
        let (how, terms) = lent::<Rgba>(SharedBuffer::<Rgba>::zeroed(2).expect("memory"));
        assert!(matches!(how, How::Units(4)));
        assert_eq!(terms, Terms { access: Access::Shared, unit: 4 });
        let (how, terms) = lent::<f64>(vec![0.0; 2]);
        assert!(matches!((how, terms.access), (How::Plain, Access::Exclusive)));
        let (how, terms) = lent::<f64>(alloc::sync::Arc::new([0.0; 2]));
        assert!(matches!((how, terms.access), (How::Plain, Access::Frozen)));
        // Of what nobody shares the unit is that of bytes.
        let data = [0.0_f64];
        let terms = crate::storage::DataRef::from_slice(&data).memory().terms();
        assert_eq!(terms, Terms { access: Access::Frozen, unit: 1 });
    }
}
