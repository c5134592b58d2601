//! A newtype over an exportable type: it adds meaning, and is the same tensor.

#![forbid(unsafe_code)]

use core::marker::PhantomData;
use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Element, Flags, Storage};

use super::consumer::Expected;

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Planes<S: Storage, const N: usize> {
    data: S,
    shape: [usize; N],
    _drop: Ticket,
}

/// Height, width, channels.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct Picture<T: Element, const C: usize>(Planes<Vec<T>, 3>);

impl<T: Element, const C: usize> Picture<T, C> {
    fn new(height: usize, width: usize, data: Vec<T>, drops: &Drops) -> Self {
        Self(Planes { data, shape: [height, width, C], _drop: drops.ticket() })
    }
}

#[test]
fn a_newtype_image_is_exported() {
    let drops = Drops::new();
    let picture = Picture::<u8, 3>::new(1, 2, vec![1, 2, 3, 4, 5, 6], &drops);
    let expected = Expected {
        shape: &[1, 2, 3],
        strides: &[6, 3, 1],
        flags: Flags::NONE,
        elements: &[1_u8, 2, 3, 4, 5, 6],
    };
    expected.assert_moved(picture, &drops);
}

/// A colour space that exists for the compiler only.
struct Linear;

/// With a named field, and one that is not part of the tensor.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent)]
struct Tagged<Space: 'static, E> {
    inner: E,
    #[dlpack(skip)]
    space: PhantomData<fn() -> Space>,
}

#[test]
fn a_newtype_around_a_shared_image_is_exported() {
    let drops = Drops::new();
    let data: Arc<[f32]> = Arc::from([0.5, 1.5]);
    let inner = Planes { data: Arc::clone(&data), shape: [2], _drop: drops.ticket() };
    let tagged = Tagged::<Linear, _> {
        inner: Tagged::<Linear, _> { inner, space: PhantomData },
        space: PhantomData,
    };
    assert_eq!((tagged.space, tagged.inner.space), (PhantomData, PhantomData));
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[0.5_f32, 1.5] };
    expected.assert_shared(&tagged);
    expected.assert_moved(tagged, &drops);
    assert_eq!(Arc::strong_count(&data), 1);
}

/// Readers only, whatever is inside.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent, read_only)]
struct Sealed(Picture<i16, 1>);

#[test]
fn a_read_only_newtype_exports_read_only() {
    let drops = Drops::new();
    let sealed = Sealed(Picture::new(1, 2, vec![7, 8], &drops));
    let expected = Expected {
        shape: &[1, 2, 1],
        strides: &[2, 1, 1],
        flags: Flags::READ_ONLY,
        elements: &[7_i16, 8],
    };
    expected.assert_moved(sealed, &drops);
}
