//! Views, exports by value and shared exports of one tensor agree, whatever its layout
//! and its storage.

use std::sync::Arc;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use dlpack_tests::random::Random;
use tensors::{
    DLPackExport, DataRef, DataType, Device, Element, Error, Flags, Layout, SharedBuffer,
    SharedOwner, Storage, TensorView,
};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, spare_capacity)]
struct Array<S> {
    data: S,
    shape: Vec<u16>,
}

fn numbers(len: u16) -> Arc<[u16]> {
    (0..len).collect()
}

/// Packets have room for 8 dimensions; there may be more.
#[test]
fn exports_agree_for_any_number_of_dimensions() {
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
        let owner = Array { data: numbers(numel), shape };
        let view = owner.tensor().unwrap();
        assert_eq!((view.shape(), view.strides()), (&dims[..], &strides[..]));
        let shared: ImportedStorage = owner.to_dlpack().unwrap().into();
        let moved: ImportedStorage = owner.into_dlpack().unwrap().into();
        for tensor in [shared, moved] {
            assert_eq!((tensor.shape(), tensor.strides()), (dims.clone(), strides.clone()));
            assert_eq!(tensor.elements::<u16>(), (0..numel).collect::<Vec<_>>());
            tensor.delete(Farewell::Plain);
        }
    }
}

/// If any dimension is 0, the address is NULL.
#[test]
fn exports_agree_without_elements() {
    for shape in [vec![0], vec![0, 2], vec![2, 0], vec![2, 0, 2], vec![0, 0]] {
        let dims: Vec<i64> = shape.iter().map(|&dim| dim.into()).collect();
        let owner = Array { data: numbers(6), shape: shape.clone() };
        for tensor in [owner.to_dlpack().unwrap(), owner.into_dlpack().unwrap()] {
            assert!(tensor.data_ptr().is_null(), "{shape:?}");
            assert_eq!(tensor.shape(), dims);
        }
        let mut copied = Array { data: vec![1_u8; 6], shape };
        assert_eq!(copied.tensor().unwrap().numel(), 0);
        copied.data.clear();
        assert!(copied.into_dlpack().unwrap().data_ptr().is_null());
    }
}

/// Elements with axes have more dimensions than the shape field.
#[test]
fn exports_agree_for_elements_with_axes() {
    #[derive(Clone, Copy, Element)]
    #[dlpack(crate = ::tensors)]
    #[repr(transparent)]
    struct Rgb([u8; 3]);

    let data: Arc<[Rgb]> = [Rgb([0, 1, 2]), Rgb([3, 4, 5])].into();
    let owner = Array { data, shape: vec![2] };
    for tensor in [owner.to_dlpack().unwrap(), owner.into_dlpack().unwrap()] {
        let tensor = ImportedStorage::from(tensor);
        assert_eq!(tensor.shape(), [2, 3]);
        assert_eq!(tensor.elements::<u8>(), [0, 1, 2, 3, 4, 5]);
        tensor.delete(Farewell::Plain);
    }
}

/// A storage whose other owner has the memory that the test chooses.
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
        // SAFETY: it is the memory of the buffer, which lives as long; no
        // one writes to it here.
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

/// The exported memory belongs to the owner that stays alive, or the export fails.
#[test]
fn owners_with_other_memory_are_refused() {
    fn shared(second: impl Fn(&Arc<[u16]>) -> Option<SharedOwner>) -> Result<Vec<u8>, Error> {
        let first = numbers(4);
        let at = first.as_ptr().addr();
        let second = || second(&first);
        let data = Two { first: Arc::clone(&first), second };
        let owner = Array { data, shape: vec![4] };
        let tensor = owner.to_dlpack()?;
        assert_eq!(tensor.data_ptr().addr(), at);
        assert_eq!((tensor.dtype(), tensor.device()), (DataType::U16, Device::CPU));
        Ok(tensor.shape().iter().map(|&dim| u8::try_from(dim).unwrap()).collect())
    }

    /// The same address with other metadata.
    struct As(Arc<[u16]>, usize, DataType, Device);
    impl Storage for As {
        fn data(&self) -> DataRef<'_> {
            // SAFETY: the bytes are those of the slice, or fewer; any bits are values of
            // those types; on another device the address is not followed.
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
    // Another type for the same bytes is not an error: the tensor has its own dtype.
    assert_eq!(shared(said(8, DataType::I16, Device::CPU)), Ok(vec![4]));
    let refused: &'static Error = &Error::Custom("closed");
    assert_eq!(shared(|_| SharedOwner::new(Closed(refused))), Err(*refused));
}

/// Data of no known size is in a tensor that is not, and is shared all the same.
#[test]
fn unsized_data_is_exported() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Tail<S: Storage + ?Sized> {
        shape: [u16; 1],
        data: S,
    }

    let data = numbers(4);
    let sized = Box::new(Tail { shape: [4], data: Arc::clone(&data) });
    let tail: Box<Tail<dyn Storage>> = sized;
    let tensor = ImportedStorage::from(tail.to_dlpack().unwrap());
    drop(tail);
    assert_eq!(tensor.data().cast_const(), data.as_ptr().cast());
    assert_eq!(tensor.elements::<u16>(), [0, 1, 2, 3]);
    tensor.delete(Farewell::Plain);
    let alone: Box<Tail<dyn Storage>> = Box::new(Tail { shape: [1], data: vec![1_u8] });
    assert_eq!(alone.to_dlpack().unwrap_err(), Error::NotShareable);
}

/// A dtype equal to the element type, and elements that take a byte each.
#[test]
fn variants_export_their_own_dtype() {
    #[derive(Storage)]
    #[dlpack(crate = ::tensors)]
    enum Data {
        #[dlpack(dtype = F32)]
        Floats(Arc<[f32]>),
        #[dlpack(dtype = FLOAT4_E2M1FN, padded)]
        Quarters(Arc<[u8]>),
    }

    let owner = Array { data: Data::Floats(Arc::from([1.5, 2.5])), shape: vec![2] };
    let tensor = ImportedStorage::from(owner.to_dlpack().unwrap());
    assert_eq!(tensor.elements::<f32>(), [1.5, 2.5]);
    tensor.delete(Farewell::Plain);
    let owner = Array { data: Data::Quarters(Arc::from([1, 2, 3])), shape: vec![3] };
    for tensor in [owner.copy_to_dlpack().unwrap(), owner.to_dlpack().unwrap()] {
        assert!(tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED));
        assert_eq!((tensor.dtype(), tensor.shape()), (DataType::FLOAT4_E2M1FN, &[3][..]));
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Spaced<S> {
    data: S,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// All lists of that many numbers.
fn lists(numbers: &[i64], len: usize) -> Vec<Vec<i64>> {
    (0..len).fold(vec![Vec::new()], |lists, _| {
        let longer = |list: &Vec<i64>| {
            let list = list.clone();
            numbers.iter().map(move |&number| [&list[..], &[number]].concat())
        };
        lists.iter().flat_map(longer).collect()
    })
}

/// Every small layout, and some that overflow.
#[test]
fn explicit_strides_equal_those_of_a_view() {
    let mut exported = [0; 2];
    let most = if cfg!(miri) { 1 } else { 2 };
    for ndim in 0..=most {
        for shape in lists(&[0, 1, 2, 3, -1, i64::MAX], ndim) {
            for strides in lists(&[-1, 0, 1, 2, 3, 4, i64::MAX], ndim) {
                let data = SharedBuffer::<u16>::zeroed(7).unwrap();
                let spaced = Spaced { data, shape: shape.clone(), strides };
                let said = spaced.tensor().map(|view| {
                    let flags = if view.is_read_only() { Flags::READ_ONLY } else { Flags::NONE };
                    (view.shape().to_vec(), view.strides().to_vec(), view.data_ptr(), flags)
                });
                for tensor in [spaced.to_dlpack(), spaced.into_dlpack()] {
                    let given = tensor.map(|tensor| {
                        let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
                        (shape, strides, tensor.data_ptr(), tensor.flags())
                    });
                    assert_eq!(given, said);
                }
                exported[usize::from(said.is_ok_and(|said| said.3 == Flags::NONE))] += 1;
            }
        }
    }
    assert!(cfg!(miri) || (exported[0] > 1000 && exported[1] > 200), "{exported:?}");
    let ranks = Spaced { data: vec![1_u8; 4], shape: vec![2, 2], strides: vec![2] };
    assert_eq!(ranks.into_dlpack().unwrap_err(), Error::RankMismatch { shape: 2, strides: 1 });
}

/// The same for views, whose dimensions are borrowed or converted.
#[test]
fn borrowed_and_converted_dims_give_equal_views() {
    let storage = [0_u16; 8];
    let mut views = [0; 2];
    let most = if cfg!(miri) { 2 } else { 5 };
    for ndim in 0..=most {
        for shape in lists(&[0, 1, 2, -1, i64::MAX / 2], ndim) {
            for skipped in 0..5_u8 {
                let data = || DataRef::from_slice(&storage);
                let wide: Vec<i128> = shape.iter().map(|&dim| dim.into()).collect();
                let layout = Layout::new(&wide).byte_offset(skipped);
                let said = TensorView::new(data(), layout);
                let layout = Layout::new(&shape).byte_offset(skipped);
                let view = TensorView::new(data(), layout);
                assert_eq!(
                    format!("{:?}", view.as_ref().err()),
                    format!("{:?}", said.as_ref().err())
                );
                views[usize::from(view.is_ok())] += 1;
                let (Ok(view), Ok(said)) = (view, said) else { continue };
                assert_eq!((view.shape(), view.strides()), (said.shape(), said.strides()));
                assert_eq!((view.numel(), view.data_ptr()), (said.numel(), said.data_ptr()));
                assert_eq!((view.dtype(), view.device()), (said.dtype(), said.device()));
                assert_eq!(view.is_read_only(), said.is_read_only());
            }
        }
    }
    assert!(cfg!(miri) || (views[0] > 1000 && views[1] > 200), "{views:?}");
}

/// Own exports are valid imports, also of layouts in which indices name one element many times: an
/// import rejects elements that have too many bytes all together.
#[test]
fn own_exports_are_valid_imports() {
    let mut random = Random::new(5);
    let (mut exported, mut rejected) = (0, 0);
    let types = [DataType::U8, DataType::F32, DataType::COMPLEX128, DataType::FLOAT4_E2M1FN];
    for _ in 0..if cfg!(miri) { 40 } else { 100_000 } {
        let ndim = random.below(5);
        let large = |random: &mut Random| match random.below(4) {
            0 => random.within(0..=3),
            1 => 1 << random.within(20..=62),
            2 => (1 << random.within(20..=62)) - 1,
            _ => 1,
        };
        let shape: Vec<i64> = (0..ndim).map(|_| large(&mut random)).collect();
        let strides: Vec<i64> =
            shape.iter().map(|&dim| if dim > 3 { 0 } else { random.within(-2..=2) }).collect();
        let dtype = random.pick(&types);
        let memory = SharedBuffer::<u8>::zeroed(512).unwrap();
        let owner = Owner::new(memory, &shape).strided(&strides, 256).dtype(dtype);
        let view = owner.tensor().map(|_| ());
        let shared = owner.to_dlpack().map(|_| ());
        match owner.into_dlpack() {
            Ok(export) => {
                exported += 1;
                assert_eq!((view, shared), (Ok(()), Ok(())));
                let import = export.import();
                assert!(import.is_ok(), "{shape:?} {strides:?} {dtype}: {import:?}");
            }
            Err(error) => {
                rejected += 1;
                assert_eq!((error, view, shared), (Error::SizeOverflow, Err(error), Err(error)));
            }
        }
    }
    assert!(exported * 8 > rejected && rejected * 8 > exported, "{exported} {rejected}");
}
