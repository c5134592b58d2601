//! Views of a part of an import, against a list of the places of all elements.

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Owner};
use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::ffi::{self, DLManagedTensor, DLManagedTensorVersioned};
use tensors::{
    DLPackExport, DataType, Device, Error, Flags, ImportedStorage, ImportedTensor, OwnedTensor,
};

use crate::import::forge::{Forge, Forged, forged};

/// An address, or a handle and an offset, as one number.
fn place(tensor: &ImportedTensor) -> i64 {
    let place = tensor.data_ptr().addr() as u64 + tensor.byte_offset();
    i64::try_from(place).unwrap()
}

/// The place of each element, in row-major order of the indices.
fn places(tensor: &ImportedTensor) -> Vec<i64> {
    let size = i64::try_from(tensor.dtype().byte_size().unwrap()).unwrap();
    let offsets = positions(tensor.shape(), tensor.strides());
    offsets.into_iter().map(|offset| place(tensor) + offset * size).collect()
}

/// The same of a model: a shape, and a place for each index.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    places: Vec<i64>,
}

impl Model {
    /// The elements whose index a function returns for each index of a new shape.
    fn view(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let mut places = Vec::new();
        for mut number in 0..shape.iter().product() {
            let mut index = vec![0; shape.len()];
            for (to, &dim) in index.iter_mut().zip(&shape).rev() {
                (*to, number) = (number % dim, number / dim);
            }
            let old = from(&index);
            let at = old.iter().zip(&self.shape).fold(0, |at, (&index, &dim)| at * dim + index);
            places.push(self.places[at]);
        }
        Self { shape, places }
    }
}

/// A random view, and the same one of the model.
fn random_view(
    random: &mut Random,
    tensor: ImportedTensor,
    model: &Model,
) -> (ImportedTensor, Model) {
    let rank = model.shape.len();
    if random.one_in(6) && model.places.len() < 1000 {
        let mut shape: Vec<_> = (0..random.below(3)).map(|_| random.below(4)).collect();
        let new = shape.len();
        let repeated = |&dim: &usize| if dim == 1 { random.below(4) } else { dim };
        shape.extend(model.shape.iter().map(repeated));
        let from = |index: &[usize]| {
            let pairs = index[new..].iter().zip(&model.shape);
            pairs.map(|(&index, &dim)| if dim == 1 { 0 } else { index }).collect()
        };
        return (tensor.broadcast_to(&shape).unwrap(), model.view(shape, from));
    }
    if rank == 0 || random.one_in(5) {
        let mut axes: Vec<_> = (0..rank).collect();
        for at in (1..rank).rev() {
            axes.swap(at, random.below(at + 1));
        }
        let shape = axes.iter().map(|&axis| model.shape[axis]).collect();
        let from = |index: &[usize]| {
            let mut old = vec![0; rank];
            index.iter().zip(&axes).for_each(|(&index, &axis)| old[axis] = index);
            old
        };
        return (tensor.permute(&axes).unwrap(), model.view(shape, from));
    }
    let axis = random.below(rank);
    let dim = model.shape[axis];
    match random.below(3) {
        0 if dim > 0 => {
            let at = random.below(dim);
            let mut shape = model.shape.clone();
            shape.remove(axis);
            let from = |index: &[usize]| {
                let mut old = index.to_vec();
                old.insert(axis, at);
                old
            };
            (tensor.select(axis, at).unwrap(), model.view(shape, from))
        }
        1 => {
            let reversed = |index: &[usize]| {
                let mut old = index.to_vec();
                old[axis] = dim - 1 - old[axis];
                old
            };
            (tensor.reverse(axis).unwrap(), model.view(model.shape.clone(), reversed))
        }
        _ => {
            let start = random.below(dim + 1);
            let end = start + random.below(dim - start + 1);
            let mut shape = model.shape.clone();
            shape[axis] = end - start;
            let from = |index: &[usize]| {
                let mut old = index.to_vec();
                old[axis] += start;
                old
            };
            (tensor.narrow(axis, start..end).unwrap(), model.view(shape, from))
        }
    }
}

/// A random layout in memory of 64 KiB, from its 32768th byte.
fn random_case(random: &mut Random, device: Device) -> Forged {
    let rank = random.below(5);
    let shape: Vec<_> = (0..rank).map(|_| random.pick(&[0, 1, 1, 2, 3, 5])).collect();
    let strides: Vec<_> = (0..rank).map(|_| random.within(-12..=12)).collect();
    let bytes = vec![0; 1 << 16];
    Forged { bytes, device, ..forged(&shape, &[]).strided(&strides, 1 << 15) }
}

/// L32: every view has the elements that the indices name, within the bytes of the import, and a
/// consumer of its export finds them.
#[test]
fn views_have_the_elements_that_their_indices_name() {
    let mut random = Random::new(18);
    let count = if cfg!(miri) { 40 } else { 3000 };
    for case in 0..count {
        let device = random.pick(&[Device::CPU, Device::cuda(0), Device::new(ffi::kDLVulkan, 0)]);
        let mut tensor = random_case(&mut random, device).imported();
        let mut model = Model { shape: tensor.shape_usize().collect(), places: places(&tensor) };
        for _ in 0..=random.below(3) {
            let (start, bytes) = (place(&tensor), tensor.byte_range());
            (tensor, model) = random_view(&mut random, tensor, &model);
            assert!(tensor.shape_usize().eq(model.shape.iter().copied()), "case {case}");
            assert_eq!(usize::try_from(tensor.numel()), Ok(model.places.len()), "case {case}");
            if model.places.is_empty() {
                assert_eq!(tensor.byte_range(), 0..0);
                continue;
            }
            assert_eq!(places(&tensor), model.places, "case {case}");
            let (low, high) = (bytes.start as i64 + start, bytes.end as i64 + start);
            let within = tensor.byte_range();
            let (from, to) =
                (place(&tensor) + within.start as i64, place(&tensor) + within.end as i64);
            assert_eq!(Some(&from), model.places.iter().min());
            assert_eq!(Some(to - 4), model.places.iter().max().copied());
            assert!(low <= from && to <= high, "case {case}: {from}..{to} of {low}..{high}");
        }
        assert_eq!(tensor.device(), device);
        let consumer = Consumer::from(ImportedStorage::from(tensor).into_dlpack().unwrap());
        let found = consumer.tensor().data.addr() as u64 + consumer.tensor().byte_offset;
        if let Some(&first) = model.places.first() {
            let first_of_consumer = i64::try_from(found).unwrap();
            assert_eq!(first_of_consumer, first, "case {case}");
            let offsets = positions(&consumer.shape(), &consumer.strides());
            let seen: Vec<_> = offsets.into_iter().map(|at| first + 4 * at).collect();
            assert_eq!(seen, model.places, "case {case}");
        }
        consumer.delete(Farewell::Plain);
    }
}

/// L32: an axis, an index or a range that the tensor does not have.
#[test]
fn axes_and_indices_beyond_the_tensor_are_rejected() {
    let tensor = || forged(&[2, 3], &[0, 1, 2, 3, 4, 5]).imported();
    let no_axis = Some(Error::NoSuchAxis { axis: 2, ndim: 2 });
    assert_eq!(tensor().select(2, 0).err(), no_axis);
    assert_eq!(tensor().narrow(2, 0..0).err(), no_axis);
    assert_eq!(tensor().reverse(2).err(), no_axis);
    assert_eq!(tensor().permute(&[0, 2]).err(), no_axis);
    assert_eq!(
        tensor().select(usize::MAX, 0).err(),
        Some(Error::NoSuchAxis { axis: usize::MAX, ndim: 2 })
    );
    for index in [3, usize::MAX] {
        let error = Error::NoSuchIndex { axis: 1, index, dim: 3 };
        assert_eq!(tensor().select(1, index).err(), Some(error));
    }
    for (start, end) in [(0, 4), (4, 4), (2, 1), (0, usize::MAX), (usize::MAX, usize::MAX)] {
        let error = Error::NoSuchRange { axis: 1, start, end, dim: 3 };
        assert_eq!(tensor().narrow(1, start..end).err(), Some(error));
    }
    let excluded = (core::ops::Bound::Excluded(usize::MAX), core::ops::Bound::Unbounded);
    assert!(matches!(tensor().narrow(1, excluded).err(), Some(Error::NoSuchRange { .. })));
    assert!(matches!(tensor().narrow(1, ..=usize::MAX).err(), Some(Error::NoSuchRange { .. })));
    assert_eq!(tensor().narrow(1, 1..=2).unwrap().shape(), [2, 2]);
    for (axes, axis, times) in [(&[0][..], 1, 0), (&[1, 1], 0, 0), (&[], 0, 0), (&[0, 1, 0], 0, 2)]
    {
        let error = Error::NotPermutation { axis, times, ndim: 2 };
        assert_eq!(tensor().permute(axes).err(), Some(error));
    }
    assert_eq!(
        tensor().select(1, 3).unwrap_err().to_string(),
        "expected an index below 3 for axis 1, got 3"
    );
    for (to, error) in [
        (&[3][..], Error::RanksDiffer { expected: 2, found: 1 }),
        (&[3, 3], Error::ShapesDiffer { axis: 0, expected: 2, found: 3 }),
        (&[4, 2, 1], Error::ShapesDiffer { axis: 1, expected: 3, found: 1 }),
        (&[2, 0], Error::ShapesDiffer { axis: 1, expected: 3, found: 0 }),
        (&[-1, 2, 3], Error::NegativeDim { axis: 0, dim: -1 }),
        (&[i64::MAX, 2, 3], Error::SizeOverflow),
        (&[1; 65], Error::TooManyDims { ndim: 65 }),
    ] {
        assert_eq!(tensor().broadcast_to(to).err(), Some(error), "{to:?}");
    }
    let mut most = [1; 64];
    most[62..].copy_from_slice(&[2, 3]);
    assert_eq!(tensor().broadcast_to(&most).unwrap().shape(), most);
    let one = forged(&[1], &[7]).imported();
    let negative = Some(Error::NegativeDim { axis: 0, dim: -2 });
    assert_eq!(one.broadcast_to(&[-2_i64]).err(), negative);
    let storage = ImportedStorage::<[i32; 3]>::new(tensor()).unwrap();
    let repeated = storage.broadcast_to(&[2, 2]).unwrap();
    assert_eq!(repeated.imported().shape(), [2, 2, 3]);
    assert_eq!(
        tensor().broadcast_to(&[2, 2, 3]).unwrap().elements_mut::<i32>().err(),
        Some(Error::Overlapping)
    );
    let scalar = || forged(&[], &[7]).imported();
    assert_eq!(scalar().select(0, 0).err(), Some(Error::NoSuchAxis { axis: 0, ndim: 0 }));
    assert_eq!(scalar().permute(&[]).unwrap().elements::<i32>().unwrap().to_vec(), Ok(vec![7]));
    let one = forged(&[1], &[7]).strided(&[i64::MIN], 0).imported().reverse(0).unwrap();
    assert_eq!(one.select(0, 0).unwrap().elements::<i32>().unwrap().to_vec(), Ok(vec![7]));
}

/// L32: the strides of an empty tensor are not used, so they may have any value.
#[test]
fn views_of_empty_tensors_are_empty() {
    for device in [Device::CPU, Device::new(ffi::kDLOpenCL, 0)] {
        let empty = || {
            let case = forged(&[0, 3], &[]).strided(&[i64::MAX, i64::MIN], 4);
            Forged { device, ..case }.imported()
        };
        for view in [
            empty().select(1, 2),
            empty().narrow(0, ..),
            empty().narrow(1, 1..),
            empty().reverse(0),
            empty().reverse(1),
            empty().permute(&[1, 0]),
        ] {
            let view = view.unwrap();
            assert_eq!((view.numel(), view.byte_range()), (0, 0..0));
            assert_eq!(
                (view.data_ptr(), view.byte_offset()),
                (empty().data_ptr(), empty().byte_offset())
            );
            let again = ImportedStorage::from(view).into_dlpack().unwrap();
            assert_eq!(again.shape().iter().product::<i64>(), 0);
        }
        assert_eq!(
            empty().select(0, 0).err(),
            Some(Error::NoSuchIndex { axis: 0, index: 0, dim: 0 })
        );
    }
}

/// L32: two elements of 4 bits are in a byte.
#[test]
fn packed_elements_inside_of_a_byte_are_not_a_view() {
    let dtype = DataType::FLOAT4_E2M1FN;
    let packed = |flags| {
        let case = forged(&[2, 4], &[0, 1]);
        Forged { flags, dtype, ..case }.imported()
    };
    let inside = Some(Error::InsideByte { dtype });
    let half = || packed(Flags::NONE);
    assert_eq!(half().select(1, 1).err(), inside);
    assert_eq!(half().narrow(1, 1..).err(), inside);
    assert_eq!(half().reverse(1).err(), inside);
    assert_eq!(half().select(1, 2).unwrap().byte_range(), 0..3);
    assert_eq!(half().select(0, 1).unwrap().byte_range(), 0..2);
    assert_eq!(half().narrow(1, 2..3).unwrap().byte_range(), 0..3);
    assert_eq!(half().narrow(1, 1..1).unwrap().byte_range(), 0..0);
    assert_eq!(half().narrow(1, ..3).unwrap().reverse(1).unwrap().byte_range(), -1..3);
    let padded = packed(Flags::IS_SUBBYTE_TYPE_PADDED);
    assert_eq!(padded.reverse(1).unwrap().byte_range(), -3..5);
}

/// L32: the deleter runs when the last of the import and its views is dropped, on each path.
#[test]
fn the_last_view_releases_the_import() {
    fn check<M: Forge>() {
        let drops = Drops::new();
        let import = || forged(&[2, 3], &[0, 1, 2, 3, 4, 5]).import::<M>(&drops).1.unwrap();
        drop(import().select(0, 1).unwrap().reverse(0).unwrap());
        assert_eq!(drops.count(), 1);
        drop(import().select(0, 2));
        assert_eq!(drops.count(), 2);
        let storage = ImportedStorage::<i32>::new(import()).unwrap();
        let row = storage.select(0, 1).unwrap();
        let element = row.select(0, 2).unwrap();
        drop((storage, row));
        assert_eq!((drops.count(), element.elements().unwrap().to_vec()), (2, Ok(vec![5])));
        let exported = element.into_dlpack().unwrap();
        assert_eq!(drops.count(), 2);
        drop(exported);
        assert_eq!(drops.count(), 3);
    }
    check::<DLManagedTensorVersioned>();
    check::<DLManagedTensor>();
}

/// L32: a chain of views has one level, so its drop does not recurse.
#[test]
fn a_view_of_a_view_keeps_only_the_import() {
    let drops = Drops::new();
    let import = || forged(&[2], &[4, 5]).import::<DLManagedTensorVersioned>(&drops).1.unwrap();
    let count = if cfg!(miri) { 100 } else { 100_000 };
    let (mut tensor, mut storage) = (import(), ImportedStorage::<i32>::new(import()).unwrap());
    for _ in 0..count {
        tensor = tensor.reverse(0).unwrap();
        storage = storage.reverse(0).unwrap();
    }
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec(), Ok(vec![4, 5]));
    assert_eq!((storage.elements().unwrap().to_vec(), drops.count()), (Ok(vec![4, 5]), 0));
    drop((tensor, storage));
    assert_eq!(drops.count(), 2);
}

/// L32: exclusive memory is lent for writing to its only owner, be it a view or not.
#[test]
fn views_are_owners_of_exclusive_memory() {
    let own = || OwnedTensor::from_vec(vec![1, 2, 3]).into_dlpack().unwrap().import().unwrap();
    let mut part = own().narrow(0, 1..).unwrap();
    part.exclusive().unwrap().as_mut_slice::<i32>().unwrap()[0] = 9;
    assert_eq!(part.elements::<i32>().unwrap().to_vec(), Ok(vec![9, 3]));

    let mut whole = ImportedStorage::<i32>::new(own()).unwrap();
    let mut first = whole.narrow(0, ..2).unwrap();
    let mut second = first.narrow(0, 1..).unwrap();
    for storage in [&mut whole, &mut first, &mut second] {
        assert_eq!(storage.exclusive().err(), Some(Error::NotExclusive));
    }
    let first = first.into_tensor().unwrap_err();
    drop(whole);
    let mut first = first.into_tensor().unwrap_err();
    assert_eq!(first.exclusive().err(), Some(Error::NotExclusive));
    drop(first);
    second.exclusive().unwrap().as_mut_slice::<i32>().unwrap()[0] = 7;
    assert_eq!(second.into_tensor().unwrap().elements::<i32>().unwrap().to_vec(), Ok(vec![7]));
}

/// A view has the access, the flags and the version of its import.
#[test]
fn views_have_the_access_of_the_import() {
    let case = |flags| Forged { flags, ..forged(&[2], &[4, 5]) };
    let read_only = case(Flags::READ_ONLY | Flags::IS_COPIED).imported().narrow(0, 1..).unwrap();
    assert_eq!(read_only.flags(), Flags::READ_ONLY | Flags::IS_COPIED);
    assert!(read_only.is_read_only() && read_only.frozen().is_err());
    let mut writable = case(Flags::NONE).imported().narrow(0, 1..).unwrap();
    writable.elements_mut::<i32>().unwrap().fill(8);
    let legacy = case(Flags::NONE).import::<DLManagedTensor>(&Drops::new()).1.unwrap();
    let legacy = legacy.reverse(0).unwrap();
    assert!(legacy.is_read_only() && legacy.version().is_none());
    let shared = Owner::new(Arc::<[i32]>::from([1, 2, 3]), &[3]).to_dlpack().unwrap();
    let frozen = shared.import().unwrap().narrow(0, 1..).unwrap();
    assert_eq!(frozen.frozen().unwrap().as_slice::<i32>(), Ok(&[2, 3][..]));
}

/// The struct of a view describes the view, not the tensor of its source.
#[test]
fn the_struct_of_a_view_describes_the_view() {
    let drops = Drops::new();
    let import =
        || forged(&[2, 2], &[0, 1, 2, 3]).import::<DLManagedTensorVersioned>(&drops).1.unwrap();
    let column = import().select(1, 1).unwrap();
    let column = column.into_raw::<DLManagedTensor>().unwrap_err();
    let raw = column.into_raw::<DLManagedTensorVersioned>().unwrap();
    // SAFETY: 1. to 5. The struct is that of the view, and ours.
    let again = unsafe { ImportedTensor::from_raw(raw) }.unwrap();
    assert_eq!((again.shape(), again.strides()), (&[2][..], &[2][..]));
    assert_eq!(again.elements::<i32>().unwrap().to_vec(), Ok(vec![1, 3]));
    drop(again);
    assert_eq!(drops.count(), 1);
}

/// The axes of an element that is an array are not those of a storage of such elements.
#[test]
fn views_of_storages_keep_the_axes_of_elements() {
    let pixels = OwnedTensor::new((0..12_u8).collect(), &[2, 2, 3]).unwrap().into_dlpack().unwrap();
    let pixels = ImportedStorage::<[u8; 3]>::new(pixels.import().unwrap()).unwrap();
    assert_eq!(pixels.select(2, 0).err(), Some(Error::NoSuchAxis { axis: 2, ndim: 2 }));
    assert_eq!(pixels.reverse(2).err(), Some(Error::NoSuchAxis { axis: 2, ndim: 2 }));
    assert_eq!(pixels.permute(&[0, 2, 1]).err(), Some(Error::NoSuchAxis { axis: 2, ndim: 2 }));
    let columns = pixels.permute(&[1, 0]).unwrap();
    assert_eq!(columns.imported().shape(), [2, 2, 3]);
    let expected = vec![[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]];
    assert_eq!(columns.elements().unwrap().to_vec(), Ok(expected));
    let last = pixels.select(0, 1).unwrap().reverse(0).unwrap();
    assert_eq!(last.elements().unwrap().to_vec(), Ok(vec![[9, 10, 11], [6, 7, 8]]));
    assert_eq!(last.to_dlpack().unwrap().strides(), [-3, 1]);
}
