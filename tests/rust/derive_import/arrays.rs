//! Elements that are arrays, not copied: an export, a copy and an `ImportedStorage` count
//! them in the same way.

use tensors::{
    AsLayout, DLPackExport, DLPackImport, Describe, Description, Error, FromLayout, ImportStorage,
    ImportedStorage, ImportedTensor, MismatchKind, Storage,
};

use super::forge::Forged;
use super::{built, bytes, refused};

/// A pixel.
#[derive(Clone, Copy, Debug, PartialEq, tensors::Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Image {
    data: ImportedStorage<Rgb>,
    shape: [usize; 2],
    strides: [isize; 2],
    #[dlpack(offset(elements))]
    first: usize,
}

/// As [`Image`], for rows that follow each other.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(height, width))]
struct Rows {
    data: ImportedStorage<Rgb>,
    height: usize,
    width: usize,
    #[dlpack(pitch(elements))]
    pitch: usize,
    #[dlpack(len(elements))]
    len: usize,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, order = column_major)]
struct ByColumns {
    data: Box<ImportedStorage<Rgb>>,
    shape: Vec<usize>,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Copied {
    #[dlpack(copy)]
    data: Vec<Rgb>,
    shape: [usize; 2],
}

/// Twelve bytes: pixels, or parts of them.
fn pixels(shape: &[i64]) -> Forged {
    Forged { bytes: (0..12).collect(), ..bytes(shape) }
}

/// Exports a value, and compares it with the tensor that it was made of.
fn same_again<T: DLPackImport + DLPackExport + Send + 'static>(case: &Forged) -> T {
    let expected = case.imported();
    let again = built::<T>(case).unwrap().into_dlpack().unwrap().import().unwrap();
    assert_eq!(again.shape(), expected.shape());
    let elements = |tensor: &ImportedTensor| tensor.elements::<u8>().unwrap().to_vec().unwrap();
    assert_eq!(elements(&again), elements(&expected));
    built(case).unwrap()
}

#[test]
fn an_imported_storage_counts_arrays_as_a_copy_does() {
    let case = pixels(&[2, 2, 3]);
    let image: Image = same_again(&case);
    assert_eq!((image.shape, image.strides, image.first), ([2, 2], [2, 1], 0));
    let copied: Copied = same_again(&case);
    assert_eq!(copied.shape, image.shape);
    assert_eq!(image.data.elements().unwrap().to_vec(), Ok(copied.data));

    let turned: Image = same_again(&pixels(&[2, 2, 3]).strided(&[-6, 3, 1], 6));
    assert_eq!((turned.strides, turned.first), ([-2, 1], 2));
    let rows: Rows = same_again(&pixels(&[2, 1, 3]).strided(&[6, 3, 1], 0));
    assert_eq!((rows.height, rows.width, rows.pitch, rows.len), (2, 1, 2, 3));
    let columns: ByColumns = same_again(&pixels(&[2, 2, 3]).strided(&[3, 6, 1], 0));
    assert_eq!(columns.shape, [2, 2]);
    let _: ByColumns = same_again(&pixels(&[1, 2, 3]).strided(&[7, 3, 1], 0));
    let empty: Image = same_again(&pixels(&[0, 2, 3]).strided(&[5, 4, 1], 0));
    assert_eq!(empty.shape, [0, 2]);
    // NumPy's strides of an empty array are 0.
    for strides in [[0, 0, 0], [6, 3, 1], [9, 9, 9]] {
        let empty = pixels(&[0, 2, 3]).strided(&strides, 0);
        assert_eq!(built::<Image>(&empty).unwrap().shape, [0, 2]);
        assert_eq!(built::<Copied>(&empty).unwrap().data, []);
        let tensor = empty.imported();
        assert_eq!(tensor.elements::<Rgb>().unwrap().to_vec(), Ok(vec![]));
        assert_eq!(ImportedStorage::<Rgb>::new(tensor).unwrap().elements().unwrap().len(), 0);
    }
}

#[test]
fn tensors_that_are_not_whole_arrays_are_refused() {
    assert_eq!(
        refused::<Image>(&pixels(&[2, 3, 2])),
        "`Image`: expected [3] as the last dimensions, got others"
    );
    assert_eq!(refused::<Image>(&pixels(&[2, 3])), "`Image`: expected 2 dimensions, got 1");
    assert_eq!(
        refused::<Image>(&pixels(&[2, 2, 3]).strided(&[2, 1, 4], 0)),
        "`Image`: expected contiguous elements in row-major order, got other strides"
    );
    assert_eq!(
        refused::<Image>(&pixels(&[2, 1, 3]).strided(&[7, 3, 1], 0)),
        "`Image`: expected stride 0 to be a multiple of 3, the size of an element, got 7"
    );
    assert!(refused::<ByColumns>(&pixels(&[2, 2, 3])).contains("column-major"));
}

/// A layout in a struct of its own.
#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors)]
struct Strided {
    shape: [usize; 2],
    strides: [isize; 2],
}

/// Owned pixels, imported pixels, or numbers.
#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Samples {
    #[dlpack(import)]
    Numbers(ImportedStorage<f32>),
    #[dlpack(import)]
    Pixels(ImportedStorage<Rgb>),
    Ours(Vec<Rgb>),
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Any {
    data: Samples,
    #[dlpack(layout)]
    layout: Strided,
}

#[test]
fn variants_count_their_own_arrays() {
    let any: Any = same_again(&pixels(&[2, 2, 3]));
    assert_eq!((any.layout.shape, any.layout.strides), ([2, 2], [2, 1]));
    assert!(matches!(any.data, Samples::Pixels(_)));
    let numbers = Forged { dtype: tensors::DataType::F32, ..pixels(&[3, 1]) };
    let any: Any = built(&numbers).unwrap();
    assert_eq!((any.layout.shape, any.layout.strides), ([3, 1], [1, 1]));
    assert!(matches!(any.data, Samples::Numbers(_)));
    let ours = Any { data: Samples::Ours(vec![Rgb([1; 3]); 4]), ..any };
    assert_eq!(ours.into_dlpack().unwrap().shape(), [3, 1, 3]);
}

/// An implementation by hand, which counts as the derive does.
struct ByHand(ImportedStorage<Rgb>);

impl ImportStorage for ByHand {
    fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
        <ImportedStorage<Rgb> as ImportStorage>::accepts(tensor)
    }

    fn axes(tensor: &ImportedTensor) -> &'static [i64] {
        ImportedStorage::<Rgb>::axes(tensor)
    }

    fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
        ImportedStorage::new(tensor).map(Self)
    }
}

impl DLPackExport for ByHand {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.layout(self.0.layout()).data(self.0.data())
    }
}

#[test]
fn layout_and_data_of_an_imported_storage_agree() {
    let by_hand = |case: &Forged| ByHand::from_imported(case.imported()).unwrap();
    let turned = pixels(&[2, 2, 3]).strided(&[-6, 3, 1], 6);
    let again = by_hand(&turned).into_dlpack().unwrap();
    assert_eq!((again.shape(), again.strides()), (&[2, 2, 3][..], &[-6, 3, 1][..]));
    // The stride of an axis of one pixel, or of no pixels, is not used.
    for (shape, strides) in
        [([2, 1, 3], [3, 7, 1]), ([1, 1, 3], [7, -5, 1]), ([2, 0, 3], [7, 5, 1])]
    {
        let again = by_hand(&pixels(&shape).strided(&strides, 0)).into_dlpack().unwrap();
        assert_eq!(again.shape(), shape);
    }
    // Parts of pixels between two rows: only a layout that counts parts describes them.
    let padded = pixels(&[2, 1, 3]).strided(&[7, 3, 1], 0);
    let error = by_hand(&padded).into_dlpack().map(|_| ()).unwrap_err();
    assert_eq!(error, Error::StrideNotWhole { axis: 0, bytes: 7 });
    let foreign = ImportedStorage::<Rgb>::new(padded.imported()).unwrap();
    assert_eq!(foreign.elements().unwrap().load(&[1, 0]), Ok(Rgb([7, 8, 9])));
    assert_eq!(foreign.to_dlpack().unwrap().strides(), [7, 3, 1]);
    // A pixel can be one element of three lanes, too. Then it has no axes.
    let dtype = tensors::DataType::U8.with_lanes(3);
    let lanes = Forged { dtype, ..pixels(&[4]) };
    assert_eq!(by_hand(&lanes).into_dlpack().unwrap().shape(), [4]);
}
