//! Memory that Rust and consumers write concurrently: [`SharedBuffer`].

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::byte_atomic;
use crate::device::Device;
use crate::element::{AnyBits, BitsAreValid, SizeMatches, bytes_of};
use crate::error::Error;
use crate::storage::{AlignedBuf, DataRef, SharedOwner, Storage, TryArc};

/// A buffer of elements that several owners read **and write** at once: Rust,
/// NumPy, PyTorch.
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
/// The memory is zeroed initially and aligned to 64 bytes, so that JAX imports it without a
/// copy.
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
        Ok(Self { block: TryArc::new(AlignedBuf::zeroed(byte_len)?)?, elements: PhantomData })
    }

    /// Creates a buffer with a copy of these elements.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn from_slice(elements: &[T]) -> Result<Self, Error> {
        let () = BitsAreValid::<T>::OK;
        let bytes = bytes_of(elements);
        let mut block = AlignedBuf::zeroed(bytes.len())?;
        // SAFETY: 1. The block is new, so no copy of its address exists.
        unsafe { block.bytes_mut() }.copy_from_slice(bytes);
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
        let element = self.element(index);
        // SAFETY: 1. The element is inside of the block, which lives while `self` is
        // borrowed, is initialised, and may be written. 2. Rust accesses it through
        // `byte_atomic` only.
        let value = unsafe { byte_atomic::load::<T>(element) };
        // SAFETY: all its bytes were read from initialised memory, and any bytes are a
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
        let element = self.element(index);
        // SAFETY: 1. An `Element` has no uninitialised bytes. 2. The element is inside of
        // the block, which lives while `self` is borrowed, is initialised, and may be
        // written. 3. Rust accesses it through `byte_atomic` only.
        unsafe { byte_atomic::store(element, value) };
    }

    /// Copies all elements, each read at its own moment.
    pub fn to_vec(&self) -> Vec<T> {
        let len = self.len();
        let mut copy = Vec::<T>::with_capacity(len);
        let to = copy.as_mut_ptr().cast::<u8>();
        // SAFETY: 1. The block has `byte_len` bytes, lives while `self` is borrowed, is
        // initialised, and may be written. 2. Rust accesses it through `byte_atomic` only.
        // 3. The vector is new, and has room for `len` elements.
        unsafe {
            byte_atomic::copy_from_shared(self.block.as_ptr(), to, self.block.byte_len());
        }
        // SAFETY: there is room for `len` elements, all their bytes were written, and any
        // bytes are a valid `T`: each constructor asserts it.
        unsafe { copy.set_len(len) };
        copy
    }

    /// The address of one element.
    #[inline]
    fn element(&self, index: usize) -> *mut u8 {
        assert!(index < self.len(), "index {index} out of bounds of {} elements", self.len());
        // SAFETY: `index` is in bounds, so this stays inside the block.
        unsafe { self.block.as_ptr().add(index.wrapping_mul(size_of::<T>())) }
    }
}

impl<T: AnyBits> Storage for SharedBuffer<T> {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        // SAFETY:
        // 1. The block owns `byte_len` bytes of host memory and lives as long as `self`.
        // 2. It was zeroed, is aligned to 64 bytes, and any bits are a valid `T`: each
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
