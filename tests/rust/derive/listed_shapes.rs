//! Shapes that are listed above the struct: fields and constants.

#![forbid(unsafe_code)]

use core::marker::PhantomData;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, Element, Error};

trait Pixel {
    type Sub: Element;
    const CHANNELS: u8;
}

struct Rgb;

impl Pixel for Rgb {
    type Sub = u16;
    const CHANNELS: u8 = 3;
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(height, width, P::CHANNELS))]
struct Image<P: Pixel> {
    data: Vec<P::Sub>,
    width: u32,
    height: i8,
    _pixel: PhantomData<P>,
}

fn image(width: u32, height: i8) -> Image<Rgb> {
    Image { data: (0..12).collect(), width, height, _pixel: PhantomData }
}

#[test]
fn fields_and_associated_constants() {
    let image = image(2, 2);
    assert_eq!(image.tensor().unwrap().shape(), [2, 2, 3]);
    let foreign = ImportedStorage::from(image.into_dlpack().unwrap());
    assert_eq!((foreign.shape(), foreign.strides()), (vec![2, 2, 3], vec![6, 3, 1]));
    assert_eq!(foreign.elements::<u16>(), (0..12).collect::<Vec<_>>());
    foreign.delete(Farewell::Plain);
}

#[test]
fn listed_numbers_that_do_not_fit_are_errors() {
    assert_eq!(image(2, -1).into_dlpack().unwrap_err(), Error::NegativeDim { axis: 0, dim: -1 });
    assert!(matches!(image(9, 9).tensor(), Err(Error::OutOfBounds { end: 486, len: 24, .. })));
    let empty = Image { data: Vec::new(), ..image(0, 2) };
    assert_eq!(empty.into_dlpack().unwrap().shape(), [2, 0, 3]);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(1, n, r#type, n, N, LAST, Self::ONE, 1))]
struct Eight<const N: usize> {
    data: Vec<u8>,
    n: i128,
    r#type: u64,
    #[dlpack(strides)]
    steps: [isize; 8],
}

const LAST: i64 = 1;

impl<const N: usize> Eight<N> {
    const ONE: isize = 1;
}

#[test]
fn eight_listed_dimensions_of_every_kind_are_exported() {
    let steps = [9, 4, 2, -1, 0, 7, 7, 7];
    let eight = Eight::<2> { data: vec![0; 8], n: 2, r#type: 1, steps };
    // The last of `n` negative strides, out of the storage.
    let error = Error::OutOfBounds { start: -1, end: 5, len: 8 };
    assert_eq!(eight.into_dlpack().unwrap_err(), error);
    let steps = [9, 4, 2, 1, 0, 7, 7, 7];
    let eight = Eight::<2> { data: (0..8).collect(), n: 2, r#type: 1, steps };
    let foreign = ImportedStorage::from(eight.into_dlpack().unwrap());
    assert_eq!(foreign.shape(), [1, 2, 1, 2, 2, 1, 1, 1]);
    assert_eq!(foreign.elements::<u8>(), [0, 0, 1, 1, 4, 4, 5, 5]);
    assert!(!foreign.is_writable(), "elements overlap");
    foreign.delete(Farewell::Plain);
    let large = Eight::<2> { data: vec![0; 8], n: i128::MAX, r#type: 1, steps };
    assert_eq!(large.tensor().unwrap_err(), Error::DimTooLarge { axis: 1 });
}

/// `Self` in a list that is constant, of a type that has parameters or not.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(R, <Self as Square>::SIDE))]
struct Generic<const R: usize> {
    data: [i16; 4],
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2, <Self as Square>::SIDE))]
struct Plain {
    data: [i16; 4],
}

trait Square {
    const SIDE: u8;
}

impl<const R: usize> Square for Generic<R> {
    const SIDE: u8 = 2;
}

impl Square for Plain {
    const SIDE: u8 = 2;
}

#[test]
fn constants_of_the_type_itself() {
    let generic = Generic::<2> { data: [1, 2, 3, 4] };
    let plain = Plain { data: [1, 2, 3, 4] };
    for tensor in [generic.into_dlpack().unwrap(), plain.into_dlpack().unwrap()] {
        let foreign = ImportedStorage::from(tensor);
        assert_eq!(foreign.shape(), [2, 2]);
        assert_eq!(foreign.elements::<i16>(), [1, 2, 3, 4]);
        foreign.delete(Farewell::Plain);
    }
}
