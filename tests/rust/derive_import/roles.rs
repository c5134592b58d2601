//! Each role gets its value from the tensor, and the export has the same metadata again.

use std::sync::Arc;

use dlpack_tests::counted::Drops;
use tensors::ffi::DLManagedTensorVersioned;
use tensors::strides::may_overlap;
use tensors::{
    DLPackExport, DLPackImport, DataType, Device, Error, Flags, ImportedStorage, ImportedTensor,
    Order, SharedBuffer, StreamArg,
};

use super::forge::{Forged, forged, import};
use super::{built, bytes, imported, refused, text};

/// Exports it, and compares the elements, addresses and positions that a consumer gets.
fn same_again<T: DLPackExport + DLPackImport + Send + 'static>(forged: &Forged) {
    let drops = Drops::new();
    let tensor = imported(forged, &drops);
    let (address, first) = (tensor.data_ptr().addr(), tensor.data_ptr());
    let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
    let range = tensor.byte_range();
    let value = T::from_dlpack(tensor).unwrap();
    let again: ImportedTensor = import(value.into_dlpack().unwrap());
    assert_eq!(again.data_ptr().addr(), address, "not a byte was moved");
    assert_eq!(again.data_ptr(), first);
    assert_eq!((again.shape(), again.strides()), (&shape[..], &strides[..]));
    assert_eq!((again.dtype(), again.device()), (forged.dtype, forged.device));
    assert_eq!(again.byte_range(), range);
    // Overlapping elements are never exported as writable.
    let overlap = may_overlap(&shape, &strides);
    assert_eq!(again.is_read_only(), forged.flags.contains(Flags::READ_ONLY) || overlap);
    assert_eq!(drops.count(), 0);
    drop(again);
    assert_eq!(drops.count(), 1, "the deleter ran once");
}

/// No attribute at all.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
}

/// The names that need none.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Strided {
    data: Arc<ImportedStorage<i32>>,
    shape: Vec<u16>,
    strides: Arc<[i64]>,
    byte_offset: usize,
    dtype: DataType,
    device: Device,
}

#[test]
fn fields_get_their_role_by_name() {
    same_again::<Image>(&bytes(&[2, 3]));
    same_again::<Image>(&Forged { flags: Flags::READ_ONLY, ..bytes(&[3, 2]) });
    same_again::<Image>(&bytes(&[0, 3]));
    let numbers = [0, 1, 2, 3, 4, 5];
    same_again::<Strided>(&forged(&[2, 3], &numbers));
    same_again::<Strided>(&forged(&[2, 3], &numbers).strided(&[1, 2], 0));
    same_again::<Strided>(&forged(&[2, 2], &numbers).strided(&[-3, -1], 20));
    same_again::<Strided>(&forged(&[], &[7]));
    same_again::<Strided>(&forged(&[3], &[7]).strided(&[0], 0));
    let strided: Strided = built(&forged(&[2, 2], &numbers).strided(&[-3, 1], 12)).unwrap();
    assert_eq!((&strided.shape[..], &strided.strides[..]), (&[2, 2][..], &[-3, 1][..]));
    assert_eq!((strided.byte_offset, strided.dtype), (12, DataType::I32));
    assert_eq!(strided.device, Device::CPU);
}

/// Numbers of their own, and constants.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, Self::COLUMNS, 1, rows))]
struct Listed {
    #[dlpack(data)]
    memory: ImportedStorage<u8>,
    rows: u8,
}

impl Listed {
    const COLUMNS: i8 = 3;
}

/// Numbers in units.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(height, width))]
struct Pitched {
    #[dlpack(data)]
    memory: Box<ImportedStorage<i32>>,
    height: u32,
    width: u32,
    #[dlpack(pitch(bytes))]
    row: i16,
    #[dlpack(offset(elements))]
    first: u64,
    #[dlpack(len(elements))]
    len: usize,
}

#[test]
fn listed_dimensions_are_imported() {
    same_again::<Listed>(&bytes(&[1, 3, 1, 1]));
    let pitched = forged(&[2, 2], &[0, 1, 2, 3, 4]).strided(&[3, 1], 0);
    same_again::<Pitched>(&pitched);
    let pitched: Pitched = built(&pitched).unwrap();
    assert_eq!((pitched.height, pitched.width, pitched.row), (2, 2, 12));
    assert_eq!((pitched.first, pitched.len), (0, 5));
    // With one row, the pitch between rows is arbitrary.
    let flat: Pitched = built(&forged(&[1, 2], &[0, 1]).strided(&[99, 1], 0)).unwrap();
    assert_eq!(flat.row, 8);
    let empty: Pitched = built(&forged(&[0, 2], &[]).strided(&[-1, 7], 0)).unwrap();
    assert_eq!((empty.row, empty.len), (8, 0));
    assert_eq!(empty.into_dlpack().unwrap().shape(), [0, 2]);
}

/// Whatever order the producer has, and a pitch.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Ordered {
    data: ImportedStorage<i32>,
    shape: [i64; 2],
    #[dlpack(order)]
    fastest: Order,
    #[dlpack(pitch(elements))]
    leading: usize,
    #[dlpack(len(bytes))]
    bytes: u8,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, order = column_major)]
struct ByColumns {
    data: ImportedStorage<i32>,
    shape: [i64; 2],
}

#[test]
fn orders_are_imported() {
    let numbers = [0, 1, 2, 3, 4, 5];
    for (strides, order, pitch) in [
        ([2, 1], Order::RowMajor, 2),
        ([1, 3], Order::ColumnMajor, 3),
        ([3, 1], Order::RowMajor, 3),
        ([1, 4], Order::ColumnMajor, 4),
    ] {
        let case = forged(&[2, 2], &numbers).strided(&strides, 0);
        same_again::<Ordered>(&case);
        let ordered: Ordered = built(&case).unwrap();
        assert_eq!((ordered.fastest, ordered.leading), (order, pitch), "{strides:?}");
        assert_eq!(usize::from(ordered.bytes), 4 * (pitch + 2));
    }
    same_again::<ByColumns>(&forged(&[2, 3], &numbers).strided(&[1, 2], 0));
}

/// As a C library has it.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Fixed {
    data: ImportedStorage<i32>,
    #[dlpack(ndim)]
    rank: u8,
    shape: [i32; 4],
    #[dlpack(strides(bytes))]
    steps: [i32; 4],
    #[dlpack(offset(bytes))]
    start: u32,
}

#[test]
fn arrays_of_a_fixed_capacity_are_imported() {
    same_again::<Fixed>(&forged(&[2, 3], &[0, 1, 2, 3, 4, 5]));
    let case = forged(&[2, 2], &[0, 1, 2, 3, 4, 5]).strided(&[-3, 2], 12);
    same_again::<Fixed>(&case);
    let fixed: Fixed = built(&case).unwrap();
    assert_eq!((fixed.rank, fixed.shape, fixed.steps), (2, [2, 2, 0, 0], [-12, 8, 0, 0]));
    assert_eq!(fixed.start, 12);
    same_again::<Fixed>(&forged(&[], &[1]));
}

/// The elements in memory of our own.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Copied<S: tensors::FromElements + tensors::Storage> {
    #[dlpack(copy)]
    data: S,
    shape: Vec<u32>,
}

/// Every storage that can be filled, and the elements that it then exports.
#[test]
fn copied_fields_are_imported() {
    fn copied<S: tensors::FromElements + tensors::Storage + Send + 'static>(
        forged: &Forged,
    ) -> Vec<i32> {
        let drops = Drops::new();
        let value = Copied::<S>::from_dlpack(imported(forged, &drops)).unwrap();
        assert_eq!(drops.count(), 1, "of a copied tensor nothing is kept");
        import(value.into_dlpack().unwrap()).elements::<i32>().unwrap().to_vec().unwrap()
    }
    let numbers = [0, 1, 2, 3, 4, 5];
    for (case, expected) in [
        (forged(&[2, 3], &numbers), [0, 1, 2, 3, 4, 5]),
        (forged(&[2, 3], &numbers).strided(&[1, 2], 0), [0, 2, 4, 1, 3, 5]),
        (forged(&[6], &numbers).strided(&[-1], 20), [5, 4, 3, 2, 1, 0]),
    ] {
        assert_eq!(copied::<Vec<i32>>(&case), expected);
        assert_eq!(copied::<Box<[i32]>>(&case), expected);
        assert_eq!(copied::<Arc<[i32]>>(&case), expected);
        assert_eq!(copied::<[i32; 6]>(&case), expected);
        assert_eq!(copied::<Box<[i32; 6]>>(&case), expected);
        assert_eq!(copied::<Arc<Vec<i32>>>(&case), expected);
        assert_eq!(copied::<SharedBuffer<i32>>(&case), expected);
    }
    let few = built::<Copied<[i32; 4]>>(&forged(&[6], &numbers));
    assert_eq!(text(few), "`Copied`: expected 4 elements, got 6");
    // Arrays of arrays, of a tensor whose last dimension is theirs.
    let rows = forged(&[3, 2], &numbers);
    assert_eq!(copied::<[[i32; 2]; 3]>(&rows), numbers);
    assert_eq!(copied::<Vec<[i32; 2]>>(&rows), numbers);
    assert_eq!(copied::<SharedBuffer<[i32; 2]>>(&rows), numbers);
    assert_eq!(copied::<Vec<[i32; 2]>>(&rows.strided(&[1, 3], 0)), [0, 3, 1, 4, 2, 5]);
    let few = built::<Copied<[[i32; 2]; 2]>>(&forged(&[3, 2], &numbers));
    assert_eq!(text(few), "`Copied`: expected 2 elements, got 3");
    assert!(built::<Copied<Vec<[i32; 2]>>>(&forged(&[2, 3], &numbers)).is_err());
}

/// As of a struct of the user that holds one of these.
#[test]
fn a_storage_takes_the_elements_of_a_vector() {
    use tensors::FromElements;

    fn taken<S: FromElements<Element = i32>>() -> S {
        S::from_elements(vec![1, 2, 3]).unwrap()
    }
    assert_eq!(taken::<Vec<i32>>(), [1, 2, 3]);
    assert_eq!(*taken::<Box<[i32]>>(), [1, 2, 3]);
    assert_eq!(*taken::<Arc<[i32]>>(), [1, 2, 3]);
    assert_eq!(taken::<[i32; 3]>(), [1, 2, 3]);
    assert_eq!(*taken::<Arc<[i32; 3]>>(), [1, 2, 3]);
    assert_eq!(*taken::<Box<Vec<i32>>>(), [1, 2, 3]);
    assert_eq!(taken::<SharedBuffer<i32>>().to_vec(), [1, 2, 3]);
    assert!(<[i32; 2]>::from_elements(vec![1, 2, 3]).is_err());
}

/// The metadata next to a copied field is that of the copy, not of the tensor.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Dense {
    #[dlpack(copy)]
    data: Vec<i32>,
    shape: [u8; 2],
    strides: [u8; 2],
    byte_offset: u8,
    device: Device,
    #[dlpack(len(bytes))]
    used: u8,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, order = column_major)]
struct DenseByColumns {
    #[dlpack(copy)]
    data: Vec<i32>,
    shape: [u8; 2],
    #[dlpack(pitch(elements))]
    leading: u8,
}

#[test]
fn copied_fields_get_the_layout_of_the_copy() {
    let case = Forged {
        device: Device::CUDA_HOST,
        ..forged(&[2, 3], &[0, 1, 2, 3, 4, 5]).strided(&[-1, 2], 4)
    };
    let dense: Dense = built(&case).unwrap();
    assert_eq!(dense.data, [1, 3, 5, 0, 2, 4]);
    assert_eq!((dense.shape, dense.strides, dense.byte_offset), ([2, 3], [3, 1], 0));
    assert_eq!((dense.device, dense.used), (Device::CPU, 24));
    let dense: DenseByColumns = built(&case).unwrap();
    assert_eq!((&dense.data[..], dense.leading), (&[1, 0, 3, 2, 5, 4][..], 2));
    let again = import(dense.into_dlpack().unwrap());
    assert_eq!(again.elements::<i32>().unwrap().to_vec().unwrap(), [1, 3, 5, 0, 2, 4]);
    // Elements that are not aligned, and those that may not be written.
    let mut odd = forged(&[2, 2], &[0, 1, 2, 3]).strided(&[1, 2], 0);
    odd.bytes.insert(0, 9);
    odd.data = Some(1);
    assert_eq!(built::<DenseByColumns>(&odd).unwrap().data, [0, 1, 2, 3]);
    odd.flags = Flags::READ_ONLY;
    assert_eq!(built::<DenseByColumns>(&odd).unwrap().data, [0, 1, 2, 3]);
}

/// Elements of a type that is known at run time.
#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
enum Kind {
    I32,
    U8,
    #[dlpack(dtype = FLOAT6_E2M3FN)]
    F6,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Chunk {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: Vec<u64>,
    dtype: Kind,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, dtype = FLOAT6_E2M3FN, padded)]
struct Padded {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: [u8; 1],
}

#[test]
fn bytes_of_any_dtype_are_imported() {
    let case = forged(&[2, 2], &[1, 2, 3, 4]).strided(&[1, 2], 0);
    let chunk: Chunk = built(&case).unwrap();
    assert_eq!(chunk.dtype, Kind::I32);
    assert_eq!(chunk.data, [1_i32, 3, 2, 4].map(i32::to_ne_bytes).concat());
    assert_eq!(built::<Chunk>(&bytes(&[6])).unwrap().data, [0, 1, 2, 3, 4, 5]);
    let error = text(built::<Chunk>(&Forged { dtype: DataType::F32, ..case.clone() }));
    assert_eq!(error, Error::NoVariant { dtype: DataType::F32 }.to_string());
    // Four numbers in three bytes.
    let packed = Forged { dtype: DataType::FLOAT6_E2M3FN, ..bytes(&[4]) };
    let chunk: Chunk = built(&packed).unwrap();
    assert_eq!((&chunk.data[..], chunk.dtype), (&[0, 1, 2][..], Kind::F6));
    let reversed = packed.clone().strided(&[-1], 3);
    assert!(refused::<Chunk>(&reversed).starts_with("`Chunk`: expected contiguous elements"));
    let padded = Forged { flags: Flags::IS_SUBBYTE_TYPE_PADDED, ..packed.clone() };
    assert_eq!(built::<Padded>(&padded).unwrap().data, [0, 1, 2, 3]);
    assert_eq!(
        text(built::<Padded>(&packed)),
        "`Padded`: expected elements that take a byte each, got elements that share bytes"
    );
    assert_eq!(
        text(built::<Chunk>(&padded)),
        "`Chunk`: expected elements that share bytes, got elements that take a byte each"
    );
    // The legacy struct has no flags, but elements.
    let (_, legacy) = case.import::<tensors::ffi::DLManagedTensor>(&Drops::new());
    assert_eq!(Chunk::from_dlpack(legacy.unwrap()).unwrap().shape, [2, 2]);
    let (_, versioned) = case.import::<DLManagedTensorVersioned>(&Drops::new());
    assert!(Chunk::from_dlpack(versioned.unwrap()).is_ok());
}

/// Any elements, anywhere.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Any {
    data: ImportedStorage,
    shape: Vec<i64>,
    strides: Vec<i64>,
    #[dlpack(offset(bytes))]
    first: u64,
    dtype: DataType,
    device: Device,
}

/// The same without an offset for elements before the first one.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct AnyCompact {
    data: ImportedStorage,
    shape: Vec<i64>,
}

#[test]
fn elements_of_any_dtype_and_device_are_imported() {
    let floats = forged(&[2, 2], &[0; 8]).strided(&[-3, 1], 12);
    let handle = Device::new(tensors::ffi::kDLVulkan, 2);
    for device in [Device::CPU, Device::cuda(1), Device::CUDA_HOST, handle] {
        for dtype in [DataType::F32, DataType::COMPLEX64, DataType::FLOAT4_E2M1FN] {
            let (shape, byte_offset) = if device == handle { ([2, 2], 64) } else { ([1, 2], 12) };
            let shape = Some(shape.to_vec());
            let case = Forged { shape, byte_offset, dtype, device, ..floats.clone() };
            let any: Any = built(&case).unwrap();
            assert_eq!((any.dtype, any.device), (dtype, device));
            // Pinned memory is passed on to this program, which reads it as it reads its own.
            let pinned = device == Device::CUDA_HOST;
            let on = if pinned { StreamArg::on_host() } else { StreamArg::unspecified() };
            let again = import(any.into_dlpack_on(on).unwrap());
            let before = imported(&case, &Drops::new());
            assert_eq!((again.dtype(), again.device()), (dtype, device));
            assert_eq!((again.shape(), again.strides()), (before.shape(), before.strides()));
            assert_eq!(again.byte_offset(), before.byte_offset());
        }
    }
    same_again::<Any>(&Forged { device: Device::cuda(0), ..floats });
    let packed = Forged { dtype: DataType::FLOAT6_E2M3FN, ..bytes(&[4]) };
    same_again::<AnyCompact>(&packed);
    let at_start = Forged { device: handle, ..bytes(&[6]) };
    same_again::<AnyCompact>(&at_start);
    let behind = Forged { byte_offset: 64, ..at_start };
    // The memory keeps the offset.
    same_again::<AnyCompact>(&behind);
    let again = built::<AnyCompact>(&behind).unwrap().into_dlpack().unwrap();
    assert_eq!(import(again).byte_offset(), 64);
    assert_eq!(built::<Any>(&behind).unwrap().first, 0);
}

/// Three bytes.
#[derive(Clone, Copy, Debug, PartialEq, tensors::Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Pixels {
    #[dlpack(copy)]
    data: Vec<Rgb>,
    shape: [usize; 2],
    strides: [usize; 2],
    #[dlpack(len(elements))]
    len: usize,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, order = column_major)]
struct PixelsByColumns {
    #[dlpack(copy)]
    data: [Rgb; 2],
    shape: [usize; 2],
    #[dlpack(pitch(bytes))]
    pitch: usize,
}

/// The axes of an element are none of the struct's.
#[test]
fn copied_pixels_are_imported() {
    let case = bytes(&[2, 1, 3]);
    let pixels: Pixels = built(&case).unwrap();
    assert_eq!(pixels.data, [Rgb([0, 1, 2]), Rgb([3, 4, 5])]);
    assert_eq!((pixels.shape, pixels.strides, pixels.len), ([2, 1], [1, 1], 2));
    assert_eq!(pixels.into_dlpack().unwrap().shape(), [2, 1, 3]);
    let planes: Pixels = built(&bytes(&[2, 1, 3]).strided(&[1, 1, 2], 0)).unwrap();
    assert_eq!(planes.data, [Rgb([0, 2, 4]), Rgb([1, 3, 5])]);
    let by_columns: PixelsByColumns = built(&bytes(&[1, 2, 3])).unwrap();
    assert_eq!(by_columns.data, [Rgb([0, 1, 2]), Rgb([3, 4, 5])]);
    assert_eq!((by_columns.shape, by_columns.pitch), ([1, 2], 3));
    let again = by_columns.into_dlpack().unwrap().import().unwrap();
    assert_eq!(again.elements::<Rgb>().unwrap().load(&[0, 1]), Ok(Rgb([3, 4, 5])));
    assert_eq!(
        super::refused::<Pixels>(&bytes(&[1, 3, 2])),
        "`Pixels`: expected [3] as the last dimensions, got others"
    );
    assert_eq!(super::refused::<Pixels>(&bytes(&[2, 3])), "`Pixels`: expected 2 dimensions, got 1");
}
