//! Elements that are newtypes: over a number, over an array that becomes an
//! axis, and over lanes that do not.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataType, Element, Flags};

use super::consumer::Expected;

/// A length, of which any bits are one.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Metres(f32);

/// A temperature, which consumers must not make up.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors)]
#[repr(transparent)]
struct Kelvin(f64);

/// Three parts, which are an axis.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

/// Four parts, which are lanes of one element.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors, any_bits, lanes)]
#[repr(transparent)]
struct Vec4([i32; 4]);

/// Two parts with names, which are an axis too.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(C)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Grid<T: Element, const N: usize> {
    data: Vec<T>,
    shape: [usize; N],
    _drop: Ticket,
}

fn grid<T: Element, const N: usize>(data: Vec<T>, shape: [usize; N], drops: &Drops) -> Grid<T, N> {
    Grid { data, shape, _drop: drops.ticket() }
}

#[test]
fn newtypes_over_a_number_are_elements() {
    let drops = Drops::new();
    let metres = grid(vec![Metres(0.5), Metres(1.5)], [2], &drops);
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[0.5_f32, 1.5] };
    expected.assert_moved(metres, &drops);
    let kelvin = grid(vec![Kelvin(273.15)], [1], &drops);
    let expected =
        Expected { shape: &[1], strides: &[1], flags: Flags::READ_ONLY, elements: &[273.15_f64] };
    expected.assert_moved(kelvin, &drops);
}

#[test]
fn newtypes_over_an_array_add_an_axis() {
    let drops = Drops::new();
    let image = grid(vec![Rgb([1, 2, 3]), Rgb([4, 5, 6])], [2, 1], &drops);
    let expected = Expected {
        shape: &[2, 1, 3],
        strides: &[3, 3, 1],
        flags: Flags::NONE,
        elements: &[1_u8, 2, 3, 4, 5, 6],
    };
    expected.assert_moved(image, &drops);
}

#[test]
fn structs_of_equal_fields_add_an_axis() {
    let drops = Drops::new();
    let path = grid(vec![Point { x: 0.0, y: 1.0 }, Point { x: 2.0, y: 3.0 }], [2], &drops);
    let expected = Expected {
        shape: &[2, 2],
        strides: &[2, 1],
        flags: Flags::NONE,
        elements: &[0.0_f64, 1.0, 2.0, 3.0],
    };
    expected.assert_moved(path, &drops);
}

#[test]
fn newtypes_over_lanes_keep_the_lanes() {
    let drops = Drops::new();
    let lanes = [Vec4([1, 2, 3, 4]), Vec4([5, 6, 7, 8])];
    assert_eq!(Vec4::DTYPE, DataType::I32.with_lanes(4));
    let vectors = grid(lanes.to_vec(), [2], &drops);
    let expected = Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &lanes };
    expected.assert_moved(vectors, &drops);
}

/// Strides count pixels, as the shape does.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Column {
    data: Arc<[Rgb]>,
    shape: [u8; 1],
    strides: [i8; 1],
    #[dlpack(offset(elements))]
    first: u8,
    _drop: Ticket,
}

#[test]
fn strides_count_pixels() {
    let drops = Drops::new();
    let data = Arc::new([Rgb([0; 3]), Rgb([1; 3]), Rgb([2; 3]), Rgb([3; 3])]);
    let column = Column { data, shape: [2], strides: [-2], first: 3, _drop: drops.ticket() };
    let expected = Expected {
        shape: &[2, 3],
        strides: &[-6, 1],
        flags: Flags::READ_ONLY,
        elements: &[3_u8, 3, 3, 1, 1, 1],
    };
    expected.assert_shared(&column);
    expected.assert_moved(column, &drops);
}
