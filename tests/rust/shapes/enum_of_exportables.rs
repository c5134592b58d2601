//! An enum over tensors: one variant for each element type, owned or shared. The layout
//! needs no attribute.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Element, Error, Flags, SharedBuffer, Storage};

use super::consumer::Expected;

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Array<S: Storage> {
    data: S,
    shape: Vec<usize>,
    _drop: Ticket,
}

fn array<S: Storage>(data: S, drops: &Drops) -> Array<S> {
    Array { data, shape: vec![2], _drop: drops.ticket() }
}

/// Held alone or together with others.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
enum Held<T: Element> {
    Owned(Array<Vec<T>>),
    Shared { array: Array<Arc<[T]>> },
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
enum Number {
    F32(Held<f32>),
    U8(Held<u8>),
    Counter(Box<Array<SharedBuffer<i64>>>),
    #[dlpack(skip)]
    Text(String),
    #[dlpack(skip)]
    None,
}

#[test]
fn owned_variants_are_exported_by_value() {
    let drops = Drops::new();
    let number = Number::F32(Held::Owned(array(vec![0.5, 1.5], &drops)));
    assert_eq!(number.to_dlpack().unwrap_err(), Error::NotShareable);
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[0.5_f32, 1.5] };
    expected.assert_moved(number, &drops);
}

#[test]
fn shared_variants_are_exported_by_reference() {
    let drops = Drops::new();
    let data: Arc<[u8]> = Arc::new([1, 2]);
    let number = Number::U8(Held::Shared { array: array(Arc::clone(&data), &drops) });
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[1_u8, 2] };
    expected.assert_shared(&number);
    expected.assert_moved(number, &drops);
    assert_eq!(Arc::strong_count(&data), 1);
}

#[test]
fn variants_of_shared_memory_are_writable() {
    let drops = Drops::new();
    let data = SharedBuffer::from_slice(&[1_i64, 2]).unwrap();
    let number = Number::Counter(Box::new(array(data.clone(), &drops)));
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[1_i64, 2] };
    expected.assert_shared(&number);
    expected.assert_moved(number, &drops);
    assert_eq!(data.to_vec(), [2, 1], "the consumer wrote it backwards");
}

#[test]
fn a_variant_without_a_tensor_is_an_error() {
    for (number, variant) in [(Number::Text("two".to_owned()), "Text"), (Number::None, "None")] {
        assert_eq!(number.tensor().map(|_| ()).unwrap_err(), Error::NoStorage { variant });
        assert!(!matches!(&number, Number::Text(text) if text.is_empty()));
        let error = number.into_dlpack().unwrap_err();
        assert_eq!(error, Error::NoStorage { variant });
    }
}
