//! The window of imported memory: offsets count from the lowest element, on every device, and
//! nothing else of the object behind a handle is exported.

use core::slice;

use dlpack_tests::foreign::{Farewell, ImportedStorage as Consumer};
use tensors::ffi;
use tensors::{
    AsLayout, DLPackExport, DLPackImport, DataRef, Describe, Description, Device, Error,
    ImportedStorage, SharedOwner, Storage,
};

use crate::import::forge::{Forged, forged, import};

/// Devices whose `data` is an address, and devices whose `data` is a handle.
const DEVICES: [Device; 6] = [
    Device::CPU,
    Device::cuda(1),
    Device::new(ffi::kDLExtDev, 0),
    Device::new(ffi::kDLTPU, 2),
    Device::new(ffi::kDLOpenCL, 0),
    Device::new(ffi::kDLVulkan, 0),
];

/// Memory of the host that a driver presents as that of another device.
const UNIFIED: Device = Device::new(ffi::kDLExtDev, 0);

/// Fields that the user chooses, over memory of another library.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Chosen {
    data: ImportedStorage,
    shape: Vec<i64>,
    strides: Vec<i64>,
    #[dlpack(offset(bytes))]
    offset: usize,
}

/// The same without a field for an offset.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Strided {
    data: ImportedStorage,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Shape {
    data: ImportedStorage,
    shape: Vec<i64>,
}

/// Three of nine numbers, on a device.
fn part(device: Device, shape: &[i64], strides: &[i64], byte_offset: u64) -> ImportedStorage {
    let case = forged(shape, &[0, 1, 2, 3, 4, 5, 6, 7, 8]).strided(strides, byte_offset);
    ImportedStorage::new(Forged { device, ..case }.imported()).unwrap()
}

/// Where a consumer finds the first element, and the strides.
fn found(tensor: &impl DLPackExport) -> ((usize, u64), Vec<i64>) {
    let consumer = Consumer::from(tensor.to_dlpack().unwrap());
    let place = (consumer.tensor().data.addr(), consumer.tensor().byte_offset);
    let strides = consumer.strides();
    consumer.delete(Farewell::Plain);
    (place, strides)
}

/// A consumer writes what it received while the producer reads its own elements below. Miri reports
/// a write of an element that was never lent.
#[test]
fn bytes_below_an_import_are_not_exported() {
    let data = part(UNIFIED, &[3], &[1], 12);
    let pool = data.imported().data_ptr();
    // SAFETY: the first three numbers of the pool, which the producer did not lend.
    let neighbour = unsafe { slice::from_raw_parts(pool, 12) };
    let mut found = Vec::new();
    for offset in [0, 4, 8] {
        let mine = Chosen { data: data.clone(), shape: vec![1], strides: vec![1], offset };
        let tensor = Consumer::from(mine.to_dlpack().unwrap());
        assert!(tensor.is_writable());
        let at = usize::try_from(tensor.tensor().byte_offset).unwrap();
        let first = tensor.tensor().data.wrapping_byte_add(at).cast::<i32>();
        // SAFETY: the tensor is writable, and describes an element there.
        unsafe { first.write(-1) };
        tensor.delete(Farewell::Plain);
        found.push(at);
    }
    assert_eq!(found, [12, 16, 20]);
    assert_eq!(neighbour, [0, 1, 2].map(i32::to_ne_bytes).as_flattened());
    let above = Chosen { data: data.clone(), shape: vec![1], strides: vec![1], offset: 12 };
    let above = above.to_dlpack().map(drop);
    assert_eq!(above, Err(Error::OutOfBounds { start: 12, end: 16, len: 12 }));
    let below = Chosen { data, shape: vec![2], strides: vec![-1], offset: 0 }.to_dlpack().map(drop);
    assert_eq!(below, Err(Error::OutOfBounds { start: -4, end: 4, len: 12 }));
}

/// Offsets have one meaning on all devices, and a description of the whole import its place.
#[test]
fn an_offset_of_zero_is_the_lowest_element() {
    let layouts: [(&[i64], &[i64], u64); 7] = [
        (&[3], &[1], 12),
        (&[3], &[-1], 20),
        (&[2, 2], &[-3, 1], 12),
        (&[2, 3], &[1, 2], 4),
        (&[4, 2], &[0, 1], 28),
        (&[2], &[-4], 32),
        (&[], &[], 16),
    ];
    for device in DEVICES {
        for (shape, strides, byte_offset) in layouts {
            let data = part(device, shape, strides, byte_offset);
            let tensor = data.imported();
            let place = (tensor.data_ptr().addr(), tensor.byte_offset());
            let expected = (place, strides.to_vec());
            assert_eq!(found(&data), expected);
            let below: i64 =
                shape.iter().zip(strides).map(|(dim, stride)| (dim - 1) * stride.min(&0)).sum();
            let offset = usize::try_from(-4 * below).unwrap();
            let case = format!("{device} {shape:?} {strides:?}");
            let (shape, strides) = (shape.to_vec(), strides.to_vec());
            let alone = Shape { data: data.clone(), shape: shape.clone() };
            assert_eq!(found(&alone), expected, "{case}");
            if offset == 0 {
                let (data, shape, strides) = (data.clone(), shape.clone(), strides.clone());
                assert_eq!(found(&Strided { data, shape, strides }), expected, "{case}");
            }
            let whole = Chosen { data: data.clone(), shape, strides, offset };
            assert_eq!(found(&whole), expected, "{case}");
            let lowest = Chosen { data, shape: vec![1], strides: vec![1], offset: 0 };
            let (lowest, _) = found(&lowest);
            let distance = (place.0 as u64 + place.1) - (lowest.0 as u64 + lowest.1);
            assert_eq!(distance, offset as u64, "{case}");
        }
    }
}

/// The fields of a struct that is made of a tensor, on a device with handles as in memory of the
/// host.
#[test]
fn fields_of_an_import_do_not_depend_on_the_device() {
    for device in DEVICES {
        let import = |strides: &[i64], byte_offset| {
            let case = forged(&[2], &[0, 1, 2, 3, 4, 5]).strided(strides, byte_offset);
            Forged { device, ..case }.imported()
        };
        let chosen = Chosen::from_dlpack(import(&[1], 8)).unwrap();
        assert_eq!((chosen.offset, &chosen.strides[..]), (0, &[1][..]), "{device}");
        let reversed = Chosen::from_dlpack(import(&[-2], 16)).unwrap();
        assert_eq!((reversed.offset, &reversed.strides[..]), (8, &[-2][..]), "{device}");
        let place = import(&[2], 8).byte_offset();
        let strided = Strided::from_dlpack(import(&[2], 8)).unwrap();
        assert_eq!(import_again(&strided).byte_offset(), place, "{device}");
        assert!(Strided::from_dlpack(import(&[-2], 16)).is_err(), "{device}");
        let shape = Shape::from_dlpack(import(&[-2], 16)).unwrap();
        assert_eq!(import_again(&shape).strides(), [-2], "{device}");
    }
}

fn import_again(tensor: &impl DLPackExport) -> tensors::ImportedTensor {
    import(tensor.to_dlpack().unwrap())
}

/// A tensor in one import, whose other owner is another import.
struct Elsewhere {
    data: ImportedStorage,
    other: ImportedStorage,
}

impl DLPackExport for Elsewhere {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.layout(self.data.layout()).data(self.data.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }
}

impl Storage for Elsewhere {
    fn data(&self) -> DataRef<'_> {
        self.data.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.other.clone())
    }
}

/// Two imports of one object have windows of their own.
#[test]
fn another_window_of_the_object_is_another_memory() {
    let at = |dim, byte_offset| {
        let case = Forged { address: Some(64), device: UNIFIED, ..forged(&[dim], &[]) };
        ImportedStorage::new(Forged { byte_offset, ..case }.imported()).unwrap()
    };
    let export = |other| Elsewhere { data: at(3, 12), other }.to_dlpack().map(drop);
    for other in [at(3, 24), at(3, 16), at(3, 8), at(3, 0), at(2, 12)] {
        assert_eq!(export(other), Err(Error::ShareOutOfRange));
    }
    for other in [at(3, 12), at(4, 12), at(4, 8), at(9, 0)] {
        assert_eq!(export(other), Ok(()));
    }
}
