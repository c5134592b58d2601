//! The short way through an export, of tensors of which there is nothing more to
//! say than a type and a shape: it ends where it must, and what it says is right.

use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, Foreign};
use tensors::{
    DLPackExport, DataRef, DataType, Device, Element, Error, Flags, SharedBuffer, SharedOwner,
    Storage,
};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Array<S> {
    data: S,
    shape: Vec<u16>,
}

fn numbers(len: u16) -> Arc<[u16]> {
    (0..len).collect()
}

/// Packets have room for 8 dimensions; there may be more.
#[test]
fn any_number_of_dimensions() {
    for ndim in 0..20_usize {
        let mut shape = vec![1; ndim];
        if let [first, .., last] = shape.as_mut_slice() {
            (*first, *last) = (2, 3);
        }
        let wide = if ndim < 2 { 1 } else { 3 };
        let strides: Vec<i64> =
            (0..ndim).map(|axis| if axis + 1 < ndim { wide } else { 1 }).collect();
        let dims: Vec<i64> = shape.iter().map(|&dim| dim.into()).collect();
        let numel: u16 = shape.iter().product();
        let owner = Array { data: numbers(6), shape };
        let view = owner.tensor().unwrap();
        assert_eq!((view.shape(), view.strides()), (&dims[..], &strides[..]));
        let shared: Foreign = owner.to_dlpack().unwrap().into();
        let moved: Foreign = owner.into_dlpack().unwrap().into();
        for tensor in [shared, moved] {
            assert_eq!((tensor.shape(), tensor.strides()), (dims.clone(), strides.clone()));
            assert_eq!(tensor.elements::<u16>(), (0..numel).collect::<Vec<_>>());
            tensor.delete(Farewell::Plain);
        }
    }
}

/// One dimension of 0 anywhere, and there is no address.
#[test]
fn no_elements() {
    for shape in [vec![0], vec![0, 2], vec![2, 0], vec![2, 0, 2], vec![0, 0]] {
        let dims: Vec<i64> = shape.iter().map(|&dim| dim.into()).collect();
        let owner = Array { data: numbers(6), shape: shape.clone() };
        for tensor in [owner.to_dlpack().unwrap(), owner.into_dlpack().unwrap()] {
            assert!(tensor.as_data_ptr().is_null(), "{shape:?}");
            assert_eq!(tensor.shape(), dims);
        }
        let mut copied = Array { data: vec![1_u8; 6], shape };
        assert_eq!(copied.tensor().unwrap().numel(), 0);
        copied.data.clear();
        assert!(copied.into_dlpack().unwrap().as_data_ptr().is_null());
    }
}

/// Elements with axes have more dimensions than the field says.
#[test]
fn elements_with_axes() {
    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(transparent)]
    struct Rgb([u8; 3]);

    let data: Arc<[Rgb]> = [Rgb([0, 1, 2]), Rgb([3, 4, 5])].into();
    let owner = Array { data, shape: vec![2] };
    for tensor in [owner.to_dlpack().unwrap(), owner.into_dlpack().unwrap()] {
        let tensor = Foreign::from(tensor);
        assert_eq!(tensor.shape(), [2, 3]);
        assert_eq!(tensor.elements::<u8>(), [0, 1, 2, 3, 4, 5]);
        tensor.delete(Farewell::Plain);
    }
}

/// A storage whose other owner has whatever memory the test says.
struct Two<S, F> {
    first: S,
    second: F,
}

impl<S: Storage, F: Fn() -> Option<SharedOwner>> Storage for Two<S, F> {
    fn data(&self) -> DataRef<'_> {
        self.first.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        (self.second)()
    }
}

/// The memory of a buffer, for reading.
struct Frozen(SharedBuffer<u16>);
impl Storage for Frozen {
    fn data(&self) -> DataRef<'_> {
        let data = self.0.data();
        // SAFETY: it is the memory of the buffer, which lives as long, and to which nobody
        // writes here.
        unsafe { DataRef::from_raw_parts(data.as_ptr(), 8, DataType::U16, Device::CPU) }
    }
}

/// No memory.
struct Closed(&'static Error);
impl Storage for Closed {
    fn data(&self) -> DataRef<'_> {
        DataRef::refused(self.0)
    }
}

/// What is exported is memory of the owner that lives on, or nothing is.
#[test]
fn owners_that_have_other_memory() {
    fn shared(second: impl Fn(&Arc<[u16]>) -> Option<SharedOwner>) -> Result<Vec<u8>, Error> {
        let first = numbers(4);
        let at = first.as_ptr().addr();
        let second = || second(&first);
        let data = Two { first: Arc::clone(&first), second };
        let owner = Array { data, shape: vec![4] };
        let tensor = owner.to_dlpack()?;
        assert_eq!(tensor.as_data_ptr().addr(), at);
        assert_eq!((tensor.dtype(), tensor.device()), (DataType::U16, Device::CPU));
        Ok(tensor.shape().iter().map(|&dim| u8::try_from(dim).unwrap()).collect())
    }

    /// The same address, said to be something else.
    struct As(Arc<[u16]>, usize, DataType, Device);
    impl Storage for As {
        fn data(&self) -> DataRef<'_> {
            // SAFETY: the bytes are those of the slice, or fewer; any of them are of any of
            // those types; on another device nobody follows the address.
            unsafe { DataRef::from_raw_parts(self.0.as_ptr().cast(), self.1, self.2, self.3) }
        }
    }
    let said = |len, dtype, device| {
        move |data: &Arc<[u16]>| SharedOwner::new(As(Arc::clone(data), len, dtype, device))
    };

    assert_eq!(shared(Storage::share), Ok(vec![4]));
    assert_eq!(shared(said(8, DataType::U16, Device::CPU)), Ok(vec![4]));
    assert_eq!(shared(said(6, DataType::U16, Device::CPU)), Err(Error::ShareOutOfRange));
    assert_eq!(shared(|_| numbers(4).share()), Err(Error::ShareOutOfRange));
    assert_eq!(shared(|_| None), Err(Error::NotShareable));
    let buffer = SharedBuffer::<u16>::zeroed(4).unwrap();
    assert_eq!(shared(|_| buffer.share()), Err(Error::ShareOutOfRange));
    let (device, storage) = (Device::CPU, Device::CUDA_HOST);
    assert_eq!(
        shared(said(8, DataType::U16, storage)),
        Err(Error::DeviceMismatch { device, storage })
    );
    // The terms are those of the owner that is exported.
    let buffer = SharedBuffer::<u16>::zeroed(4).unwrap();
    let frozen = || SharedOwner::new(Frozen(buffer.clone()));
    let owner = Array { data: Two { first: buffer.clone(), second: frozen }, shape: vec![4] };
    assert_eq!(owner.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
    let owner = Array { data: buffer.clone(), shape: vec![4] };
    assert_eq!(owner.to_dlpack().unwrap().flags(), Flags::NONE);
    // Another type for the same bytes is no reason: the tensor says what it is.
    assert_eq!(shared(said(8, DataType::I16, Device::CPU)), Ok(vec![4]));
    let refused: &'static Error = &Error::Custom("closed");
    assert_eq!(shared(|_| SharedOwner::new(Closed(refused))), Err(*refused));
}

/// Data of no known size is in a tensor that is not, and is shared all the same.
#[test]
fn data_without_a_size() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Tail<S: Storage + ?Sized> {
        shape: [u16; 1],
        data: S,
    }

    let data = numbers(4);
    let sized = Box::new(Tail { shape: [4], data: Arc::clone(&data) });
    let tail: Box<Tail<dyn Storage>> = sized;
    let tensor = Foreign::from(tail.to_dlpack().unwrap());
    drop(tail);
    assert_eq!(tensor.data().cast_const(), data.as_ptr().cast());
    assert_eq!(tensor.elements::<u16>(), [0, 1, 2, 3]);
    tensor.delete(Farewell::Plain);
    let alone: Box<Tail<dyn Storage>> = Box::new(Tail { shape: [1], data: vec![1_u8] });
    assert_eq!(alone.to_dlpack().unwrap_err(), Error::NotShareable);
}

/// A type that is said to be what it is, and elements that take a byte each.
#[test]
fn types_of_variants() {
    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    enum Data {
        #[dlpack(dtype = F32)]
        Floats(Arc<[f32]>),
        #[dlpack(dtype = FLOAT4_E2M1FN, padded)]
        Quarters(Arc<[u8]>),
    }

    let owner = Array { data: Data::Floats(Arc::from([1.5, 2.5])), shape: vec![2] };
    let tensor = Foreign::from(owner.to_dlpack().unwrap());
    assert_eq!(tensor.elements::<f32>(), [1.5, 2.5]);
    tensor.delete(Farewell::Plain);
    let owner = Array { data: Data::Quarters(Arc::from([1, 2, 3])), shape: vec![3] };
    for tensor in [owner.copy_to_dlpack().unwrap(), owner.to_dlpack().unwrap()] {
        assert!(tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED));
        assert_eq!((tensor.dtype(), tensor.shape()), (DataType::FLOAT4_E2M1FN, &[3][..]));
    }
}
