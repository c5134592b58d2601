//! A rank in the type, strides, and a buffer type of the project's own. The layout needs
//! no attribute.

#![forbid(unsafe_code)]

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataMut, DataRef, Element, Error, Flags, Storage};

use super::consumer::Expected;

/// The project's own buffer. It can lend a slice, so that it is a storage without
/// `unsafe`.
struct Buffer<T> {
    elements: Box<[T]>,
    _drop: Ticket,
}

impl<T: Element> Storage for Buffer<T> {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.elements)
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(&mut self.elements)
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Dense<T, const N: usize>
where
    T: Element,
{
    data: Buffer<T>,
    shape: [usize; N],
    strides: [usize; N],
}

fn dense<T: Element, const N: usize>(
    elements: &[T],
    [shape, strides]: [[usize; N]; 2],
    drops: &Drops,
) -> Dense<T, N> {
    Dense { data: Buffer { elements: elements.into(), _drop: drops.ticket() }, shape, strides }
}

#[test]
fn a_transposed_matrix() {
    let drops = Drops::new();
    let matrix = dense(&[1_i32, 2, 3, 4, 5, 6], [[3, 2], [1, 3]], &drops);
    let expected = Expected {
        shape: &[3, 2],
        strides: &[1, 3],
        flags: Flags::NONE,
        elements: &[1_i32, 4, 2, 5, 3, 6],
    };
    expected.assert_moved(matrix, &drops);
}

#[test]
fn a_broadcast_row_is_read_only() {
    let drops = Drops::new();
    let rows = dense(&[1.0_f64, 2.0], [[2, 2], [0, 1]], &drops);
    let expected = Expected {
        shape: &[2, 2],
        strides: &[0, 1],
        flags: Flags::READ_ONLY,
        elements: &[1.0_f64, 2.0, 1.0, 2.0],
    };
    expected.assert_moved(rows, &drops);
}

#[test]
fn no_dimensions_and_no_elements() {
    let drops = Drops::new();
    let scalar = dense(&[true], [[], []], &drops);
    // Not every byte is a `bool`, so the export is read-only.
    let flags = Flags::READ_ONLY;
    Expected { shape: &[], strides: &[], flags, elements: &[true] }.assert_moved(scalar, &drops);
    let empty = dense(&[0_u8; 0], [[0, 3], [3, 1]], &drops);
    let expected =
        Expected::<u8> { shape: &[0, 3], strides: &[3, 1], flags: Flags::NONE, elements: &[] };
    expected.assert_moved(empty, &drops);
}

#[test]
fn strides_beyond_the_buffer_are_an_error() {
    let drops = Drops::new();
    let matrix = dense(&[0_u16; 6], [[2, 3], [4, 1]], &drops);
    let error = matrix.into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 14, len: 12 });
    assert_eq!(drops.count(), 1);
}
