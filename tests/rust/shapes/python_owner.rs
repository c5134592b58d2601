//! One object that many consumers hold at once, as a class of a scripting
//! language is: every export is one more owner, and the last one frees.
//!
//! The tests of the Python extension check an export whose owner is the Python
//! object itself.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::thread;

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataMut, DataRef, Flags, SharedBuffer, Storage};

use super::consumer::Expected;

/// A storage whose drop is counted.
struct Counted(Vec<u8>, #[expect(dead_code, reason = "it is there to be dropped")] Ticket);

impl Storage for Counted {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(&self.0)
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(&mut self.0)
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(height, width))]
struct Object {
    data: Arc<Counted>,
    height: usize,
    width: usize,
}

#[test]
fn many_consumers_read_one_object() {
    let drops = Drops::new();
    let data = Arc::new(Counted(vec![1, 2, 3, 4, 5, 6], drops.ticket()));
    let object = Object { data, height: 2, width: 3 };
    let expected = Expected {
        shape: &[2, 3],
        strides: &[3, 1],
        flags: Flags::READ_ONLY,
        elements: &[1_u8, 2, 3, 4, 5, 6],
    };
    let exports: Vec<ImportedStorage> =
        (0..4).map(|_| ImportedStorage::from(object.to_dlpack().unwrap())).collect();
    drop(object);
    let readers = exports.into_iter().map(|foreign| {
        let drops = drops.clone();
        thread::spawn(move || {
            expected.assert_found(&foreign);
            assert_eq!(drops.count(), 0);
            foreign
        })
    });
    let readers: Vec<_> = readers.collect();
    let mut exports: Vec<ImportedStorage> =
        readers.into_iter().map(|reader| reader.join().expect("it reads")).collect();
    let last = exports.pop().expect("there are four");
    for foreign in exports {
        foreign.delete_elsewhere(Farewell::Narrow);
    }
    expected.assert_found(&last);
    assert_eq!(drops.count(), 0);
    last.delete_elsewhere(Farewell::CopyOfWiped);
    assert_eq!(drops.count(), 1);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Canvas {
    data: SharedBuffer<i32>,
    shape: [usize; 1],
    _drop: Ticket,
}

#[test]
fn many_consumers_write_one_object() {
    let drops = Drops::new();
    let data = SharedBuffer::from_slice(&[1, 2]).unwrap();
    let canvas = Canvas { data: data.clone(), shape: [2], _drop: drops.ticket() };
    let [first, second] = [(); 2].map(|()| ImportedStorage::from(canvas.to_dlpack().unwrap()));
    first.write(|element: i32| element * 10);
    data.store(1, 7);
    let expected = Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[10, 7] };
    expected.assert_found(&second);
    first.delete_elsewhere(Farewell::Narrow);
    expected.assert_moved(canvas, &drops);
    assert_eq!(second.elements::<i32>(), [7, 10], "the moved export was written backwards");
    second.delete(Farewell::Plain);
    assert_eq!(data.to_vec(), [7, 10]);
}
