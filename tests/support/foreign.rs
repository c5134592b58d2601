//! A consumer on the other side of the C ABI: [`ImportedStorage`].
//!
//! It is written as a C library would be: it has one pointer, and follows the
//! pointers behind it. It calls no function of the crate under test except the
//! deleter.

use std::thread;

use tensors::ffi::{
    DLDataType, DLManagedTensor, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY, DLTensor,
};
use tensors::{Abi, Element, ManagedTensor};

use crate::positions::positions;

/// One of the two C structs that own a tensor, as C code accesses it.
pub trait CStruct: Abi {
    /// Address of the tensor inside.
    ///
    /// # Safety
    ///
    /// 1. `this` points to a live struct.
    unsafe fn tensor_of(this: *mut Self) -> *mut DLTensor;

    /// The deleter.
    ///
    /// # Safety
    ///
    /// 1. `this` points to a live struct.
    unsafe fn deleter_of(this: *mut Self) -> Option<unsafe extern "C" fn(*mut Self)>;

    /// The flags; none in the legacy struct.
    ///
    /// # Safety
    ///
    /// 1. `this` points to a live struct.
    unsafe fn flags_of(this: *mut Self) -> u64;
}

macro_rules! c_struct {
    ($type:ty, $this:ident => $flags:expr) => {
        impl CStruct for $type {
            unsafe fn tensor_of(this: *mut Self) -> *mut DLTensor {
                // SAFETY: by 1 the field is inside a live struct.
                unsafe { &raw mut (*this).dl_tensor }
            }

            unsafe fn deleter_of(this: *mut Self) -> Option<unsafe extern "C" fn(*mut Self)> {
                // SAFETY: by 1 the struct is alive.
                unsafe { (*this).deleter }
            }

            unsafe fn flags_of($this: *mut Self) -> u64 {
                $flags
            }
        }
    };
}

c_struct!(DLManagedTensorVersioned, this => {
    // SAFETY: by 1 the struct is alive.
    unsafe { (*this).flags }
});
c_struct!(DLManagedTensor, _this => 0);

/// How a consumer calls the deleter.
#[derive(Clone, Copy, Debug)]
pub enum Farewell {
    /// With its own pointer.
    Plain,
    /// With a pointer that may touch the struct and nothing behind it, as a
    /// consumer written in Rust would that holds `&mut` to it.
    Narrow,
    /// With a pointer to a copy of the struct.
    Copy,
    /// With a copy, the original being overwritten with zeros.
    CopyOfWiped,
    /// After changing shape and strides in place.
    Scribbled,
}

impl Farewell {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Plain, Self::Narrow, Self::Copy, Self::CopyOfWiped, Self::Scribbled];
}

/// A tensor of a foreign library. Without [`delete`](Self::delete) it leaks, as in C.
#[derive(Debug)]
pub struct ImportedStorage<M: CStruct = DLManagedTensorVersioned> {
    managed: *mut M,
}

// SAFETY: the standard lets a tensor change threads.
unsafe impl<M: CStruct> Send for ImportedStorage<M> {}

impl<M: CStruct> From<ManagedTensor<M>> for ImportedStorage<M> {
    fn from(tensor: ManagedTensor<M>) -> Self {
        Self { managed: tensor.into_raw() }
    }
}

/// The entry of an array.
///
/// # Safety
///
/// 1. The array has such an entry.
unsafe fn entry(array: *mut i64, index: usize) -> *mut i64 {
    assert!(!array.is_null(), "shape and strides are never NULL with a dimension");
    // SAFETY: by 1 that is inside the array.
    unsafe { array.add(index) }
}

impl<M: CStruct> ImportedStorage<M> {
    /// Takes a tensor that was returned by a C function.
    ///
    /// # Safety
    ///
    /// 1. The caller owns the struct, which is alive.
    pub unsafe fn from_raw(managed: *mut M) -> Self {
        Self { managed }
    }

    /// The pointer.
    pub fn as_ptr(&self) -> *mut M {
        self.managed
    }

    /// The tensor, as it is now.
    pub fn tensor(&self) -> DLTensor {
        // SAFETY: the struct lives until `delete`.
        let tensor = unsafe { M::tensor_of(self.managed) };
        // SAFETY: as above.
        unsafe { tensor.read() }
    }

    /// The deleter.
    pub fn deleter(&self) -> Option<unsafe extern "C" fn(*mut M)> {
        // SAFETY: the struct lives until `delete`.
        unsafe { M::deleter_of(self.managed) }
    }

    /// The flags.
    pub fn flags(&self) -> u64 {
        // SAFETY: the struct lives until `delete`.
        unsafe { M::flags_of(self.managed) }
    }

    /// Returns whether the consumer may write. A legacy struct cannot forbid it.
    pub fn is_writable(&self) -> bool {
        self.flags() & DLPACK_FLAG_BITMASK_READ_ONLY == 0
    }

    /// Whether the memory is the consumer's own copy.
    pub fn is_copied(&self) -> bool {
        self.flags() & DLPACK_FLAG_BITMASK_IS_COPIED != 0
    }

    /// Address of the first element.
    pub fn data(&self) -> *mut u8 {
        let tensor = self.tensor();
        tensor.data.cast::<u8>().wrapping_add(usize::try_from(tensor.byte_offset).expect("a size"))
    }

    fn ndim(&self) -> usize {
        usize::try_from(self.tensor().ndim).expect("ndim is not negative")
    }

    fn read_dims(&self, array: *mut i64) -> Vec<i64> {
        (0..self.ndim())
            .map(|axis| {
                // SAFETY: both arrays have `ndim` entries.
                let dim = unsafe { entry(array, axis) };
                // SAFETY: they are initialized and live until `delete`.
                unsafe { dim.read() }
            })
            .collect()
    }

    /// Extents.
    pub fn shape(&self) -> Vec<i64> {
        self.read_dims(self.tensor().shape)
    }

    /// Strides.
    pub fn strides(&self) -> Vec<i64> {
        self.read_dims(self.tensor().strides)
    }

    /// The addresses of all elements, in row-major order of their indices.
    fn addresses<T: Element>(&self) -> Vec<*mut T> {
        assert_eq!(self.tensor().dtype, DLDataType::from(T::DTYPE), "the type of the elements");
        let positions = positions(&self.shape(), &self.strides());
        if positions.is_empty() {
            assert!(self.tensor().data.is_null(), "an empty tensor has no data");
            return Vec::new();
        }
        assert!(!self.tensor().data.is_null(), "elements without data");
        let first = self.data().cast::<T>();
        assert!(first.is_aligned(), "a misaligned first element");
        let offset = |position| first.wrapping_offset(isize::try_from(position).expect("inside"));
        positions.into_iter().map(offset).collect()
    }

    /// All elements, in row-major order of their indices.
    pub fn elements<T: Element>(&self) -> Vec<T> {
        // SAFETY: every producer guarantees this to its consumers.
        self.addresses::<T>().into_iter().map(|place| unsafe { place.read() }).collect()
    }

    /// Replaces each element by the result of `f`.
    pub fn write<T: Element>(&self, mut f: impl FnMut(T) -> T) {
        assert!(self.is_writable(), "the tensor is READ_ONLY");
        for place in self.addresses::<T>() {
            // SAFETY: every producer guarantees this to its consumers.
            let old = unsafe { place.read() };
            // SAFETY: as above; the tensor is not READ_ONLY.
            unsafe { place.write(f(old)) };
        }
    }

    /// Calls the deleter.
    pub fn delete(self, how: Farewell) {
        let deleter = self.deleter().expect("a deleter");
        // SAFETY: the struct is alive, and plain data.
        let mut copy = unsafe { self.managed.read() };
        match how {
            Farewell::Plain => {
                // SAFETY: the only call for this tensor, which is not used again.
                unsafe { deleter(self.managed) }
            }
            Farewell::Narrow => {
                // SAFETY: the struct is alive, and this consumer its only user.
                let narrow: &mut M = unsafe { &mut *self.managed };
                // SAFETY: the only call for this tensor, which is not used again.
                unsafe { deleter(narrow) }
            }
            Farewell::Copy => {
                // SAFETY: as above.
                unsafe { deleter(&raw mut copy) }
            }
            Farewell::CopyOfWiped => {
                // SAFETY: the consumer owns the struct, and zeros are valid in it.
                unsafe { self.managed.write_bytes(0, 1) };
                // SAFETY: as above.
                unsafe { deleter(&raw mut copy) }
            }
            Farewell::Scribbled => {
                let DLTensor { shape, strides, .. } = self.tensor();
                for (array, axis) in
                    [shape, strides].into_iter().flat_map(|a| (0..self.ndim()).map(move |x| (a, x)))
                {
                    // SAFETY: both arrays have `ndim` entries.
                    let dim = unsafe { entry(array, axis) };
                    // SAFETY: the consumer owns the tensor, arrays included.
                    unsafe { dim.write(i64::MAX) };
                }
                // SAFETY: as above.
                unsafe { deleter(self.managed) }
            }
        }
    }

    /// Calls the deleter on a thread of its own, and waits for it.
    pub fn delete_elsewhere(self, how: Farewell) {
        thread::spawn(move || self.delete(how)).join().expect("a deleter does not unwind");
    }
}
