//! Layouts that a struct stores as one value.

use tensors::{AsLayout, DLPackExport, DLPackImport, FromLayout, ImportedStorage};

use super::forge::{Forged, forged, import};
use super::{built, refused, text};

#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors)]
struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    #[dlpack(offset(elements))]
    start: usize,
    #[dlpack(default)]
    names: Vec<String>,
}

/// A layout in a layout.
#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors)]
struct Named {
    #[dlpack(layout)]
    inner: Strided,
    #[dlpack(skip, default)]
    name: String,
}

#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors, order = column_major)]
struct ByColumns<const N: usize> {
    shape: [u8; N],
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Tensor {
    data: ImportedStorage<i32>,
    #[dlpack(layout)]
    layout: Named,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Held<const N: usize> {
    data: ImportedStorage<i32>,
    #[dlpack(layout)]
    layout: ByColumns<N>,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Copied {
    #[dlpack(copy)]
    data: Vec<i32>,
    #[dlpack(layout)]
    layout: ByColumns<2>,
}

fn elements(tensor: impl DLPackExport + Send + 'static) -> Vec<i32> {
    import(tensor.into_dlpack().unwrap()).elements::<i32>().unwrap().to_vec().unwrap()
}

fn flipped() -> Forged {
    forged(&[2, 3], &[0, 1, 2, 3, 4, 5]).strided(&[-3, 1], 12)
}

#[test]
fn a_layout_with_imported_data_is_imported() {
    let tensor: Tensor = built(&flipped()).unwrap();
    let Named { inner, name } = &tensor.layout;
    assert_eq!((&inner.shape[..], &inner.strides[..], inner.start), (&[2, 3][..], &[-3, 1][..], 3));
    assert_eq!((inner.names.len(), &name[..]), (0, ""));
    assert_eq!(elements(tensor), [3, 4, 5, 0, 1, 2]);
    assert_eq!(
        refused::<Held<2>>(&flipped()),
        "`Held` has no field for strides: expected contiguous elements in column-major order, got \
         other strides"
    );
    assert_eq!(refused::<Held<3>>(&flipped()), "`Held`: expected 3 dimensions, got 2");
    let by_columns = forged(&[2, 3], &[0, 1, 2, 3, 4, 5]).strided(&[1, 2], 0);
    assert_eq!(elements(built::<Held<2>>(&by_columns).unwrap()), [0, 2, 4, 1, 3, 5]);
}

#[test]
fn a_layout_with_copied_data_is_imported() {
    let copied: Copied = built(&flipped()).unwrap();
    assert_eq!((&copied.data[..], copied.layout.shape), (&[3, 0, 4, 1, 5, 2][..], [2, 3]));
    assert_eq!(elements(copied), [3, 4, 5, 0, 1, 2]);
    let deep = text(built::<Copied>(&forged(&[1], &[0])));
    assert_eq!(deep, "`Copied`: expected 2 dimensions, got 1");
}

/// Column-major, by a constant of a type with parameters.
#[derive(AsLayout, FromLayout)]
#[dlpack(crate = ::tensors, shape(N, columns), strides(Self::FASTEST, leading))]
struct ByConstant<const N: usize> {
    columns: usize,
    leading: usize,
}

impl<const N: usize> ByConstant<N> {
    const FASTEST: u8 = 1;
}

#[test]
fn a_constant_of_a_separate_layout_states_the_order_of_a_copy() {
    #[derive(DLPackExport, DLPackImport)]
    #[dlpack(crate = ::tensors)]
    struct Copied {
        #[dlpack(copy)]
        data: Vec<i32>,
        #[dlpack(layout)]
        layout: ByConstant<2>,
    }
    let copy = built::<Copied>(&forged(&[2, 3], &[0, 1, 2, 3, 4, 5])).unwrap();
    assert_eq!((copy.layout.columns, copy.layout.leading), (3, 2));
    assert_eq!(copy.data, [0, 3, 1, 4, 2, 5]);
}
