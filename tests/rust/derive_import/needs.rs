//! Requirements that follow from two attributes together, but from neither alone.

use tensors::{DLPackExport, DLPackImport, DataType, Flags, ImportedStorage, Order};

use super::forge::{Forged, forged, import};
use super::{built, bytes, refused};

/// Contiguous in one of the two orders, which a field stores.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct EitherOrder {
    data: ImportedStorage<i32>,
    shape: [u8; 2],
    #[dlpack(order)]
    fastest: Order,
}

#[test]
fn contiguous_tensors_of_either_order_are_accepted() {
    let numbers = [0, 1, 2, 3, 4, 5];
    for (strides, order) in [([3, 1], Order::RowMajor), ([1, 2], Order::ColumnMajor)] {
        let case = forged(&[2, 3], &numbers).strided(&strides, 0);
        let tensor: EitherOrder = built(&case).unwrap();
        assert_eq!((tensor.shape, tensor.fastest), ([2, 3], order));
        let again = import(tensor.into_dlpack().unwrap());
        assert_eq!(again.strides(), strides);
    }
    let apart = forged(&[2, 2], &numbers).strided(&[3, 1], 0);
    let text = refused::<EitherOrder>(&apart);
    assert!(text.contains(": expected contiguous elements"), "{text}");
}

/// An element type that is known at run time, with a byte for each element of a narrower
/// type.
#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
enum Kind {
    I32,
    U8,
    #[dlpack(dtype = FLOAT6_E2M3FN)]
    F6,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, padded)]
struct Padded {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: [u8; 1],
    dtype: Kind,
}

/// Elements of whole bytes are neither packed nor padded.
#[test]
fn whole_bytes_are_never_padded() {
    let padded: Padded = built(&bytes(&[4])).unwrap();
    assert_eq!((&padded.data[..], padded.dtype), (&[0, 1, 2, 3][..], Kind::U8));
    let padded: Padded = built(&forged(&[1], &[7])).unwrap();
    assert_eq!((padded.data, padded.dtype), (7_i32.to_ne_bytes().to_vec(), Kind::I32));
    let narrow = Forged { dtype: DataType::FLOAT6_E2M3FN, ..bytes(&[4]) };
    assert!(refused::<Padded>(&narrow).contains("expected elements that take a byte each"));
    let narrow = Forged { flags: Flags::IS_SUBBYTE_TYPE_PADDED, ..narrow };
    assert_eq!(built::<Padded>(&narrow).unwrap().dtype, Kind::F6);
}

/// Strides, and no offset for elements before the first one.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Strided {
    data: ImportedStorage<u8>,
    shape: [u8; 2],
    strides: [i8; 2],
}

/// A stride of 0 is not negative.
#[test]
fn an_axis_with_a_negative_stride_is_named() {
    let text = refused::<Strided>(&bytes(&[2, 3]).strided(&[0, -1], 2));
    assert!(text.contains("expected stride 1 to be at least 0, got -1"), "{text}");
}

/// A window of a larger buffer, which begins at the first element.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Window {
    data: ImportedStorage<u8>,
    shape: [u8; 2],
    strides: [i8; 2],
    #[dlpack(offset(bytes))]
    start: usize,
    #[dlpack(len(bytes))]
    len: usize,
}

/// A negative stride reaches elements before the first one only along an axis of several.
#[test]
fn nothing_lies_before_a_window() {
    let window: Window = built(&bytes(&[1, 3]).strided(&[-3, 1], 0)).unwrap();
    assert_eq!((window.shape, window.strides, window.start), ([1, 3], [-3, 1], 0));
    let text = refused::<Window>(&bytes(&[2, 3]).strided(&[-3, 1], 3));
    assert!(text.contains("stride 0") && text.contains("got -3"), "{text}");
}

/// Three bytes, of a tensor with its own dtype.
#[derive(Clone, Copy, Debug, PartialEq, tensors::Element)]
#[dlpack(crate = ::tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Pixels {
    #[dlpack(copy)]
    data: Vec<Rgb>,
    shape: [u8; 1],
    dtype: Kind,
}

/// Bytes hold anything, but not these: they are numbers of a type, three at a time.
#[test]
fn byte_arrays_take_byte_tensors_only() {
    let pixels: Pixels = built(&bytes(&[2, 3])).unwrap();
    assert_eq!(pixels.data, [Rgb([0, 1, 2]), Rgb([3, 4, 5])]);
    assert_eq!((pixels.shape, pixels.dtype), ([2], Kind::U8));
    let text = refused::<Pixels>(&forged(&[2, 3], &[0, 1, 2, 3, 4, 5]));
    assert!(text.contains("`Pixels`: expected uint8, got int32"), "{text}");
    let text = refused::<Pixels>(&bytes(&[3, 2]));
    assert!(text.contains("expected [3] as the last dimensions"), "{text}");
}
