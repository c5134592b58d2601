//! A field that contains shape, strides and offset.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{AsLayout, DLPackExport, DataType, Error, Layout};

/// As tensor libraries have it.
#[derive(Clone)]
struct Strided {
    dims: Vec<usize>,
    steps: Vec<isize>,
    start: usize,
}

impl AsLayout for Strided {
    fn layout(&self) -> Layout<'_> {
        Layout::new(&self.dims).strides(&self.steps).offset(self.start)
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Flex<L> {
    data: Arc<[u8]>,
    #[dlpack(layout)]
    layout: L,
    dtype: DataType,
    #[dlpack(len(bytes))]
    nbytes: usize,
}

fn flex<L>(layout: L, nbytes: usize) -> Flex<L> {
    let data = bytemuck::cast_slice(&[0_u16, 1, 2, 3, 4, 5, 6, 7]).into();
    Flex { data, layout, dtype: DataType::U16, nbytes }
}

#[test]
fn a_nested_layout() {
    let strided = Strided { dims: vec![2, 2], steps: vec![1, 2], start: 3 };
    let tensor = flex(Arc::new(strided.clone()), 8);
    let base = tensor.data.as_ptr();
    let foreign = ImportedStorage::from(tensor.to_dlpack().unwrap());
    assert_eq!(foreign.data().addr() - base.addr(), 6);
    assert_eq!(foreign.elements::<u16>(), [3, 5, 4, 6]);
    foreign.delete(Farewell::Plain);
    let narrow = flex(Box::new(strided.clone()), 6);
    let error = Error::OutsideWindow { start: 6, end: 14, from: 6, to: 12 };
    assert_eq!(narrow.into_dlpack().unwrap_err(), error);
    // The window begins at the offset, and this layout reaches back.
    let back = flex(Strided { steps: vec![-1, 2], ..strided }, 8);
    assert!(matches!(back.tensor(), Err(Error::OutsideWindow { start: 4, from: 6, .. })));
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Borrowed<'a, L: ?Sized> {
    data: &'a [u8],
    #[dlpack(layout)]
    placement: &'a L,
}

#[test]
fn a_borrowed_layout_of_any_type() {
    let strided = Strided { dims: vec![2], steps: vec![2], start: 1 };
    let erased: &dyn AsLayout = &strided;
    let tensor = Borrowed { data: &[1, 2, 3, 4], placement: erased };
    assert_eq!(tensor.tensor().unwrap().strides(), [2]);
    let foreign = ImportedStorage::from(tensor.copy_to_dlpack().unwrap());
    assert_eq!(foreign.elements::<u8>(), [2, 4]);
    foreign.delete(Farewell::Plain);
}
