//! Structs that say anything, with arrays as long as they say: [`Wild`], [`Built`].
//!
//! Everything lies in memory of exactly its size, so that AddressSanitizer sees
//! who reads beyond it, and the deleter frees all of it, so that it sees who
//! reads afterwards.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use arbitrary::Arbitrary;
use dlpack_traits::ffi::{
    DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion,
    DLTensor,
};
use dlpack_traits::{Abi, DataType, Device};

use crate::number::{Bytes, Number, Type};

/// What a struct says.
#[derive(Arbitrary, Clone, Debug)]
pub struct Wild {
    pub deleter: bool,
    pub version: Version,
    pub flags: Flags,
    pub rank: Rank,
    pub shape: Option<Vec<Number>>,
    pub strides: Option<Vec<Number>>,
    pub dtype: Type,
    pub place: Place,
    pub data: Option<Vec<u8>>,
    pub misaligned_by: u8,
    pub byte_offset: Bytes,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Version {
    OfOurs(u8),
    Later(u32),
    Any(u32, u32),
}

impl From<Version> for dlpack_traits::Version {
    fn from(version: Version) -> Self {
        match version {
            Version::OfOurs(minor) => Self::new(1, u32::from(minor) % 4),
            Version::Later(minor) => Self::new(1, minor),
            Version::Any(major, minor) => Self::new(major, minor),
        }
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Flags {
    Named(u8),
    Any(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Rank {
    /// As many as there are dimensions.
    Honest,
    /// As many, in arrays that are filled up with ones.
    Filled(u8),
    Any(i32),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Place {
    Host(u8),
    Any(i32, i32),
}

/// The most dimensions that a tensor can have.
const MOST: usize = dlpack_traits::MAX_NDIM;

impl Wild {
    pub fn ndim(&self) -> i32 {
        match self.rank {
            Rank::Honest => {
                let longest = self.shape.iter().chain(&self.strides).map(Vec::len).max();
                i32::try_from(longest.unwrap_or(0)).unwrap_or(i32::MAX)
            }
            Rank::Filled(ndim) => i32::from(ndim) % 70,
            Rank::Any(ndim) => ndim,
        }
    }

    /// The entries of an array: `ndim` of them if that is a valid rank. An import must not
    /// read beyond, so no more are allocated.
    fn entries(&self, array: &[Number]) -> Vec<i64> {
        let len = usize::try_from(self.ndim()).ok().filter(|&len| len <= MOST).unwrap_or(0);
        let numbers = array.iter().copied().map(i64::from).chain(std::iter::repeat(1));
        numbers.take(len).collect()
    }

    pub fn shape(&self) -> Option<Vec<i64>> {
        self.shape.as_ref().map(|array| self.entries(array))
    }

    pub fn strides(&self) -> Option<Vec<i64>> {
        self.strides.as_ref().map(|array| self.entries(array))
    }

    pub fn dtype(&self) -> DataType {
        self.dtype.into()
    }

    pub fn device(&self) -> Device {
        match self.place {
            Place::Host(0..200) => Device::CPU,
            Place::Host(_) => Device::CUDA_HOST,
            Place::Any(device_type, index) => Device::new(DLDeviceType(device_type), index),
        }
    }

    pub fn flags(&self) -> u64 {
        match self.flags {
            Flags::Named(bits) => u64::from(bits) & 7,
            Flags::Any(bits) => bits,
        }
    }

    pub fn byte_offset(&self) -> u64 {
        self.byte_offset.into()
    }

    /// Writes the struct.
    pub fn build<M: Kind>(&self) -> Built<M> {
        let shape = self.shape().map(|array| Block::of(&array));
        let strides = self.strides().map(|array| Block::of(&array));
        let host = self.device().is_host();
        let data = self.data.as_ref().filter(|_| host);
        let misaligned_by = usize::from(self.misaligned_by) % 8;
        let data = data.map(|bytes| Block::bytes(bytes, misaligned_by));
        let address = |block: &Option<Block>| block.as_ref().map_or(ptr::null_mut(), Block::start);
        let start = match (&self.data, host) {
            (None, _) => ptr::null_mut(),
            // An import must not read this array, so it is empty.
            (Some(_), false) => ptr::without_provenance_mut(0x5555_0000_0000_0000),
            (Some(_), true) => address(&data).wrapping_add(misaligned_by),
        };
        let tensor = DLTensor {
            data: start.cast(),
            device: DLDevice::from(self.device()),
            ndim: self.ndim(),
            dtype: DLDataType::from(self.dtype()),
            shape: address(&shape).cast(),
            strides: address(&strides).cast(),
            byte_offset: self.byte_offset(),
        };
        let parts = Box::into_raw(Box::new(Parts { _blocks: [shape, strides, data], whole: None }));
        let managed = M::write(self, tensor, parts.cast(), self.deleter.then_some(delete::<M>));
        let whole = Block::of_struct(&managed, M::readable(self));
        let raw = whole.start().cast::<M>();
        // SAFETY: it was just boxed.
        unsafe { (*parts).whole = Some(whole) };
        DELETES.set(0);
        Built { raw, parts, data: start, owned: !self.deleter }
    }
}

/// A C struct that owns a tensor.
pub trait Kind: Abi {
    const VERSIONED: bool;

    fn write(
        wild: &Wild,
        tensor: DLTensor,
        parts: *mut c_void,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Self;

    /// The same struct with a deleter of NULL.
    fn without_deleter(self) -> Self;

    /// The context, which every version has.
    ///
    /// # Safety
    ///
    /// 1. `managed` points to such a struct.
    unsafe fn context(managed: *mut Self) -> *mut c_void;

    /// How many bytes of it there are.
    fn readable(wild: &Wild) -> usize;
}

impl Kind for DLManagedTensorVersioned {
    const VERSIONED: bool = true;

    fn write(
        wild: &Wild,
        dl_tensor: DLTensor,
        manager_ctx: *mut c_void,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Self {
        let version = dlpack_traits::Version::from(wild.version).to_ffi();
        Self { version, manager_ctx, deleter, flags: wild.flags(), dl_tensor }
    }

    fn without_deleter(self) -> Self {
        Self { deleter: None, ..self }
    }

    unsafe fn context(managed: *mut Self) -> *mut c_void {
        // SAFETY: by 1, and every version has it there.
        unsafe { (&raw const (*managed).manager_ctx).read() }
    }

    fn readable(wild: &Wild) -> usize {
        if dlpack_traits::Version::from(wild.version).is_readable() {
            size_of::<Self>()
        } else {
            // Of another major version nothing else is known.
            size_of::<DLPackVersion>() + 2 * size_of::<*mut c_void>()
        }
    }
}

impl Kind for DLManagedTensor {
    const VERSIONED: bool = false;

    fn write(
        _: &Wild,
        dl_tensor: DLTensor,
        manager_ctx: *mut c_void,
        deleter: Option<unsafe extern "C" fn(*mut Self)>,
    ) -> Self {
        Self { dl_tensor, manager_ctx, deleter }
    }

    fn without_deleter(self) -> Self {
        Self { deleter: None, ..self }
    }

    unsafe fn context(managed: *mut Self) -> *mut c_void {
        // SAFETY: by 1.
        unsafe { (*managed).manager_ctx }
    }

    fn readable(_: &Wild) -> usize {
        size_of::<Self>()
    }
}

/// Memory of exactly one size.
struct Block {
    start: *mut u8,
    layout: Layout,
}

impl Block {
    fn new(bytes: &[u8], before: usize, align: usize) -> Self {
        // A block of zero bytes has an address that must not be read.
        let layout = Layout::from_size_align(before + bytes.len(), align).expect("small");
        let fits = Layout::from_size_align(layout.size().max(1), align).expect("small");
        // SAFETY: it has a size.
        let start = unsafe { alloc(fits) };
        assert!(!start.is_null());
        if layout.size() == 0 {
            // One past the end of one byte.
            return Self { start: start.wrapping_add(1), layout };
        }
        // SAFETY: so many bytes are there.
        unsafe { start.write_bytes(0, before) };
        // SAFETY: as above.
        unsafe { start.add(before).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Self { start, layout }
    }

    fn of(numbers: &[i64]) -> Self {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Self::new(&bytes, 0, align_of::<i64>())
    }

    fn bytes(bytes: &[u8], misaligned_by: usize) -> Self {
        Self::new(bytes, misaligned_by, 8)
    }

    fn of_struct<M>(managed: &M, len: usize) -> Self {
        // SAFETY: these structs have no padding but behind their last field.
        let bytes = unsafe { std::slice::from_raw_parts(ptr::from_ref(managed).cast(), len) };
        Self::new(bytes, 0, align_of::<M>())
    }

    fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let (start, layout) = if self.layout.size() == 0 {
            let one = Layout::from_size_align(1, self.layout.align()).expect("small");
            (self.start.wrapping_sub(1), one)
        } else {
            (self.start, self.layout)
        };
        // SAFETY: `new` allocated it so.
        unsafe { dealloc(start, layout) }
    }
}

struct Parts {
    /// Dimensions, strides, elements.
    _blocks: [Option<Block>; 3],
    whole: Option<Block>,
}

thread_local! {
    static DELETES: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn delete<M: Kind>(managed: *mut M) {
    DELETES.set(DELETES.get() + 1);
    // SAFETY: the importer gives us our struct. A second call finds freed memory,
    // which AddressSanitizer reports.
    let parts = unsafe { M::context(managed) }.cast::<Parts>();
    // SAFETY: `build` boxed it.
    drop(unsafe { Box::from_raw(parts) });
}

/// A struct that its producer passes on to an import.
pub struct Built<M: Kind> {
    raw: *mut M,
    parts: *mut Parts,
    data: *mut u8,
    /// Without a deleter we stay the owner.
    owned: bool,
}

impl<M: Kind> Built<M> {
    pub fn raw(&self) -> *mut M {
        self.raw
    }

    pub fn data(&self) -> *mut u8 {
        self.data
    }

    /// How often the deleter was called since the struct was built.
    pub fn deletes(&self) -> usize {
        DELETES.get()
    }

    /// The end, at which the deleter has run once if there is one.
    pub fn check(self) {
        assert_eq!(DELETES.get(), usize::from(!self.owned), "calls of the deleter");
    }

    /// The end of a struct that stayed with the caller.
    pub fn delete(self) {
        assert_eq!(DELETES.get(), 0, "calls of the deleter");
        if !self.owned {
            // SAFETY: it was never called.
            unsafe { delete::<M>(self.raw) };
        }
    }
}

impl<M: Kind> Drop for Built<M> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: `build` boxed it, and there is no deleter that would free it.
            drop(unsafe { Box::from_raw(self.parts) });
        }
    }
}
