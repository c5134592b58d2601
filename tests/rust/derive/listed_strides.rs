//! Strides that are listed above the struct: fields, constants and methods.

#![forbid(unsafe_code)]

use dlpack_tests::foreign::{Farewell, ImportedStorage as Foreign};
use tensors::{
    AsLayout, DLPackExport, DLPackImport, Error, FromLayout, ImportError, ImportedStorage,
    ImportedTensor, MetadataField, MismatchKind, Order,
};

/// Windows that begin `hop` samples apart.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(frames, bins), strides(hop, 1))]
struct Spectrogram {
    data: Vec<f32>,
    frames: usize,
    bins: u16,
    hop: i32,
}

fn spectrogram(frames: usize, bins: u16, hop: i32) -> Spectrogram {
    Spectrogram { data: (0_u8..7).map(f32::from).collect(), frames, bins, hop }
}

#[test]
fn windows_that_overlap_are_exported_read_only() {
    for (hop, read_only) in [(2_u8, true), (3, false)] {
        let tensor = spectrogram(2, 3, hop.into()).into_dlpack().unwrap();
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[hop.into(), 1][..]));
        let foreign = Foreign::from(tensor);
        assert_eq!(foreign.is_writable(), !read_only, "hop {hop}");
        let second = f32::from(hop);
        let expected = [0.0, 1.0, 2.0, second, second + 1.0, second + 2.0];
        assert_eq!(foreign.elements::<f32>(), expected);
        foreign.delete(Farewell::Plain);
    }
}

#[test]
fn listed_strides_are_checked_against_the_storage() {
    let out = spectrogram(4, 3, 2).into_dlpack().unwrap_err();
    assert_eq!(out, Error::OutOfBounds { start: 0, end: 36, len: 28 });
    let before = spectrogram(2, 3, -2).into_dlpack().unwrap_err();
    assert_eq!(before, Error::OutOfBounds { start: -8, end: 12, len: 28 });
    assert!(spectrogram(1, 3, -2).tensor().is_ok(), "no element depends on the stride");
    assert_eq!(spectrogram(4, 3, 2).validate(), Err(out));
    assert_eq!(spectrogram(3, 3, 2).validate(), Ok(()));
}

/// Every kind of number, and a shape in a field.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, strides(wide, -2, Self::STEP, self.last()))]
struct Kinds<const N: isize, W> {
    data: Vec<u8>,
    shape: Vec<i64>,
    #[dlpack(offset(elements))]
    start: u8,
    wide: W,
}

impl<const N: isize, W> Kinds<N, W> {
    const STEP: isize = N;

    fn last(&self) -> u8 {
        self.start / 2
    }
}

#[test]
fn every_kind_of_number_is_a_stride() {
    let kinds = |shape: &[i64], wide| Kinds::<4, i128> {
        data: (0..16).collect(),
        shape: shape.to_vec(),
        start: 2,
        wide,
    };
    let tensor = kinds(&[2, 2, 1, 2], 8).into_dlpack().unwrap();
    assert_eq!(tensor.strides(), [8, -2, 4, 1]);
    let foreign = Foreign::from(tensor);
    assert_eq!(foreign.elements::<u8>(), [2, 3, 0, 1, 10, 11, 8, 9]);
    foreign.delete(Farewell::Plain);
    let large = kinds(&[2, 2, 1, 2], i128::MAX).into_dlpack().unwrap_err();
    assert_eq!(large, Error::StrideTooLarge { axis: 0 });
    let other_rank = kinds(&[2, 2], 8).into_dlpack().unwrap_err();
    assert_eq!(other_rank, Error::RankMismatch { shape: 2, strides: 4 });
}

/// Strides in bytes.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, 3), byte_strides(row_bytes, 4))]
struct InBytes<S = ImportedStorage<f32>> {
    data: S,
    rows: u8,
    row_bytes: u16,
}

/// As [`Spectrogram`], in memory of another library.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(frames, bins), strides(hop, 1))]
struct Imported {
    data: ImportedStorage<f32>,
    frames: usize,
    bins: usize,
    hop: usize,
}

/// A tensor with these strides.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Source {
    data: Vec<f32>,
    shape: [usize; 2],
    strides: [isize; 2],
    #[dlpack(offset(elements))]
    start: usize,
}

fn source(shape: [usize; 2], strides: [isize; 2]) -> ImportedTensor {
    strided((0_u8..24).map(f32::from).collect(), shape, strides)
}

fn strided(data: Vec<f32>, shape: [usize; 2], strides: [isize; 2]) -> ImportedTensor {
    let start = strides.into_iter().filter(|&stride| stride < 0).count() * 8;
    Source { data, shape, strides, start }.into_dlpack().unwrap().import().unwrap()
}

fn unmet<T: DLPackImport>(shape: [usize; 2], strides: [isize; 2]) -> MismatchKind {
    let accepted = T::accepts(&source(shape, strides)).map_err(|error| error.to_string());
    match T::from_dlpack(source(shape, strides)) {
        Err(ImportError::Mismatch(mismatch)) => {
            assert_eq!(accepted, Err(mismatch.to_string()));
            mismatch.unmet().clone()
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{strides:?} is imported"),
    }
}

#[test]
fn imports_fill_fields_and_compare_constants() {
    let imported = Imported::from_dlpack(source([3, 4], [2, 1])).unwrap();
    assert_eq!((imported.frames, imported.bins, imported.hop), (3, 4, 2));
    let again = imported.into_dlpack().unwrap();
    assert_eq!((again.shape(), again.strides()), (&[3, 4][..], &[2, 1][..]));
    assert!(again.is_read_only(), "rows overlap");

    let other = MismatchKind::Stride {
        axis: 1,
        needed: 1,
        found: 3,
        in_bytes: false,
        contiguous: Some(Order::RowMajor),
    };
    assert_eq!(unmet::<Imported>([3, 4], [1, 3]), other);
    let text = Imported::accepts(&source([3, 4], [1, 3])).unwrap_err().to_string();
    assert_eq!(text, "`Imported`: expected stride 1 to be 1, got 3");
    // A negative stride needs a field for the offset.
    assert_eq!(
        unmet::<Imported>([3, 4], [-4, 1]),
        MismatchKind::NothingBefore { axis: 0, stride: -4 }
    );
}

#[test]
fn a_stride_that_no_element_depends_on_is_not_compared() {
    let one = Imported::from_dlpack(source([3, 1], [2, 7])).unwrap();
    assert_eq!((one.bins, one.hop), (1, 2));
    assert_eq!(one.tensor().unwrap().strides(), [2, 1]);
    let empty = Imported::from_dlpack(source([0, 4], [2, 7])).unwrap();
    assert_eq!((empty.frames, empty.bins), (0, 4));
    assert_eq!(empty.tensor().unwrap().shape(), [0, 4]);
}

/// Columns in the memory of another library.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, columns), strides(1, leading))]
struct HeldByColumns {
    data: ImportedStorage<f32>,
    rows: usize,
    columns: usize,
    leading: usize,
}

/// Strides in one field, which holds no negative number.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct InOneField {
    data: ImportedStorage<f32>,
    shape: [usize; 2],
    strides: [usize; 2],
}

#[test]
fn a_stride_that_no_element_depends_on_is_that_of_a_contiguous_tensor() {
    for stride in [-4, 0, isize::MAX] {
        let row = Imported::from_dlpack(source([1, 4], [stride, 1])).unwrap();
        assert_eq!(row.hop, 4, "{stride}");
        assert_eq!(row.tensor().unwrap().strides(), [4, 1]);
        let empty = Imported::from_dlpack(source([0, 4], [stride, 1])).unwrap();
        assert_eq!(empty.hop, 4, "{stride}");
        let empty = Imported::from_dlpack(source([3, 0], [stride, 1])).unwrap();
        assert_eq!(empty.hop, 1, "{stride}");
        let column = HeldByColumns::from_dlpack(source([4, 1], [1, stride])).unwrap();
        assert_eq!(column.leading, 4, "the leading dimension of a column, from {stride}");
        let bytes = InBytes::<ImportedStorage<f32>>::from_dlpack(source([1, 3], [stride, 1]));
        assert_eq!(bytes.unwrap().row_bytes, 12, "{stride}");
    }
    let listed = InOneField::from_dlpack(source([1, 4], [-4, 1])).unwrap();
    assert_eq!(listed.strides, [4, 1]);
}

/// Elements that may share bytes.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(n), byte_strides(0))]
struct OneByte {
    data: ImportedStorage,
    n: usize,
}

/// A copy of them.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, dtype = FLOAT4_E2M1FN, shape(n), byte_strides(0))]
struct CopiedOneByte {
    #[dlpack(copy)]
    data: Vec<u8>,
    n: usize,
}

#[test]
fn a_stride_inside_a_byte_equals_no_number_of_bytes() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors, dtype = FLOAT4_E2M1FN)]
    struct Packed {
        data: Vec<u8>,
        shape: [usize; 1],
    }
    let packed = |n: usize| {
        let own = Packed { data: vec![0x21; n / 2], shape: [n] };
        own.into_dlpack().unwrap().import().unwrap()
    };
    let text = "expected elements that take a byte each, got elements that share bytes";
    let error = OneByte::from_dlpack(packed(4)).err().unwrap();
    assert_eq!(error.to_string(), format!("`OneByte`: {text}"));
    let error = CopiedOneByte::from_dlpack(packed(4)).err().unwrap();
    assert_eq!(error.to_string(), format!("`CopiedOneByte`: {text}"));
}

#[test]
fn an_order_is_offered_if_all_constants_agree_with_it() {
    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, strides(1, 1))]
    struct Ones {
        data: ImportedStorage<f32>,
        shape: Vec<usize>,
    }
    let contiguous = |kind| match kind {
        MismatchKind::Stride { axis, contiguous, .. } => (axis, contiguous),
        other => panic!("{other:?}"),
    };
    // Column-major strides are 1 and 3, row-major ones 4 and 1.
    assert_eq!(contiguous(unmet::<Ones>([3, 4], [4, 1])), (0, None));
    // Those of a single column are 1 and 1 in row-major order.
    assert_eq!(contiguous(unmet::<Ones>([3, 1], [2, 1])), (0, Some(Order::RowMajor)));
}

#[test]
fn one_byte_is_in_the_singular() {
    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, shape(n), byte_strides(1))]
    struct Bytes {
        data: ImportedStorage<u8>,
        n: usize,
    }
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct EverySecond {
        data: Vec<u8>,
        shape: [usize; 1],
        strides: [usize; 1],
    }
    let two = EverySecond { data: vec![0; 3], shape: [2], strides: [2] };
    let error = Bytes::from_dlpack(two.into_dlpack().unwrap().import().unwrap()).err().unwrap();
    assert_eq!(error.to_string(), "`Bytes`: expected stride 0 to be 1 byte, got 2");
}

#[test]
fn strides_in_bytes_are_exported_and_imported() {
    let own = InBytes { data: vec![0.0_f32; 8], rows: 2, row_bytes: 16 };
    assert_eq!(own.tensor().unwrap().strides(), [4, 1]);
    let own = InBytes { row_bytes: 15, ..own };
    assert_eq!(own.tensor().unwrap_err(), Error::StrideNotWhole { axis: 0, bytes: 15 });

    let imported = InBytes::<ImportedStorage<f32>>::from_dlpack(source([2, 3], [5, 1])).unwrap();
    assert_eq!((imported.rows, imported.row_bytes), (2, 20));
    assert_eq!(imported.tensor().unwrap().strides(), [5, 1]);
    let other = MismatchKind::Stride {
        axis: 1,
        needed: 4,
        found: 8,
        in_bytes: true,
        contiguous: Some(Order::RowMajor),
    };
    assert_eq!(unmet::<InBytes>([2, 3], [6, 2]), other);
    let text = InBytes::<ImportedStorage<f32>>::accepts(&source([2, 3], [6, 2])).unwrap_err();
    assert_eq!(text.to_string(), "`InBytes`: expected stride 1 to be 4 bytes, got 8");
    // 4 * 16384 bytes do not fit in the field.
    let long = strided(vec![0.0; 16_387], [2, 3], [16_384, 1]);
    let Err(ImportError::Mismatch(mismatch)) = InBytes::<ImportedStorage<f32>>::from_dlpack(long)
    else {
        panic!("the stride does not fit");
    };
    let number = MetadataField::Stride(0);
    assert_eq!(*mismatch.unmet(), MismatchKind::Fit { number, found: 65_536, int: "u16" });
}

/// A copy, whose strides the struct describes.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, columns), strides(row, 1))]
struct CopiedByRows {
    #[dlpack(copy)]
    data: Vec<f32>,
    rows: usize,
    columns: usize,
    row: usize,
}

/// A copy in column-major order, because the first stride is 1.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, columns), strides(1, leading))]
struct CopiedByColumns {
    #[dlpack(copy)]
    data: Vec<f32>,
    rows: usize,
    columns: usize,
    leading: usize,
}

/// A constant that a copy has for some shapes only.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, strides(4, 1))]
struct CopiedFours {
    #[dlpack(copy)]
    data: Vec<f32>,
    shape: Vec<usize>,
}

#[test]
fn a_copy_has_the_strides_that_the_struct_states() {
    let by_rows = CopiedByRows::from_dlpack(source([2, 3], [1, 2])).unwrap();
    assert_eq!((by_rows.row, &by_rows.data[..]), (3, &[0.0, 2.0, 4.0, 1.0, 3.0, 5.0][..]));
    assert_eq!(by_rows.tensor().unwrap().strides(), [3, 1]);
    let by_columns = CopiedByColumns::from_dlpack(source([2, 3], [3, 1])).unwrap();
    let columns = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    assert_eq!((by_columns.leading, &by_columns.data[..]), (2, &columns[..]));
    assert_eq!(by_columns.tensor().unwrap().strides(), [1, 2]);
    assert!(CopiedFours::from_dlpack(source([3, 4], [1, 3])).is_ok());
    let other =
        MismatchKind::Stride { axis: 0, needed: 4, found: 3, in_bytes: false, contiguous: None };
    assert_eq!(unmet::<CopiedFours>([3, 3], [1, 3]), other);
}

const ONE: usize = 1;
const FOUR: i8 = 4;

/// Copies in column-major order, which constants of each kind state.
macro_rules! copied_by_columns {
    ($name:ident, $shape:tt, $list:ident($($strides:tt)*), $($leading:ident)?) => {{
        #[derive(DLPackExport, DLPackImport)]
        #[dlpack(crate = ::tensors, shape $shape, $list($($strides)*))]
        struct $name {
            #[dlpack(copy)]
            data: Vec<f32>,
            columns: usize,
            $($leading: usize,)?
        }

        let copy = $name::from_dlpack(source([4, 2], [2, 1])).unwrap();
        assert_eq!(copy.data, [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]);
        assert_eq!(copy.columns, 2);
        assert_eq!(copy.tensor().unwrap().strides(), [1, 4]);
        unmet::<$name>([3, 2], [2, 1])
    }};
}

#[test]
fn constants_state_the_order_of_a_copy() {
    let rows = MismatchKind::Dimension { axis: 0, needed: 4, found: 3 };
    assert_eq!(copied_by_columns!(Literals, (4, columns), strides(1, 4),), rows);
    assert_eq!(copied_by_columns!(Mixed, (4, columns), strides(1, self::FOUR),), rows);
    assert_eq!(copied_by_columns!(Paths, (4, columns), strides(self::ONE, self::FOUR),), rows);
    assert_eq!(copied_by_columns!(Path, (4, columns), strides(self::ONE, leading), leading), rows);
    assert_eq!(copied_by_columns!(Bytes, (4, columns), byte_strides(4, 16),), rows);
    assert_eq!(copied_by_columns!(Field, (4, columns), byte_strides(4, leading), leading), rows);
}

#[test]
fn a_copy_with_other_strides_than_the_constants_has_no_advice() {
    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, strides(3, 1))]
    struct Threes {
        #[dlpack(copy)]
        data: Vec<f32>,
        shape: [usize; 2],
    }
    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors, strides(row, 3))]
    struct Swapped {
        #[dlpack(copy)]
        data: Vec<f32>,
        shape: [usize; 2],
        row: usize,
    }
    assert!(Threes::from_dlpack(source([2, 3], [1, 2])).is_ok(), "the copy is row-major");
    let other =
        MismatchKind::Stride { axis: 1, needed: 3, found: 1, in_bytes: false, contiguous: None };
    assert_eq!(unmet::<Swapped>([3, 2], [2, 1]), other);
}

#[test]
fn the_least_integer_is_a_stride() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors, shape(1, 2), strides(-9223372036854775808, 1))]
    struct Least {
        data: Vec<f32>,
    }
    let tensor = Least { data: vec![0.0; 2] }.into_dlpack().unwrap();
    assert_eq!(tensor.strides(), [i64::MIN, 1]);
}

#[test]
fn as_many_dimensions_as_strides_are_exported() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors, strides(2, 1))]
    struct Ranked {
        data: Vec<f32>,
        shape: [usize; 3],
        #[dlpack(ndim)]
        rank: usize,
    }
    let ranked = |rank| Ranked { data: vec![0.0; 4], shape: [2, 2, 1], rank };
    assert_eq!(ranked(2).tensor().unwrap().strides(), [2, 1]);
    for rank in [1, 3] {
        let error = ranked(rank).tensor().unwrap_err();
        assert_eq!(error, Error::RankMismatch { shape: rank, strides: 2 });
    }
}

#[test]
fn as_many_dimensions_as_strides_are_imported() {
    #[derive(DLPackExport)]
    #[dlpack(crate = ::tensors)]
    struct Flat {
        data: Vec<f32>,
        shape: [usize; 1],
    }
    let flat = Flat { data: vec![0.0; 4], shape: [4] }.into_dlpack().unwrap().import().unwrap();
    let error = CopiedFours::from_dlpack(flat).err().unwrap();
    assert_eq!(error.to_string(), "`CopiedFours`: expected 2 dimensions, got 1");
}

/// The same as a part of a struct.
#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors, shape(rows, columns), strides(1, leading))]
struct ByColumns {
    rows: usize,
    columns: usize,
    leading: usize,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Nested {
    data: ImportedStorage<f32>,
    #[dlpack(layout)]
    layout: ByColumns,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct NestedCopy {
    #[dlpack(copy)]
    data: Vec<f32>,
    #[dlpack(layout)]
    layout: ByColumns,
}

#[test]
fn a_separate_layout_lists_strides_too() {
    let nested = Nested::from_dlpack(source([2, 3], [1, 4])).unwrap();
    assert_eq!((nested.layout.rows, nested.layout.columns, nested.layout.leading), (2, 3, 4));
    assert_eq!(nested.tensor().unwrap().strides(), [1, 4]);
    let kind = unmet::<Nested>([2, 3], [3, 1]);
    let order = Some(Order::ColumnMajor);
    assert!(
        matches!(kind, MismatchKind::Stride { axis: 0, contiguous, .. } if contiguous == order)
    );
    let copy = NestedCopy::from_dlpack(source([2, 3], [3, 1])).unwrap();
    assert_eq!((copy.layout.leading, copy.data), (2, vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
}
