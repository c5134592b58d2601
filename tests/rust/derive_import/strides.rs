//! Structs without fields for strides: the data keeps the strides of the tensor.

use std::collections::HashSet;
use std::sync::Arc;

use tensors::{
    DLPackExport, DLPackImport, DataRef, DataType, Error, ImportStorage, ImportedStorage,
    ImportedTensor, Layout, MismatchKind, Order, Slot, Storage, TensorView,
};

use super::forge::{Forged, forged, import};
use super::{built, bytes, refused};

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Matrix<S = ImportedStorage<i32>> {
    data: S,
    shape: [usize; 2],
}

/// As [`Matrix`], with a list of dimensions that contains a constant.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, 2))]
struct Pairs {
    data: Box<ImportedStorage<i32>>,
    rows: u8,
}

/// As [`Matrix`], with room for more dimensions, and for elements of any type.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Any {
    data: Arc<ImportedStorage>,
    shape: [i64; 4],
    #[dlpack(ndim)]
    rank: usize,
    dtype: DataType,
}

/// Matrices of three rows and two columns, in memory of eight numbers.
fn layouts() -> Vec<Forged> {
    let matrix = forged(&[3, 2], &[0, 1, 2, 3, 4, 5, 6, 7]);
    vec![
        matrix.clone(),
        matrix.clone().strided(&[1, 3], 0),
        matrix.clone().strided(&[2, 2], 0),
        matrix.clone().strided(&[-2, 1], 16),
        matrix.clone().strided(&[-3, -1], 28),
        matrix.clone().strided(&[0, 1], 4),
        matrix.strided(&[0, 0], 8),
    ]
}

fn elements(tensor: &ImportedTensor) -> Vec<i32> {
    tensor.elements::<i32>().unwrap().to_vec().unwrap()
}

/// Checks that every kind of export names the elements of the tensor that was imported.
fn is_unchanged<T: DLPackImport + DLPackExport + Send + 'static>(case: &Forged) {
    let expected = case.imported();
    let value: T = built(case).unwrap();
    let view = value.tensor().unwrap();
    assert_eq!((view.shape(), view.strides()), (expected.shape(), expected.strides()));
    assert_eq!(elements(&import(value.copy_to_dlpack().unwrap())), elements(&expected));
    let exports = [value.to_dlpack().unwrap(), value.into_dlpack().unwrap()];
    for again in exports.map(import) {
        assert_eq!((again.shape(), again.strides()), (expected.shape(), expected.strides()));
        assert_eq!(elements(&again), elements(&expected), "{case:?}");
        // A consumer must not write elements that share memory; all numbers differ.
        let distinct: HashSet<_> = elements(&expected).into_iter().collect();
        assert_eq!(again.is_read_only(), distinct.len() < 6, "{case:?}");
    }
}

#[test]
fn strided_tensors_are_imported_and_exported_unchanged() {
    for case in layouts() {
        is_unchanged::<Matrix>(&case);
        is_unchanged::<Pairs>(&case);
        is_unchanged::<Any>(&case);
        let matrix: Matrix = built(&case).unwrap();
        assert_eq!(matrix.data.elements().unwrap().to_vec(), Ok(elements(&case.imported())));
    }
}

#[test]
fn sub_byte_elements_keep_their_strides() {
    let dtype = DataType::FLOAT4_E2M1FN;
    let case = Forged { dtype, ..bytes(&[2, 4]).strided(&[8, 2], 0) };
    let any: Any = built(&case).unwrap();
    let again = import(any.into_dlpack().unwrap());
    assert_eq!((again.dtype(), again.strides()), (dtype, &[8, 2][..]));
}

/// Three bytes.
#[derive(Clone, Copy, Debug, PartialEq, tensors::Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

#[test]
fn strides_of_arrays_count_arrays() {
    let pixels = Forged { bytes: (0..12).collect(), ..bytes(&[2, 2, 3]) };
    for case in [pixels.clone().strided(&[3, 6, 1], 0), pixels.clone().strided(&[-6, 3, 1], 6)] {
        let image: Matrix<ImportedStorage<Rgb>> = built(&case).unwrap();
        assert_eq!(image.shape, [2, 2]);
        let (again, expected) = (import(image.into_dlpack().unwrap()), case.imported());
        assert_eq!((again.shape(), again.strides()), (expected.shape(), expected.strides()));
        let bytes = |tensor: &ImportedTensor| tensor.elements::<u8>().unwrap().to_vec().unwrap();
        assert_eq!(bytes(&again), bytes(&expected));
    }
    // The stride of one row is not used, so it need not count arrays.
    let row = Forged { bytes: (0..9).collect(), ..bytes(&[1, 2, 3]) }.strided(&[7, 6, 1], 0);
    let image: Matrix<ImportedStorage<Rgb>> = built(&row).unwrap();
    let data = ImportedStorage::<Rgb>::new(row.imported()).unwrap();
    for again in [image.into_dlpack().unwrap(), data.into_dlpack().unwrap()].map(import) {
        assert_eq!((again.shape(), &again.strides()[1..]), (&[1, 2, 3][..], &[6, 1][..]));
        assert_eq!(again.elements::<u8>().unwrap().to_vec().unwrap(), [0, 1, 2, 6, 7, 8]);
    }
    // Rows that begin inside of an array: its strides do not count arrays.
    let parts = pixels.strided(&[7, 3, 1], 0);
    let data = ImportedStorage::<Rgb>::new(parts.imported()).unwrap();
    let error = Matrix { data, shape: [2, 2] }.into_dlpack().map(|_| ()).unwrap_err();
    assert_eq!(error, Error::StridesMissing);
}

#[test]
fn strides_belong_to_one_shape_and_one_element_type() {
    let turned = || built::<Matrix>(&layouts()[1]).unwrap();
    for shape in [[2, 3], [1, 6], [6, 1], [3, 1], [1, 1]] {
        let reshaped = Matrix { shape, ..turned() };
        assert_eq!(reshaped.tensor().map(|_| ()), Err(Error::StridesMissing), "{shape:?}");
        assert_eq!(reshaped.to_dlpack().map(|_| ()), Err(Error::StridesMissing));
        assert_eq!(reshaped.into_dlpack().map(|_| ()), Err(Error::StridesMissing));
    }
    let matrix = turned();
    let data = matrix.data.data();
    let view = |layout| TensorView::new(data, layout).map(|view| view.strides().to_vec());
    assert_eq!(view(Layout::new([3, 2])), Ok(vec![1, 3]));
    assert_eq!(view(Layout::new([6])), Err(Error::StridesMissing));
    // No element is confused with another one, or the layout is explicit.
    assert_eq!(view(Layout::new([0, 9]).spare_capacity()), Ok(vec![9, 1]));
    assert_eq!(view(Layout::new([6]).strides([1])), Ok(vec![1]));
    assert_eq!(view(Layout::new([3, 2]).order(Order::ColumnMajor)), Ok(vec![1, 3]));
    assert_eq!(view(Layout::new([5]).offset(1)), Ok(vec![1]));
    // Contiguous memory has every shape of as many elements.
    let flat = Matrix { shape: [1, 6], ..built::<Matrix>(&layouts()[0]).unwrap() };
    assert_eq!(elements(&import(flat.into_dlpack().unwrap())), [0, 1, 2, 3, 4, 5]);

    let turned = bytes(&[3, 2]).strided(&[1, 3], 0);
    let storage = ImportedStorage::<u8>::new(turned.imported()).unwrap();
    let mut slot = Slot::new();
    let other = slot.describe().shape(&[3, 2]).dtype(DataType::I8).data(storage.data());
    assert_eq!(other.map(|_| ()), Err(Error::StridesMissing));
    let mut slot = Slot::new();
    let same = slot.describe().shape(&[3, 2]).dtype(DataType::U8).data(storage.data());
    assert_eq!(same.unwrap().strides(), [1, 3]);
    // Errors of the description are reported first.
    let mut slot = Slot::new();
    let negative = slot.describe().shape(&[-3, 2]).data(storage.data());
    assert_eq!(negative.map(|_| ()), Err(Error::NegativeDim { axis: 0, dim: -3 }));
}

#[test]
fn clones_and_conversions_keep_the_strides() {
    let case = &layouts()[4];
    let expected = elements(&case.imported());
    let data = ImportedStorage::<i32>::new(case.imported()).unwrap();
    let any = ImportedStorage::<tensors::AnyElement>::from(data.clone());
    let typed = any.clone().typed::<i32>().unwrap();
    for data in [data, typed] {
        let tensor = Matrix { data, shape: [3, 2] }.into_dlpack().unwrap();
        assert_eq!(elements(&import(tensor)), expected);
    }
    let tensor = Matrix { data: any, shape: [3, 2] }.into_dlpack().unwrap();
    assert_eq!(elements(&import(tensor)), expected);
}

/// An implementation by hand that lends the memory only.
struct Bytes(#[expect(dead_code, reason = "it is only imported")] ImportedStorage<u8>);

/// Either of them: numbers keep their strides, bytes do not.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Samples {
    #[dlpack(import)]
    Bytes(Bytes),
    #[dlpack(import)]
    Numbers(ImportedStorage<i32>),
}

impl ImportStorage for Bytes {
    fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
        <ImportedStorage<u8> as ImportStorage>::accepts(tensor)
    }

    fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
        ImportedStorage::new(tensor).map(Self)
    }
}

impl Storage for Bytes {
    fn data(&self) -> DataRef<'_> {
        DataRef::refused(&Error::Custom("only imported"))
    }
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, require(contiguous))]
struct Contiguous {
    data: ImportedStorage<i32>,
    shape: [usize; 2],
}

#[test]
fn contiguous_elements_are_required_on_request() {
    is_unchanged::<Contiguous>(&layouts()[0]);
    for case in &layouts()[1..] {
        assert_eq!(
            refused::<Contiguous>(case),
            format!(
                "`Contiguous`: expected contiguous elements in row-major order, got other \
                 strides"
            )
        );
    }
}

#[test]
fn a_storage_keeps_strides_if_its_type_says_so() {
    for case in &layouts() {
        is_unchanged::<Matrix<Samples>>(case);
    }
    let matrix: Matrix<Samples> = built(&bytes(&[2, 3])).unwrap();
    assert!(matches!(matrix.data, Samples::Bytes(_)));
    // The stride of an axis of one element is not used.
    assert!(built::<Matrix<Samples>>(&bytes(&[1, 2]).strided(&[-2, 1], 0)).is_ok());
    assert!(
        refused::<Matrix<Samples>>(&bytes(&[3, 2]).strided(&[1, 3], 0))
            .ends_with("got other strides")
    );
    assert!(
        refused::<Matrix<Samples>>(&bytes(&[2, 2]).strided(&[-2, 1], 2))
            .ends_with("got other strides")
    );
}
