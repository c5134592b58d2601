//! Memory that Rust and consumers write concurrently: [`SharedBuffer`].

use alloc::alloc::handle_alloc_error;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use crate::byte_atomic;
use crate::device::Device;
use crate::element::{AnyBits, BitsAreValid, ByValue, RecordType, SizeMatches, bytes_of};
use crate::error::Error;
use crate::storage::{
    AlignedBuf, BlockBuffer, DataRef, SharedOwner, Storage, TryArc, block_len, try_vec,
    with_repeated,
};

/// A buffer with several owners, all of which may read **and write** it: Rust, NumPy, PyTorch.
/// The program orders the accesses of Rust and of a consumer to one element, as described below.
///
/// No Rust reference to an element ever exists, so a consumer's writes cannot invalidate
/// one. Elements are copied in and out; there are no slices. Cloning makes another owner of
/// the same memory.
///
/// All accesses of Rust code are *byte-wise atomic* and relaxed. They never race with each
/// other, whatever the types by which two owners access the memory: one can store `u8`s
/// while another one reads the same bytes as `f32`, through a tensor. In exchange, a value
/// that is read while another thread stores it can be *torn*: some of its bytes are those
/// of the old value, others those of the new one. Unsafe code that accesses the memory
/// through a pointer does not race if it uses relaxed `AtomicU8`s, or if its accesses are
/// ordered with those of the other owners.
///
/// Large elements are blocks on the heap and are not passed by value, as with
/// [`Elements`](crate::Elements).
///
/// New memory ([`zeroed`](Self::zeroed), [`from_slice`](Self::from_slice)) is aligned to 64
/// bytes, so that JAX imports it without a copy. `SharedBuffer::from` takes over the memory
/// of a `Vec<T>` or a `Box<[T]>`, zero-copy; that memory is aligned for `T` only.
///
/// Consumers use ordinary loads and stores. If a Rust thread and a consumer's thread access
/// one element at the same time, and one of them writes, that is a data race, as it is
/// between two threads of that consumer. Order such accesses, as you would order those two
/// threads: the compiler cannot check this.
///
/// ```
/// use dlpack_traits::SharedBuffer;
///
/// let pixels = SharedBuffer::from_slice(&[10_u8, 20, 30])?;
/// let same = pixels.clone();
/// same.store(0, 11);
/// assert_eq!(pixels.load(0), 11);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub struct SharedBuffer<T> {
    block: TryArc<AlignedBuf>,
    elements: PhantomData<fn() -> T>,
}

impl<T: AnyBits> SharedBuffer<T> {
    /// Creates a buffer of `len` elements, all of them zero.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn zeroed(len: usize) -> Result<Self, Error> {
        let () = SizeMatches::<T>::OK;
        let () = BitsAreValid::<T>::OK;
        let byte_len = len.saturating_mul(size_of::<T>());
        Self::of(AlignedBuf::zeroed(byte_len)?)
    }

    /// Creates a buffer with a copy of these elements.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn from_slice(elements: &[T]) -> Result<Self, Error> {
        let () = BitsAreValid::<T>::OK;
        let bytes = bytes_of(elements);
        Self::filled(bytes.len(), |block| block.copy_from_slice(bytes))
    }

    /// Creates a buffer of a number of bytes, which are zero, and lends them to `fill`.
    pub(crate) fn filled(byte_len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Self, Error> {
        let () = BitsAreValid::<T>::OK;
        Self::of(AlignedBuf::filled(byte_len, |block| {
            fill(block);
            Ok(())
        })?)
    }

    /// Makes a buffer of memory whose bytes are initialized and aligned for a `T`.
    fn of(block: AlignedBuf) -> Result<Self, Error> {
        Ok(Self { block: TryArc::new(block)?, elements: PhantomData })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        // The size of a DLPack type is at least one byte.
        self.block.byte_len().checked_div(size_of::<T>()).unwrap_or(0)
    }

    /// Whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads one element.
    ///
    /// # Panics
    ///
    /// If `index` is out of bounds.
    #[inline]
    pub fn load(&self, index: usize) -> T {
        let () = ByValue::<T>::FITS;
        let element = self.element(index);
        // SAFETY: 1. The element is inside of the block, which lives while `self` is
        // borrowed, is initialized, and may be written. 2. Rust accesses it through
        // `byte_atomic` only.
        let value = unsafe { byte_atomic::load::<T>(element) };
        // SAFETY: all its bytes were read from initialized memory, and any bytes are a
        // valid `T`: each constructor asserts it.
        unsafe { value.assume_init() }
    }

    /// Writes one element.
    ///
    /// # Panics
    ///
    /// If `index` is out of bounds.
    #[inline]
    pub fn store(&self, index: usize, value: T) {
        let () = ByValue::<T>::FITS;
        let element = self.element(index);
        // SAFETY: 1. An `Element` has no uninitialized bytes. 2. The element is inside of
        // the block, which lives while `self` is borrowed, is initialized, and may be
        // written. 3. Rust accesses it through `byte_atomic` only.
        unsafe { byte_atomic::store(element, value) };
    }

    /// Copies all elements. The copy is not a snapshot: elements can be written while it is made.
    ///
    /// It aborts the process if there is no memory, as `slice::to_vec` does;
    /// [`try_to_vec`](Self::try_to_vec) does not.
    pub fn to_vec(&self) -> Vec<T> {
        match self.try_to_vec() {
            Ok(copy) => copy,
            Err(_) => handle_alloc_error(
                Layout::array::<T>(self.len()).unwrap_or(const { Layout::new::<T>() }),
            ),
        }
    }

    /// Copies all elements, as [`to_vec`](Self::to_vec).
    ///
    /// ```
    /// use dlpack_traits::SharedBuffer;
    ///
    /// let buffer = SharedBuffer::from_slice(&[1.0_f32, 2.0])?;
    /// assert_eq!(buffer.try_to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_to_vec(&self) -> Result<Vec<T>, Error> {
        let len = self.len();
        let mut copy = try_vec::<T>(len)?;
        if let Some(room) = copy.spare_capacity_mut().get_mut(..len) {
            self.read(0, room);
            // SAFETY: the capacity is at least `len`, and `read` wrote that many elements.
            unsafe { copy.set_len(len) };
        }
        Ok(copy)
    }

    /// Copies all elements to a slice. The copy is not a snapshot: elements can be written while it
    /// is made.
    ///
    /// # Panics
    ///
    /// If the slice does not have [`len`](Self::len) elements.
    pub fn copy_to_slice(&self, to: &mut [T]) {
        self.check_len(to.len());
        // SAFETY: it is the same memory, borrowed uniquely. `read` writes valid elements only.
        let to = unsafe { slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) };
        self.read(0, to);
    }

    /// Writes all elements. Another owner can read some old and some new elements while they are
    /// written.
    ///
    /// ```
    /// use dlpack_traits::SharedBuffer;
    ///
    /// let buffer = SharedBuffer::zeroed(3)?;
    /// buffer.copy_from_slice(&[1_i32, 2, 3]);
    /// assert_eq!(buffer.to_vec(), [1, 2, 3]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the slice does not have [`len`](Self::len) elements.
    pub fn copy_from_slice(&self, from: &[T]) {
        self.check_len(from.len());
        self.write(0, from);
    }

    /// Writes one value to all elements.
    pub fn fill(&self, value: T) {
        let () = ByValue::<T>::FITS;
        with_repeated(value, |block| {
            for first in (0..self.len()).step_by(block.len()) {
                let len = block.len().min(self.len().wrapping_sub(first));
                self.write(first, block.get(..len).unwrap_or_default());
            }
        });
    }

    /// Calls a function with blocks of elements, in their order.
    ///
    /// The blocks are copies in private memory. They are not empty; their lengths can differ. The
    /// function may access the buffer. A panic of the function has no effect on the buffer.
    ///
    /// ```
    /// use dlpack_traits::SharedBuffer;
    ///
    /// let samples = SharedBuffer::from_slice(&[0.5_f32, 2.0, 1.0])?;
    /// let mut highest = f32::NEG_INFINITY;
    /// samples.for_each_block(|block| {
    ///     highest = block.iter().copied().fold(highest, f32::max);
    /// });
    /// assert_eq!(highest, 2.0);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline]
    pub fn for_each_block(&self, mut f: impl FnMut(&[T])) {
        self.blocks(|_, block| f(block));
    }

    /// Calls a function with blocks of elements, in their order, and writes each block back.
    ///
    /// The blocks are copies in private memory, as those of
    /// [`for_each_block`](Self::for_each_block). If another owner writes an element of a
    /// block during the call, that value is lost. If the function panics, the blocks of the
    /// calls before have been written, and its own block has not.
    ///
    /// ```
    /// use dlpack_traits::SharedBuffer;
    ///
    /// let samples = SharedBuffer::from_slice(&[1.0_f32, 2.0])?;
    /// samples.update_blocks(|block| {
    ///     for sample in block {
    ///         *sample *= 2.0;
    ///     }
    /// });
    /// assert_eq!(samples.to_vec(), [2.0, 4.0]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline]
    pub fn update_blocks(&self, mut f: impl FnMut(&mut [T])) {
        self.blocks(|first, block| {
            f(block);
            self.write(first, block);
        });
    }

    /// Replaces each element by a function of it, by blocks:
    /// [`update_blocks`](Self::update_blocks).
    #[inline]
    pub fn map_in_place(&self, mut f: impl FnMut(T) -> T) {
        let () = ByValue::<T>::FITS;
        self.update_blocks(|block| {
            for element in block {
                *element = f(*element);
            }
        });
    }

    /// Calls a function with the index of the first element of each block, and with a copy
    /// of the block.
    #[inline]
    fn blocks(&self, mut f: impl FnMut(usize, &mut [T])) {
        let (mut buffer, mut heap) = (BlockBuffer::new(), Vec::<T>::new());
        let mut buffer = buffer.as_mut_slice();
        let len = self.len();
        if buffer.is_empty() {
            // One element, as large as its type.
            heap.reserve_exact(1);
            buffer = heap.spare_capacity_mut();
        }
        let most = block_len::<T>(len).min(buffer.len());
        for first in (0..len).step_by(most) {
            let len = most.min(len.wrapping_sub(first));
            if let Some(block) = buffer.get_mut(..len) {
                f(first, self.read(first, block));
            }
        }
    }

    /// Reads the elements that begin at an index.
    ///
    /// # Panics
    ///
    /// If an index is out of bounds.
    #[inline]
    fn read<'b>(&self, first: usize, to: &'b mut [MaybeUninit<T>]) -> &'b mut [T] {
        let from = self.range(first, to.len());
        // SAFETY: 1. The elements are inside of the block, which lives while `self` is
        // borrowed, is initialized, and may be written. 2. Rust accesses it through
        // `byte_atomic` only. 3. `to` is borrowed uniquely.
        unsafe {
            byte_atomic::copy_from_shared(from, to.as_mut_ptr().cast(), size_of_val(to));
        }
        // SAFETY: all bytes were just written, with initialized ones, and any bytes are a
        // valid `T`: each constructor asserts it.
        unsafe { slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }
    }

    /// Writes the elements that begin at an index.
    ///
    /// # Panics
    ///
    /// If an index is out of bounds.
    #[inline]
    fn write(&self, first: usize, from: &[T]) {
        let to = self.range(first, from.len());
        let from = bytes_of(from);
        // SAFETY: 1. The bytes are borrowed, and private. 2. The elements are inside of the
        // block, which lives while `self` is borrowed, is initialized, and may be written.
        // 3. Rust accesses it through `byte_atomic` only.
        unsafe { byte_atomic::copy_to_shared(from.as_ptr(), to, from.len()) };
    }

    /// The address of some elements.
    #[inline]
    fn range(&self, first: usize, len: usize) -> *mut u8 {
        let end = first.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.len()), "elements out of bounds");
        self.block.as_ptr().wrapping_add(first.wrapping_mul(size_of::<T>()))
    }

    /// Checks the number of elements of a slice.
    fn check_len(&self, found: usize) {
        let len = self.len();
        assert!(found == len, "expected a slice of {len} elements, got {found}");
    }

    /// The address of one element.
    #[inline]
    fn element(&self, index: usize) -> *mut u8 {
        assert!(index < self.len(), "index {index} out of bounds of {} elements", self.len());
        self.block.as_ptr().wrapping_add(index.wrapping_mul(size_of::<T>()))
    }
}

impl<T: AnyBits> Storage for SharedBuffer<T> {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        // SAFETY:
        // 1. The block owns `byte_len` bytes of host memory and lives as long as `self`.
        // 2. It is initialized and aligned for a `T`, and any bits are a valid `T`: each
        //    constructor asserts it.
        // 3. No reference to it is ever made: Rust accesses it through `byte_atomic` only.
        unsafe {
            DataRef::from_raw_parts_shared(
                self.block.as_ptr(),
                self.block.byte_len(),
                T::DTYPE,
                Device::CPU,
            )
        }
        .with_axes(T::AXES)
    }

    #[inline(always)]
    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.clone())
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        T::RECORD
    }
}

/// Takes over the memory of a vector, zero-copy.
///
/// ```
/// use dlpack_traits::SharedBuffer;
///
/// let samples = vec![1.0_f32, 2.0];
/// let address = samples.as_ptr();
/// let shared = SharedBuffer::from(samples);
/// shared.store(0, 0.5);
/// assert_eq!(shared.to_vec(), [0.5, 2.0]);
/// # use dlpack_traits::Storage;
/// assert_eq!(shared.data().as_ptr(), address.cast());
/// ```
///
/// It aborts the process if there is no memory for the reference count, as `Arc::new` does.
impl<T: AnyBits> From<Vec<T>> for SharedBuffer<T> {
    fn from(elements: Vec<T>) -> Self {
        let () = BitsAreValid::<T>::OK;
        match Self::of(AlignedBuf::from_vec(elements)) {
            Ok(buffer) => buffer,
            Err(_) => handle_alloc_error(Layout::new::<AlignedBuf>()),
        }
    }
}

/// Takes over the memory of a boxed slice, zero-copy, as from a `Vec<T>`.
impl<T: AnyBits> From<Box<[T]>> for SharedBuffer<T> {
    fn from(elements: Box<[T]>) -> Self {
        Self::from(elements.into_vec())
    }
}

impl<T> Clone for SharedBuffer<T> {
    /// Returns another owner of the same memory.
    #[inline]
    fn clone(&self) -> Self {
        Self { block: self.block.clone(), elements: PhantomData }
    }
}

impl<T> fmt::Debug for SharedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBuffer").field("block", &self.block).finish()
    }
}
