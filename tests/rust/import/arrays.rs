//! The feature `ndarray`: tensors as arrays, and arrays as tensors.

use dlpack_tests::counted::Drops;
use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use dlpack_tests::random::Random;
use ndarray::{ArcArray, Array, Array2, Array3, Axis, IxDyn, ShapeBuilder, Slice, array, s};
use tensors::ffi::DLManagedTensorVersioned;
use tensors::{
    DLPackExport, DLPackImport, DataType, Element, Error, Flags, ImportedStorage, ImportedTensor,
    ManagedTensor, Storage,
};

use crate::import::forge::{Forged, forged, import};

fn numbers() -> Vec<i32> {
    (0..24).collect()
}

/// The elements of a tensor, through an array and by value.
fn check(tensor: &mut ImportedTensor) {
    let elements = tensor.elements::<i32>().unwrap();
    let expected = elements.to_vec().unwrap();
    let copy = elements.to_ndarray().unwrap();
    let shape: Vec<usize> =
        tensor.shape().iter().map(|&dim| usize::try_from(dim).unwrap()).collect();
    assert_eq!(
        (copy.shape(), copy.iter().copied().collect::<Vec<_>>()),
        (&shape[..], expected.clone())
    );
    // SAFETY: 1. No one writes to the elements.
    let view = unsafe { tensor.assume_frozen() }.as_ndarray::<i32>().unwrap();
    assert_eq!(view, copy);
    if let Some(first) = view.first() {
        assert_eq!(core::ptr::from_ref(first).cast(), tensor.data_ptr());
    }
    for (axis, (&dim, &stride)) in tensor.shape().iter().zip(tensor.strides()).enumerate() {
        if dim > 1 && !view.is_empty() {
            assert_eq!(i64::try_from(view.stride_of(Axis(axis))), Ok(stride));
        }
    }
    // SAFETY: the memory has no other owner.
    if let Ok(mut exclusive) = unsafe { tensor.assume_exclusive() } {
        match exclusive.as_ndarray_mut::<i32>() {
            Ok(mut view) => view.mapv_inplace(|n| n + 100),
            // `ndarray` takes axes that interleave for overlapping ones.
            Err(error) => return assert_eq!(error, Error::Overlapping),
        }
        let changed: Vec<i32> = expected.iter().map(|n| n + 100).collect();
        assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), changed);
    }
}

#[test]
fn tensors_become_array_views() {
    for (shape, strides, byte_offset) in [
        (&[2, 3, 4][..], &[12, 4, 1][..], 0),
        (&[4, 3], &[1, 4], 8),
        (&[2, 3], &[-3, -1], 20),
        (&[3, 2], &[-2, 7], 16),
        (&[3, 4], &[0, 1], 0),
        (&[2, 1, 3], &[3, i64::MIN, 1], 0),
        (&[], &[], 12),
        (&[2, 0, 3], &[i64::MAX, -9, 1], 0),
        (&[0, 1 << 40], &[1 << 40, 1], 0),
        (&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3], &[0, 0, 0, 0, 0, 0, 0, 0, 3, 1], 0),
    ] {
        check(&mut forged(shape, &numbers()).strided(strides, byte_offset).imported());
    }
    let mut random = Random::new(3);
    for _ in 0..if cfg!(miri) { 5 } else { 2000 } {
        let shape: Vec<i64> = (0..random.below(4)).map(|_| random.within(0..=3)).collect();
        let strides: Vec<i64> = shape.iter().map(|_| random.within(-9..=9)).collect();
        let memory: Vec<i32> = (0..128).collect();
        check(&mut forged(&shape, &memory).strided(&strides, 64 * 4).imported());
    }
}

#[test]
fn tensors_that_are_not_array_views_are_refused() {
    let mut interleaved = forged(&[2, 3], &numbers()).strided(&[3, 2], 0).imported();
    // SAFETY: the memory has no other owner.
    let mut interleaved = unsafe { interleaved.assume_exclusive() }.unwrap();
    assert_eq!(interleaved.as_ndarray_mut::<i32>().map(|_| ()), Err(Error::Overlapping));
    let too_many = forged(&[0, 1 << 40, 1 << 40], &[]).imported();
    // SAFETY: 1. No one writes to the elements.
    let view = unsafe { too_many.assume_frozen() }.as_ndarray::<i32>().map(|_| ());
    assert_eq!(view, Err(Error::SizeOverflow));
    let copy = too_many.elements::<i32>().unwrap().to_ndarray().map(|_| ());
    assert_eq!(copy, Err(Error::SizeOverflow));
    let shifted = Forged { byte_offset: 1, ..forged(&[2], &numbers()) }.imported();
    let error = Error::Misaligned { dtype: DataType::I32, align: 4 };
    // SAFETY: as above.
    assert_eq!(unsafe { shifted.assume_frozen() }.as_ndarray::<i32>().map(|_| ()), Err(error));
    let read_only = Forged { flags: Flags::READ_ONLY, ..forged(&[2], &numbers()) };
    let mut read_only = read_only.imported();
    // SAFETY: as above.
    let error = unsafe { read_only.assume_exclusive() }.map(|_| ()).unwrap_err();
    assert_eq!(error, Error::ReadOnly);
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(transparent)]
struct Pair([i32; 2]);

#[test]
fn elements_with_axes_become_array_views() {
    let case = forged(&[2, 3, 2], &numbers()).strided(&[-6, 2, 1], 24);
    let tensor = case.imported();
    // SAFETY: 1. No one writes to the elements.
    let view = unsafe { tensor.assume_frozen() }.as_ndarray::<Pair>().unwrap();
    assert_eq!(view.shape(), [2, 3]);
    assert_eq!((view[[0, 1]], view[[1, 2]]), (Pair([8, 9]), Pair([4, 5])));
    let tensor = forged(&[2, 3, 2], &numbers()).strided(&[7, 2, 1], 0).imported();
    // SAFETY: 1. No one writes to the elements.
    let view = unsafe { tensor.assume_frozen() }.as_ndarray::<Pair>().map(|_| ());
    assert_eq!(view, Err(Error::StrideNotWhole { axis: 0, bytes: 28 }));
    let mut pixels = Array2::from_elem((2, 2), Pair([1, 2]));
    pixels[[1, 0]] = Pair([3, 4]);
    pixels.invert_axis(Axis(0));
    let tensor = import(pixels.into_dlpack().unwrap());
    assert_eq!((tensor.shape(), tensor.strides()), (&[2, 2, 2][..], &[-4, 2, 1][..]));
    assert_eq!(tensor.elements::<i32>().unwrap().load(&[0, 0, 1]), Ok(4));
}

/// An array is exported with its own layout, and the consumer may write it.
#[test]
fn owned_arrays_are_exported() {
    let make: [fn() -> Array3<i32>; 6] = [
        || Array::from_shape_vec((2, 3, 4), numbers()).unwrap(),
        || Array::from_shape_vec((2, 3, 4).f(), numbers()).unwrap(),
        || make_3().reversed_axes(),
        || {
            let mut turned = make_3();
            turned.invert_axis(Axis(1));
            turned
        },
        || make_3().slice_move(s![.., 1.., ..;2]),
        || make_3().slice_move(s![..;-1, 1..1, ..]),
    ];
    for make in make {
        let array = make();
        let expected: Vec<i32> = array.iter().copied().collect();
        let (shape, strides) = (array.shape().to_vec(), array.strides().to_vec());
        let first = array.first().map(core::ptr::from_ref);
        assert!(matches!(array.to_dlpack(), Err(Error::NotShareable)));
        let export = Consumer::from(array.into_dlpack().unwrap());
        assert!(export.is_writable());
        assert!(export.shape().iter().zip(&shape).all(|(&dim, &n)| usize::try_from(dim) == Ok(n)));
        if let Some(first) = first {
            assert_eq!(export.data().cast_const().cast(), first);
            let found: Vec<_> = export.strides().into_iter().map(isize::try_from).collect();
            assert!(found.iter().zip(&strides).all(|(found, &stride)| *found == Ok(stride)));
        }
        assert_eq!(export.elements::<i32>(), expected);
        export.write(|n: i32| n + 1);
        assert_eq!(export.elements::<i32>(), expected.iter().map(|n| n + 1).collect::<Vec<_>>());
        export.delete_elsewhere(Farewell::Plain);
        let mut tensor = import(make().into_dlpack().unwrap());
        check(&mut tensor);
        let array = make();
        let copy = import(array.copy_to_dlpack().unwrap());
        assert_eq!(copy.elements::<i32>().unwrap().to_vec().unwrap(), expected);
    }
}

fn make_3() -> Array3<i32> {
    Array::from_shape_vec((2, 3, 4), numbers()).unwrap()
}

/// Two versions of `ndarray` in one program: each has impls by its own feature.
#[test]
fn arrays_of_an_older_version_are_exported_and_viewed() {
    let older = ndarray_0_16::Array::from_shape_vec((2, 3, 4), numbers()).unwrap();
    let mut older = older.reversed_axes();
    older.invert_axis(ndarray_0_16::Axis(1));
    let mut newer = make_3().reversed_axes();
    newer.invert_axis(Axis(1));
    let mut tensor = import(older.into_dlpack().unwrap());
    check(&mut tensor);
    // SAFETY: 1. No one writes to the elements.
    let frozen = unsafe { tensor.assume_frozen() };
    let view: ndarray_0_16::ArrayViewD<'_, i32> = frozen.try_into().unwrap();
    assert_eq!(view.shape(), newer.shape());
    assert!(view.iter().zip(&newer).all(|(older, newer)| *older == newer + 100));
    let copy: ndarray_0_16::ArrayD<i32> = (&tensor.elements::<i32>().unwrap()).try_into().unwrap();
    assert_eq!(copy, view);
    let mut exclusive = tensor.exclusive().unwrap();
    let mut view: ndarray_0_16::ArrayViewMutD<'_, i32> = (&mut exclusive).try_into().unwrap();
    view.fill(7);
    assert_eq!(tensor.elements::<i32>().unwrap().iter().sum::<i32>(), 7 * 24);
    let shared = ndarray_0_16::ArcArray::from_elem((2, 2), 5_i32);
    assert_eq!(shared.to_dlpack().unwrap().flags(), Flags::READ_ONLY);
}

/// Arrays with several owners are read by all of them.
#[test]
fn shared_arrays_are_exported_read_only() {
    let array = ArcArray::from_shape_vec((2, 3, 4), numbers()).unwrap();
    let mut part = array.clone().slice_move(s![1, ..;-1, 1..3]);
    let export = import(part.to_dlpack().unwrap());
    assert_eq!(export.flags(), Flags::READ_ONLY);
    assert_eq!(export.strides(), [-4, 1]);
    let frozen = export.frozen().unwrap();
    assert_eq!(
        frozen.as_ndarray::<i32>().unwrap(),
        array![[21, 22], [17, 18], [13, 14]].into_dyn()
    );
    // Writing an `ArcArray` copies it first.
    part.fill(0);
    drop((array, part));
    assert_eq!(export.elements::<i32>().unwrap().load(&[0, 0]), Ok(21));
    // An owned array is exported with all of its memory, in any axis order.
    let turned = ArcArray::from_shape_vec((2, 3), numbers()[..6].to_vec()).unwrap().reversed_axes();
    let lowest = turned.as_ptr();
    let owner = DLPackExport::share(&turned).unwrap();
    drop(turned);
    let other = owner.share().expect("as an array is shared");
    drop(owner);
    assert_eq!((other.data().as_ptr().cast(), other.data().byte_len()), (lowest, 24));
    let again = ArcArray::from_elem(IxDyn(&[2, 2]), 5_i32);
    let moved = import(again.clone().into_dlpack().unwrap());
    assert!(moved.frozen().is_ok());
    drop(again);
    assert_eq!(moved.frozen().unwrap().as_slice::<i32>(), Ok(&[5; 4][..]));
}

/// Any element type, any rank, also in a struct around it.
#[derive(DLPackExport)]
#[dlpack(crate = tensors, transparent)]
struct Image(Array3<u8>);

#[derive(DLPackExport)]
#[dlpack(crate = tensors, transparent)]
struct Named {
    data: Array2<f32>,
    #[dlpack(skip)]
    name: &'static str,
}

#[test]
fn arrays_beside_skipped_fields_are_exported() {
    let data = Array2::zeros((2, 3)).reversed_axes();
    let named = Named { data, name: "fog" };
    assert_eq!(named.name, "fog");
    let tensor = named.into_dlpack().unwrap();
    assert_eq!((tensor.shape(), tensor.dtype()), (&[3, 2][..], DataType::F32));
}

#[test]
fn arrays_in_a_newtype_are_exported() {
    let mut image = Array3::<u8>::zeros((1, 2, 3));
    image.slice_axis_mut(Axis(2), Slice::from(1..2)).fill(4);
    let tensor = import(Image(image).into_dlpack().unwrap());
    assert_eq!(tensor.shape(), [1, 2, 3]);
    assert_eq!(tensor.elements::<u8>().unwrap().iter().sum::<u8>(), 8);
}

/// In as an array, out as a tensor: without a copy where the array is foreign memory.
#[test]
fn exported_arrays_are_imported_again() {
    let drops = Drops::new();
    let (_, taken) = forged(&[2, 3], &numbers()).import::<DLManagedTensorVersioned>(&drops);
    let foreign = ImportedStorage::<i32>::new(taken.unwrap()).unwrap();
    let copy = foreign.imported().elements::<i32>().unwrap().to_ndarray().unwrap();
    drop(foreign);
    assert_eq!(drops.count(), 1);
    let tensor = import(copy.into_dlpack().unwrap());
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [0, 1, 2, 3, 4, 5]);
}

/// A copy in row-major order that keeps the shape.
#[test]
fn tensors_are_imported_as_arrays() {
    let make = || import(make_3().reversed_axes().into_dlpack().unwrap());
    let expected = make_3().reversed_axes();
    assert_eq!(Array3::<i32>::from_dlpack(make()).unwrap(), expected);
    assert_eq!(ndarray::ArrayD::<i32>::from_dlpack(make()).unwrap(), expected.into_dyn());
    assert_eq!(ndarray_0_16::Array3::<i32>::from_dlpack(make()).unwrap().shape(), [4, 3, 2]);
    let points = import(array![[1, 2, 3], [4, 5, 6]].into_dlpack().unwrap());
    let points = ndarray::Array1::<[i32; 3]>::from_dlpack(points).unwrap();
    assert_eq!(
        points,
        array![[1, 2, 3], [4, 5, 6_i32]].map_axis(Axis(1), |row| { [row[0], row[1], row[2]] })
    );
    assert_eq!(Array2::<i32>::COPIES, tensors::Copies::Always);
    for (error, text) in [
        (Array2::<i32>::from_dlpack(make()).map(drop), "`Array`: expected 2 dimensions, got 3"),
        (Array3::<f32>::accepts(&make()), "`Array`: expected float32, got int32"),
        (
            Array2::<[i32; 3]>::accepts(&make()),
            "`Array`: expected [3] as the last dimensions, got others",
        ),
    ] {
        assert_eq!(error.unwrap_err().to_string(), text);
    }
}

/// A struct with a shape of its own would read the elements in another order.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Table<A> {
    data: A,
    shape: [usize; 2],
}

#[test]
fn an_array_is_the_data_of_a_larger_struct() {
    let compact = array![[0, 1, 2], [10, 11, 12]];
    let table = Table { data: compact.clone(), shape: [3, 2] };
    let tensor = import(table.into_dlpack().unwrap());
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [0, 1, 2, 10, 11, 12]);

    let refused = |result: Result<ManagedTensor, Error>| {
        let text = result.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("#[dlpack(transparent)]"), "{text}");
    };
    let turned = compact.clone().reversed_axes();
    refused(Table { data: turned, shape: [3, 2] }.into_dlpack());
    let sliced = compact.clone().into_shared().slice_move(s![.., ..;2]);
    refused(Table { data: sliced.clone(), shape: [2, 2] }.to_dlpack());
    refused(Table { data: sliced.clone(), shape: [2, 2] }.into_dlpack());

    // Alone it is the tensor that it is, for all its owners.
    let tensor = import(sliced.to_dlpack().unwrap());
    assert_eq!((tensor.shape(), tensor.strides()), (&[2, 2][..], &[3, 2][..]));
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [0, 2, 10, 12]);
    assert_eq!(tensor.data_ptr(), sliced.as_ptr().cast());
}
