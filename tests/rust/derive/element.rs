//! `#[derive(Element)]`: newtypes and small arrays, as consumers see them.

#![forbid(unsafe_code)]

use core::marker::PhantomData;
use core::mem::size_of;
use std::sync::Arc;

use dlpack_tests::counted::Owner;
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{Complex, DLPackExport, DataType, Element, Error, SharedBuffer, Storage};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors)]
#[repr(transparent)]
struct Meters(f32);

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

/// A newtype of newtypes, and arrays of arrays.
#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors)]
#[repr(transparent)]
struct Tile {
    pixels: [[Rgb; 2]; 4],
}

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors, lanes, any_bits)]
#[repr(transparent)]
struct Float4([f32; 4]);

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(C)]
struct Point {
    x: i16,
    y: i16,
}

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors)]
#[repr(C)]
struct Alone(u64);

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors)]
#[repr(C)]
struct Corners([Point; 2], [Point; 2], PhantomData<Meters>);

struct Feet;

/// A generic element, with a unit that is only a type.
#[derive(Element)]
#[dlpack(crate = ::tensors)]
#[repr(transparent)]
struct Length<T, Unit>(T, PhantomData<fn() -> Unit>);

impl<T: Clone, Unit> Clone for Length<T, Unit> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}
impl<T: Copy, Unit> Copy for Length<T, Unit> {}

/// `N` is a parameter of its own, and the marker is not `PhantomData`.
#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Vector<T, const N: usize> {
    #[dlpack(skip)]
    marker: (),
    parts: [T; N],
}

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors)]
#[repr(transparent)]
struct Truth(bool);

#[derive(Clone, Copy, Element)]
#[dlpack(crate = ::tensors)]
#[repr(transparent)]
struct Spinor([Complex<f64>; 2]);

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor<T: Element> {
    data: Vec<T>,
    shape: Vec<usize>,
}

fn export<T: Element>(data: Vec<T>) -> ImportedStorage {
    let shape = vec![data.len()];
    Tensor { data, shape }.into_dlpack().expect("a tensor").into()
}

#[test]
fn a_newtype_has_the_dtype_of_its_field() {
    assert_eq!((Meters::DTYPE, Meters::AXES), (DataType::F32, &[][..]));
    let tensor = export(vec![Meters(1.5), Meters(2.5)]);
    assert_eq!(tensor.elements::<f32>(), [1.5, 2.5]);
    tensor.delete(Farewell::Plain);
}

#[test]
fn an_array_adds_axes() {
    assert_eq!((Rgb::DTYPE, Rgb::AXES), (DataType::U8, &[3][..]));
    let tensor = export(vec![Rgb([1, 2, 3]), Rgb([4, 5, 6])]);
    assert_eq!((tensor.shape(), tensor.strides()), (vec![2, 3], vec![3, 1]));
    assert_eq!(tensor.elements::<u8>(), [1, 2, 3, 4, 5, 6]);
    tensor.delete(Farewell::Narrow);

    assert_eq!((Tile::DTYPE, Tile::AXES), (DataType::U8, &[4, 2, 3][..]));
    let tile = Tile { pixels: [[Rgb([7; 3]), Rgb([8; 3])]; 4] };
    assert_eq!(tile.pixels[0][1], Rgb([8; 3]));
    let tensor = export(vec![tile]);
    assert_eq!(tensor.shape(), [1, 4, 2, 3]);
    assert_eq!(tensor.elements::<u8>()[..6], [7, 7, 7, 8, 8, 8]);
    tensor.delete(Farewell::Plain);

    assert_eq!((Spinor::DTYPE, Spinor::AXES), (DataType::COMPLEX128, &[2][..]));
}

/// An array is an element as a newtype of it is, in every storage.
#[test]
fn arrays_are_elements_with_an_axis() {
    fn check<S: Storage + Send + 'static>(data: S) {
        let tensor = Owner::new(data, &[2]).into_dlpack().unwrap();
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[3, 1][..]));
        let tensor = tensor.import().unwrap();
        let elements = tensor.elements::<[u8; 3]>().unwrap();
        assert_eq!(elements.to_vec().unwrap(), [[1, 2, 3], [4, 5, 6]]);
        let storage = tensors::ImportedStorage::<[u8; 3]>::new(tensor).unwrap();
        assert_eq!(Owner::new(storage, &[2]).tensor().unwrap().shape(), [2, 3]);
    }
    const POINTS: [[u8; 3]; 2] = [[1, 2, 3], [4, 5, 6]];
    check(POINTS);
    check(POINTS.to_vec());
    check(Box::<[[u8; 3]]>::from(POINTS));
    check(Arc::<[[u8; 3]]>::from(POINTS));
    check(SharedBuffer::from_slice(&POINTS).unwrap());

    assert_eq!((<[[Rgb; 2]; 4]>::DTYPE, <[[Rgb; 2]; 4]>::AXES), (DataType::U8, Tile::AXES));
    const { assert!(<[Rgb; 2]>::ANY_BITS && !<[Truth; 2]>::ANY_BITS) };
    let cloud = Tensor { data: POINTS.to_vec(), shape: vec![2] };
    assert_eq!(cloud.into_dlpack().unwrap().shape(), [2, 3]);
}

/// A stride of 0 gives a tensor any number of elements. Each of these has three parts.
#[test]
fn more_parts_than_fit_in_64_bits_are_refused() {
    // All elements together have at most `isize::MAX` bytes.
    let (third, shape) = (i64::try_from(isize::MAX / 3).unwrap(), |dim| [dim, 1]);
    let pixels = [Rgb([1, 2, 3])];
    let view = |dim| {
        let tensor = Owner::new(&pixels[..], &shape(dim)).strided(&[0, 1], 0);
        tensor.tensor().map(|view| view.numel())
    };
    assert_eq!(view(third), Ok(third * 3));
    assert_eq!(view(third + 1), Err(Error::SizeOverflow));
    assert_eq!(view(i64::MAX), Err(Error::SizeOverflow));
}

/// The axes of the elements are in the ninth dimension.
#[test]
fn arrays_add_an_axis_to_eight_dimensions() {
    let pixels: Vec<Rgb> = (0..4).map(|number| Rgb([number; 3])).collect();
    let owner = Owner::new(pixels, &[1, 1, 2, 1, 1, 1, 1, 2]);
    let tensor = ImportedStorage::from(owner.into_dlpack().unwrap());
    assert_eq!(tensor.shape(), [1, 1, 2, 1, 1, 1, 1, 2, 3]);
    assert_eq!(tensor.strides(), [12, 12, 6, 6, 6, 6, 6, 3, 1]);
    assert_eq!(tensor.elements::<u8>()[3..6], [1; 3]);
    tensor.delete(Farewell::Plain);
}

#[test]
fn lanes_do_not_add_an_axis() {
    assert_eq!((Float4::DTYPE, Float4::AXES), (DataType::F32.with_lanes(4), &[][..]));
    let tensor = export(vec![Float4([1.0, 2.0, 3.0, 4.0])]);
    assert_eq!(tensor.shape(), [1]);
    assert_eq!(tensor.elements::<Float4>()[0].0.map(f32::to_bits), {
        [1.0_f32, 2.0, 3.0, 4.0].map(f32::to_bits)
    });
    tensor.delete(Farewell::Plain);
}

#[test]
fn fields_of_one_type_add_an_axis() {
    assert_eq!((Point::DTYPE, Point::AXES), (DataType::I16, &[2][..]));
    let tensor = export(vec![Point { x: 1, y: 2 }, Point { x: 3, y: 4 }]);
    assert_eq!(tensor.elements::<i16>(), [1, 2, 3, 4]);
    tensor.delete(Farewell::Plain);
    assert_eq!((Alone::DTYPE, Alone::AXES), (DataType::U64, &[][..]));
    assert_eq!(Corners::AXES, [2, 2, 2]);
    assert_eq!(size_of::<Corners>(), 16);
}

#[test]
fn generic_elements_follow_their_parameters() {
    type Feet64 = Length<f64, Feet>;
    assert_eq!((Feet64::DTYPE, Feet64::AXES), (DataType::F64, &[][..]));
    let tensor = export(vec![Feet64::clone(&Length(0.5, PhantomData))]);
    assert_eq!(tensor.elements::<f64>(), [0.5]);
    tensor.delete(Farewell::Plain);
    assert_eq!(Vector::<Rgb, 5>::AXES, [5, 3]);
    assert_eq!(Vector::<u16, 2> { marker: (), parts: [1, 2] }.parts, [1, 2]);
}

/// Foreign code may write only into elements with `any_bits`.
#[test]
fn only_any_bits_elements_are_writable() {
    let tensor = export(vec![Rgb([1, 2, 3])]);
    assert!(tensor.is_writable());
    tensor.write(|part: u8| part + 1);
    assert_eq!(tensor.elements::<u8>(), [2, 3, 4]);
    tensor.delete(Farewell::Plain);
    for tensor in [export(vec![Meters(0.0)]), export(vec![Truth(true)])] {
        assert!(!tensor.is_writable());
        tensor.delete(Farewell::Plain);
    }
    const {
        assert!(Float4::ANY_BITS && Vector::<u8, 2>::ANY_BITS && Point::ANY_BITS);
        assert!(!Meters::ANY_BITS && !Tile::ANY_BITS && !Truth::ANY_BITS);
    }
}
