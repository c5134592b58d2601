//! Reference-counted bytes, a shape type of the project's own, and a run-time
//! element type.

#![forbid(unsafe_code)]

use bytes::Bytes;
use dlpack_tests::counted::{Drops, Ticket};
use tensors::{AsDims, DLPackExport, DataType, Error, Flags};

use super::consumer::Expected;

/// The project's own list of extents.
#[derive(Clone, Debug)]
struct Extents(Vec<usize>);

impl AsDims for Extents {
    type Dim = usize;

    fn as_dims(&self) -> &[usize] {
        &self.0
    }
}

#[derive(Clone, Copy, Debug, DataType)]
#[dlpack(crate = ::tensors)]
enum Scalar {
    F32,
    I16,
    U8,
    /// Its width is another type's business.
    #[dlpack(skip)]
    QFloat,
}

/// Data on its way from or to a file.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Parcel {
    #[dlpack(data)]
    bytes: Bytes,
    shape: Extents,
    dtype: Scalar,
    _drop: Ticket,
}

/// Bytes that an owner with a higher alignment holds.
fn bytes_of<T: bytemuck::Pod + Send + Sync>(elements: Vec<T>) -> Bytes {
    struct AsBytes<T>(Vec<T>);
    impl<T: bytemuck::Pod> AsRef<[u8]> for AsBytes<T> {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    Bytes::from_owner(AsBytes(elements))
}

#[test]
fn each_element_type_is_exported() {
    let drops = Drops::new();
    let parcel = Parcel {
        bytes: bytes_of(vec![1.0_f32, -2.0]),
        shape: Extents(vec![2, 1]),
        dtype: Scalar::F32,
        _drop: drops.ticket(),
    };
    let expected = Expected {
        shape: &[2, 1],
        strides: &[1, 1],
        flags: Flags::READ_ONLY,
        elements: &[1.0_f32, -2.0],
    };
    expected.assert_shared(&parcel);
    expected.assert_moved(parcel, &drops);

    let bytes = Bytes::from_static(&[1, 2, 3]);
    let parcel =
        Parcel { bytes, shape: Extents(vec![3]), dtype: Scalar::U8, _drop: drops.ticket() };
    let expected =
        Expected { shape: &[3], strides: &[1], flags: Flags::READ_ONLY, elements: &[1_u8, 2, 3] };
    expected.assert_moved(parcel, &drops);
}

/// A slice of bytes begins where it begins, and not where its owner does.
#[test]
fn a_slice_of_another() {
    let drops = Drops::new();
    let bytes = bytes_of(vec![1_i16, 2, 3, 4]).slice(2..6);
    let parcel =
        Parcel { bytes, shape: Extents(vec![2]), dtype: Scalar::I16, _drop: drops.ticket() };
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[2_i16, 3] };
    expected.assert_shared(&parcel);
    let misplaced = Parcel { bytes: parcel.bytes.slice(1..3), shape: Extents(vec![1]), ..parcel };
    let error = misplaced.tensor().map(|_| ()).unwrap_err();
    assert_eq!(error, Error::Misaligned { dtype: DataType::I16, align: 2 });
    drop(misplaced);
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_type_that_dlpack_does_not_have() {
    let drops = Drops::new();
    let parcel = Parcel {
        bytes: Bytes::new(),
        shape: Extents(vec![0]),
        dtype: Scalar::QFloat,
        _drop: drops.ticket(),
    };
    assert_eq!(parcel.into_dlpack().unwrap_err(), Error::NoDType { variant: "QFloat" });
}
