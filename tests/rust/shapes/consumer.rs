//! A consumer in C that compares a tensor with the expected one: [`Expected`].

use core::fmt::Debug;

use dlpack_tests::counted::Drops;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use dlpack_tests::positions::positions;
use tensors::{DLPackExport, DataType, Device, Element, Flags, TensorView};

/// The tensor that a consumer expects. The type of the elements defines their `dtype`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a, T> {
    /// Extents.
    pub(crate) shape: &'a [i64],
    /// Steps, in elements.
    pub(crate) strides: &'a [i64],
    /// All flags.
    pub(crate) flags: Flags,
    /// All elements, in row-major order of their indices.
    pub(crate) elements: &'a [T],
}

impl<T: Element + Debug + PartialEq> Expected<'_, T> {
    /// Compares it with the tensor.
    pub(crate) fn assert_found(&self, foreign: &ImportedStorage) {
        assert_eq!(foreign.shape(), self.shape, "shape");
        assert_eq!(foreign.strides(), self.strides, "strides");
        assert_eq!(foreign.flags(), self.flags.bits(), "flags");
        assert_eq!(Device::from(foreign.tensor().device), Device::CPU, "device");
        assert_eq!(foreign.elements::<T>(), self.elements, "elements");
    }

    /// Compares it with a borrowed tensor, which it reads through the C struct.
    pub(crate) fn assert_viewed(&self, view: &TensorView<'_>) {
        let tensor = view.dl_tensor();
        // SAFETY: the struct lives as long as `tensor`.
        let c = unsafe { tensor.as_raw().read() };
        let ndim = usize::try_from(c.ndim).expect("`ndim` is not negative");
        // SAFETY: both arrays have `ndim` entries, and live as long as `view`.
        let shape = unsafe { core::slice::from_raw_parts(c.shape, ndim) };
        // SAFETY: as above.
        let strides = unsafe { core::slice::from_raw_parts(c.strides, ndim) };
        assert_eq!((shape, strides), (self.shape, self.strides), "shape and strides");
        assert_eq!(DataType::from(c.dtype), T::DTYPE, "the type of the elements");
        assert_eq!(view.is_read_only(), self.flags.contains(Flags::READ_ONLY), "flags");
        assert_eq!(c.byte_offset, 0, "`data` is the first element");
        let first = c.data.cast::<T>();
        let elements = positions(shape, strides).into_iter().map(|position| {
            let place = first.wrapping_offset(isize::try_from(position).expect("inside"));
            // SAFETY: every producer guarantees this to its consumers.
            unsafe { place.read() }
        });
        assert_eq!(elements.collect::<Vec<T>>(), self.elements, "elements");
    }

    /// Exports by value, and compares. If the consumer may write, it does. Then
    /// it drops the tensor on another thread, and with it the owner, once.
    pub(crate) fn assert_moved<E>(&self, owner: E, drops: &Drops)
    where
        E: DLPackExport + Send + 'static,
    {
        let dropped = drops.count();
        let foreign = ImportedStorage::from(owner.into_dlpack().expect("it can be exported"));
        self.assert_found(&foreign);
        if foreign.is_writable() {
            let mut backwards = self.elements.iter().rev();
            foreign.write(|old: T| backwards.next().copied().unwrap_or(old));
            let backwards: Vec<T> = self.elements.iter().rev().copied().collect();
            assert_eq!(foreign.elements::<T>(), backwards, "what was written");
        }
        assert_eq!(drops.count(), dropped, "dropped too early");
        foreign.delete_elsewhere(Farewell::Narrow);
        assert_eq!(drops.count(), dropped + 1, "dropped once");
    }

    /// Exports with one more owner, twice, and compares.
    pub(crate) fn assert_shared<E: DLPackExport>(&self, owner: &E) {
        let [first, second] =
            [(); 2].map(|()| ImportedStorage::from(owner.to_dlpack().expect("it can be shared")));
        self.assert_found(&first);
        assert_eq!(first.data(), second.data(), "the same memory");
        first.delete_elsewhere(Farewell::Copy);
        self.assert_found(&second);
        second.delete(Farewell::Plain);
    }
}

/// Returns the bytes of a tensor, from its first element on. They are compared where Rust
/// has no type for the elements.
pub(crate) fn bytes<const N: usize>(foreign: &ImportedStorage) -> [u8; N] {
    let bits = u64::from(foreign.tensor().dtype.bits);
    let packed = foreign.flags() & Flags::IS_SUBBYTE_TYPE_PADDED.bits() == 0;
    let strides = foreign.strides();
    let last = positions(&foreign.shape(), &strides).into_iter().max().expect("an element");
    let elements = u64::try_from(last).expect("no element before the first") + 1;
    let bytes = if packed { (elements * bits).div_ceil(8) } else { elements };
    assert_eq!(u64::try_from(N), Ok(bytes), "the bytes of all elements");
    // SAFETY: the producer guarantees that all bytes of elements are initialized.
    unsafe { foreign.data().cast::<[u8; N]>().read() }
}
