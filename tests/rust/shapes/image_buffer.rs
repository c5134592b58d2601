//! An image: its size is in two fields, its last axis in the type of its pixels.

#![forbid(unsafe_code)]

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Element, Error, Flags};

use super::consumer::Expected;

trait Pixel {
    type Part: Element;
    const CHANNELS: u8;
}

struct Rgb8;

impl Pixel for Rgb8 {
    type Part = u8;
    const CHANNELS: u8 = 3;
}

struct LumaAlpha16;

impl Pixel for LumaAlpha16 {
    type Part = u16;
    const CHANNELS: u8 = 2;
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(height, width, P::CHANNELS))]
struct Image<P: Pixel> {
    data: Vec<P::Part>,
    width: u32,
    height: u32,
    _drop: Ticket,
}

#[test]
fn each_pixel_type_is_exported() {
    let drops = Drops::new();
    let rgb =
        Image::<Rgb8> { data: vec![1, 2, 3, 4, 5, 6], width: 1, height: 2, _drop: drops.ticket() };
    assert_eq!((rgb.width, rgb.height), (1, 2));
    let expected = Expected {
        shape: &[2, 1, 3],
        strides: &[3, 3, 1],
        flags: Flags::NONE,
        elements: &[1_u8, 2, 3, 4, 5, 6],
    };
    expected.assert_moved(rgb, &drops);
    let grey =
        Image::<LumaAlpha16> { data: vec![9, 8, 7, 6], width: 2, height: 1, _drop: drops.ticket() };
    let expected = Expected {
        shape: &[1, 2, 2],
        strides: &[4, 2, 1],
        flags: Flags::NONE,
        elements: &[9_u16, 8, 7, 6],
    };
    expected.assert_moved(grey, &drops);
}

#[test]
fn a_size_larger_than_the_buffer_is_an_error() {
    let drops = Drops::new();
    let image =
        |width, height| Image::<Rgb8> { data: vec![0; 6], width, height, _drop: drops.ticket() };
    let error = image(3, 1).into_dlpack().unwrap_err();
    assert_eq!(error, Error::OutOfBounds { start: 0, end: 9, len: 6 });
    assert_eq!(image(u32::MAX, u32::MAX).into_dlpack().unwrap_err(), Error::SizeOverflow);
    assert_eq!(drops.count(), 2);
}

/// A tuple struct has numbers for names.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Grey(
    #[dlpack(data)] Box<[u8]>,
    #[dlpack(shape)] [u16; 2],
    #[expect(dead_code, reason = "it is there to be dropped")] Ticket,
);

#[test]
fn an_image_without_names_is_exported() {
    let drops = Drops::new();
    let grey = Grey(Box::new([1, 2]), [2, 1], drops.ticket());
    let expected =
        Expected { shape: &[2, 1], strides: &[1, 1], flags: Flags::NONE, elements: &[1_u8, 2] };
    expected.assert_moved(grey, &drops);
}
