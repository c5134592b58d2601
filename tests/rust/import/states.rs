//! Access to elements: shared, frozen and exclusive ones, and imported memory as a
//! storage.

use dlpack_tests::counted::{Drops, Owner};
use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use tensors::ffi::{DLDataTypeCode, DLManagedTensor, DLManagedTensorVersioned};
use tensors::{
    DLPackExport, DataType, Device, Error, Flags, ImportedStorage, ImportedTensor, SharedBuffer,
    Version,
};

use crate::import::forge::{self, Forged, alone, forged};

/// Returns six numbers that a producer flags as copied.
fn copied(shape: &[i64]) -> Forged {
    Forged { flags: Flags::IS_COPIED, ..forged(shape, &[0, 1, 2, 3, 4, 5]) }
}

/// A12: misaligned elements are read byte by byte, and are not a slice.
#[test]
fn misaligned_elements_are_read_but_not_sliced() {
    let mut case = copied(&[2]);
    case.bytes.splice(0..0, [9]);
    for (data, byte_offset) in [(0, 1), (1, 0)] {
        (case.data, case.byte_offset) = (Some(data), byte_offset);
        let mut tensor = case.imported();
        let elements = tensor.elements::<i32>().unwrap();
        assert_eq!(elements.to_vec().unwrap(), [0, 1]);
        assert_eq!(elements.load(&[1]), Ok(1));
        let error = Error::Misaligned { dtype: DataType::I32, align: 4 };
        assert_eq!(alone(&mut tensor).as_mut_slice::<i32>(), Err(error));
        // SAFETY: 1. No one writes to the elements.
        assert_eq!(unsafe { tensor.assume_frozen() }.as_slice::<i32>(), Err(error));
        assert_eq!(ImportedStorage::<i32>::new(tensor).map(|_| ()), Err(error));
    }
}

/// A14: a byte that is neither 0 nor 1 never becomes a `bool`.
#[test]
fn bools_are_checked() {
    let mut case = forged(&[3], &[]);
    (case.dtype, case.bytes) = (DataType::BOOL, vec![0, 1, 1]);
    let tensor = case.imported();
    assert_eq!(tensor.elements::<bool>().unwrap().to_vec().unwrap(), [false, true, true]);
    // SAFETY: 1. No one writes to the elements.
    assert_eq!(unsafe { tensor.assume_frozen() }.as_slice(), Ok(&[false, true, true][..]));
    case.bytes[1] = 2;
    let tensor = case.imported();
    let error = Error::InvalidBits { dtype: DataType::BOOL };
    let elements = tensor.elements::<bool>().unwrap();
    assert_eq!(elements.load(&[0]), Ok(false));
    assert_eq!(elements.load(&[1]), Err(error));
    assert_eq!(elements.to_vec(), Err(error));
    assert_eq!(elements.try_iter().collect::<Vec<_>>(), [Ok(false), Err(error), Ok(true)]);
    // SAFETY: 1. No one writes to the elements.
    assert_eq!(unsafe { tensor.assume_frozen() }.as_slice::<bool>(), Err(error));
}

/// F2: elements are read with their declared type only.
#[test]
fn other_element_types_are_refused() {
    let tensor = copied(&[6]).imported();
    let error = |requested| Error::ElementMismatch { requested, found: DataType::I32 };
    assert_eq!(tensor.elements::<f32>().map(|_| ()), Err(error(DataType::F32)));
    assert_eq!(tensor.elements::<u8>().map(|_| ()), Err(error(DataType::U8)));
    // SAFETY: 1. No one writes to the elements.
    let frozen = unsafe { tensor.assume_frozen() };
    assert_eq!(frozen.as_slice::<u32>(), Err(error(DataType::U32)));
    assert_eq!(frozen.as_slice::<i32>(), Ok(&[0, 1, 2, 3, 4, 5][..]));
    assert_eq!(frozen.tensor().shape(), [6]);
}

/// A2: a copy of our own can be written without `unsafe`, and outlives the tensor.
#[test]
fn exclusive_elements_are_written() {
    let drops = Drops::new();
    let (_, taken) = copied(&[2, 3]).import::<DLManagedTensorVersioned>(&drops);
    let foreign = taken.unwrap();
    let mut tensor = foreign.to_own_copy().unwrap();
    drop(foreign);
    assert_eq!(drops.count(), 1);
    let mut exclusive = tensor.exclusive().unwrap();
    exclusive.as_mut_slice::<i32>().unwrap()[4] = 40;
    assert_eq!(exclusive.as_slice::<i32>().unwrap(), [0, 1, 2, 3, 40, 5]);
    assert_eq!(exclusive.tensor().shape(), [2, 3]);
    assert_eq!(tensor.elements::<i32>().unwrap().load(&[1, 1]), Ok(40));
    tensor.exclusive().unwrap().into_mut_slice::<i32>().unwrap().fill(1);
    assert_eq!(tensor.elements::<i32>().unwrap().iter().sum::<i32>(), 6);
    assert_eq!((tensor.flags(), tensor.device()), (Flags::IS_COPIED, Device::CPU));
}

/// A2: the flag of another library is a statement, and only the caller can rely on it.
#[test]
fn the_is_copied_flag_alone_is_not_exclusive() {
    let mut tensor = copied(&[2, 3]).imported();
    assert_eq!(tensor.flags(), Flags::IS_COPIED);
    assert_eq!(tensor.exclusive().map(drop), Err(Error::NotExclusive));
    let mut foreign = ImportedStorage::<i32>::new(tensor).unwrap();
    assert_eq!(foreign.exclusive().map(drop), Err(Error::NotExclusive));
    let mut tensor = foreign.into_tensor().unwrap();
    // SAFETY: 1. The memory has no other owner.
    assert!(unsafe { tensor.assume_exclusive() }.is_ok());
}

/// Every layout is copied, in the order in which rows or columns lie in memory.
#[test]
fn own_copies_are_exclusive() {
    for (shape, strides, byte_offset, expected, columns) in [
        (&[2, 3][..], &[3, 1][..], 0, &[0, 1, 2, 3, 4, 5][..], false),
        (&[2, 3], &[1, 2], 0, &[0, 2, 4, 1, 3, 5], true),
        (&[2, 2], &[1, 2], 8, &[2, 4, 3, 5], true),
        (&[2, 2], &[1, 4], 0, &[0, 4, 1, 5], true),
        (&[3], &[-2], 20, &[5, 3, 1], false),
        (&[2, 3], &[-1, -2], 20, &[5, 3, 1, 4, 2, 0], true),
        (&[2, 3], &[0, 1], 0, &[0, 1, 2, 0, 1, 2], false),
        (&[2, 3], &[1, 0], 4, &[1, 1, 1, 2, 2, 2], false),
        (&[], &[], 8, &[2], false),
        (&[0, 3], &[1, 5], 0, &[], false),
        (&[1, 1, 2, 1, 1, 1, 1, 1, 3], &[9, 9, 1, 9, 9, 9, 9, 9, 2], 0, &[0, 2, 4, 1, 3, 5], true),
    ] {
        let all = [Flags::NONE, Flags::READ_ONLY, Flags::IS_COPIED];
        for &flags in if cfg!(miri) { &all[1..2] } else { &all[..] } {
            let case = forged(shape, &[0, 1, 2, 3, 4, 5]).strided(strides, byte_offset);
            for bytes_before in [0, 1] {
                let mut case = Forged { flags, ..case.clone() };
                case.bytes.splice(0..0, vec![9; bytes_before]);
                case.data = Some(bytes_before);
                let (_, legacy) = case.import::<DLManagedTensor>(&Drops::new());
                for tensor in [case.imported(), legacy.unwrap()] {
                    let mut copy = tensor.to_own_copy().unwrap();
                    drop(tensor);
                    assert_eq!(copy.shape(), shape);
                    assert!(if columns { copy.is_column_major() } else { copy.is_row_major() });
                    assert_eq!(copy.elements::<i32>().unwrap().to_vec().unwrap(), expected);
                    assert_eq!(copy.data_ptr().addr() % 64, 0);
                    assert!(!copy.is_read_only());
                    let mut exclusive = copy.exclusive().unwrap();
                    let elements = exclusive.elements_mut::<i32>().unwrap();
                    assert_eq!(elements.map(|element| *element).collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}

/// A copy of memory that the processor cannot read is refused, and a copy of pinned
/// memory is not pinned.
#[test]
fn own_copies_are_in_host_memory() {
    let on = |device| Forged { device, ..forged(&[2], &[1, 2]) }.imported().to_own_copy();
    let device = Device::cuda(0);
    assert_eq!(on(device).map(drop), Err(Error::NotOnHost { device }));
    let copy = on(Device::CUDA_HOST).unwrap();
    assert_eq!(copy.device(), Device::CPU);
    assert_eq!(copy.elements::<i32>().unwrap().to_vec().unwrap(), [1, 2]);
}

/// Elements of other types than a Rust type's, too.
#[test]
fn own_copies_of_odd_elements_are_exclusive() {
    let mut case = forged(&[5], &[]);
    (case.dtype, case.bytes) = (DataType::FLOAT4_E2M1FN, vec![0x21, 0x43, 0x05]);
    let copy = case.imported().to_own_copy().unwrap();
    // SAFETY: 1. No one writes to the elements.
    assert_eq!(unsafe { copy.assume_frozen() }.as_bytes(), Ok(&[0x21, 0x43, 0x05][..]));
    let error = Error::PackedStrides { dtype: case.dtype };
    assert_eq!(case.strided(&[-1], 2).imported().to_own_copy().map(drop), Err(error));
    let mut case = forged(&[2, 2], &[]).strided(&[1, 2], 0);
    case.flags = Flags::IS_SUBBYTE_TYPE_PADDED;
    (case.dtype, case.bytes) = (DataType::FLOAT4_E2M1FN, vec![1, 2, 3, 4]);
    let copy = case.imported().to_own_copy().unwrap();
    assert!(copy.is_column_major());
    assert_eq!(copy.flags(), Flags::IS_COPIED | Flags::IS_SUBBYTE_TYPE_PADDED);
    assert_eq!(copy.raw_bits().unwrap().iter().collect::<Vec<_>>(), [1, 3, 2, 4]);
    let dtype = DataType::new(DLDataTypeCode(99), 8, 1);
    let later = Forged { dtype, version: Version::new(1, 9), ..forged(&[4], &[0]) };
    assert_eq!(later.imported().to_own_copy().map(drop), Err(Error::UnsupportedDType { dtype }));
}

/// Returns whether a tensor is exclusive by the caller's promise.
fn assumed(case: &Forged) -> Result<(), Error> {
    let mut tensor = case.imported();
    // SAFETY: the memory has no other owner.
    unsafe { tensor.assume_exclusive() }.map(|_| ())
}

#[test]
fn memory_that_may_be_shared_is_not_exclusive() {
    let no = |mut tensor: ImportedTensor| tensor.exclusive().map(|_| ()).unwrap_err();
    // A1: others may hold it.
    assert_eq!(no(forged(&[1], &[1]).imported()), Error::NotExclusive);
    let shared = SharedBuffer::from_slice(&[1_i32]).unwrap();
    let shared = Owner::new(shared, &[1]).to_dlpack().unwrap();
    assert_eq!(no(forge::import(shared)), Error::NotExclusive);
    // A3: read-only, whatever the other flags are.
    let read_only = Forged { flags: Flags::IS_COPIED | Flags::READ_ONLY, ..copied(&[1]) };
    assert_eq!(assumed(&read_only), Err(Error::ReadOnly));
    // A10: two indices, one element.
    for (shape, strides) in [(&[4, 2][..], &[0, 1][..]), (&[2, 2], &[1, 1]), (&[3, 2], &[1, 2])] {
        let overlapping = copied(shape).strided(strides, 0);
        assert_eq!(assumed(&overlapping), Err(Error::Overlapping));
    }
}

/// A11: non-contiguous elements are not a slice.
#[test]
fn non_contiguous_elements_are_not_sliced() {
    for (shape, strides, byte_offset) in
        [(&[6][..], &[-1][..], 20), (&[3], &[2], 0), (&[3, 2], &[1, 3], 0)]
    {
        let mut tensor = copied(shape).strided(strides, byte_offset).imported();
        assert_eq!(tensor.is_column_major(), shape == [3, 2]);
        let mut exclusive = alone(&mut tensor);
        assert_eq!(exclusive.as_mut_slice::<i32>(), Err(Error::NotContiguous));
        assert_eq!(exclusive.as_slice::<i32>(), Err(Error::NotContiguous));
    }
    assert_eq!(assumed(&forged(&[2], &[1, 2])), Ok(()));
}

/// Imported memory is exported again as it is, and lives as long as any owner.
#[test]
fn imported_memory_is_exported_again() {
    for (flags, strides, byte_offset) in [
        (Flags::NONE, &[3, 1][..], 0),
        (Flags::READ_ONLY, &[-3, 1], 12),
        (Flags::IS_COPIED, &[1, 2], 0),
    ] {
        let drops = Drops::new();
        let case = Forged { flags, ..copied(&[2, 3]).strided(strides, byte_offset) };
        let (_, taken) = case.import::<DLManagedTensorVersioned>(&drops);
        let tensor = taken.unwrap();
        let (address, elements) =
            (tensor.data_ptr(), tensor.elements::<i32>().unwrap().to_vec().unwrap());
        let foreign = ImportedStorage::<i32>::new(tensor).unwrap();
        let read_only = flags.contains(Flags::READ_ONLY);
        assert_eq!(foreign.clone().into_dlpack_legacy().is_err(), read_only);
        let shared = Consumer::from(foreign.to_dlpack().unwrap());
        let moved = Consumer::from(foreign.clone().into_dlpack().unwrap());
        for export in [&shared, &moved] {
            assert_eq!(export.data().cast_const(), address);
            assert_eq!(export.strides(), strides);
            assert_eq!(export.elements::<i32>(), elements);
            assert_eq!(export.is_writable(), !read_only);
            assert!(!export.is_copied(), "there are several owners now");
        }
        if !read_only {
            shared.write(|n: i32| n + 10);
            assert_eq!(foreign.imported().elements::<i32>().unwrap().load(&[0, 0]), Ok(10));
        }
        let copy = forge::import(foreign.copy_to_dlpack().unwrap());
        assert_eq!(copy.flags(), Flags::IS_COPIED);
        assert_eq!(copy.elements::<i32>().unwrap().to_vec().unwrap(), moved.elements::<i32>());
        drop(foreign);
        shared.delete(Farewell::Narrow);
        assert_eq!(drops.count(), 0);
        moved.delete_elsewhere(Farewell::Plain);
        assert_eq!(drops.count(), 1);
    }
}

/// It is a field like any other.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Image {
    data: ImportedStorage<i32>,
    shape: [usize; 2],
}

#[test]
fn imported_memory_is_a_field() {
    let data = ImportedStorage::new(copied(&[6]).imported()).unwrap();
    let image = Image { data, shape: [3, 2] };
    let again = forge::import(image.to_dlpack().unwrap());
    assert_eq!(again.elements::<i32>().unwrap().load(&[2, 1]), Ok(5));
    let image = Image { shape: [4, 2], ..image };
    assert!(matches!(image.into_dlpack(), Err(Error::OutOfBounds { len: 24, .. })));
}

#[test]
fn empty_imported_memory_is_a_field() {
    let empty = ImportedStorage::<i32>::new(forged(&[0, 2], &[]).imported()).unwrap();
    let again = forge::import(empty.to_dlpack().unwrap());
    assert_eq!((again.shape(), again.numel()), (&[0, 2][..], 0));
    let error = Error::ElementMismatch { requested: DataType::F32, found: DataType::I32 };
    let drops = Drops::new();
    let (_, taken) = forged(&[1], &[1]).import::<DLManagedTensor>(&drops);
    assert_eq!(ImportedStorage::<f32>::new(taken.unwrap()).map(|_| ()), Err(error));
    assert_eq!(drops.count(), 1);
}
