//! A storage with a variant for each device, one of them an enum again.

use dlpack_tests::counted::{Drops, Ticket};
use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, Device, Error, Flags, Storage};

use super::consumer::Expected;

/// Stand-ins for buffers of vendors.
mod vendor {
    use tensors::{DataMut, DataRef, DataType, Device, Error, Storage, StreamArg, Synchronize};

    /// Memory of the host that is pinned for an accelerator.
    pub(super) struct Pinned(pub(super) Box<[f32]>);

    impl Storage for Pinned {
        fn data(&self) -> DataRef<'_> {
            let len = size_of_val(&*self.0);
            // SAFETY: a slice is initialized and aligned, and is not written while it is
            // borrowed. The processor can read this device.
            let data = unsafe {
                DataRef::from_raw_parts(
                    self.0.as_ptr().cast(),
                    len,
                    DataType::F32,
                    Device::CUDA_HOST,
                )
            };
            // SAFETY: 1. and 2. No device works on it.
            unsafe { data.synchronized_by(&Idle) }
        }

        fn data_mut(&mut self) -> DataMut<'_> {
            let len = size_of_val(&*self.0);
            // SAFETY: as above, and the slice is borrowed uniquely.
            let data = unsafe {
                DataMut::from_raw_parts(
                    self.0.as_mut_ptr().cast(),
                    len,
                    DataType::F32,
                    Device::CUDA_HOST,
                )
            };
            // SAFETY: 1. and 2. No device works on it.
            unsafe { data.synchronized_by(&Idle) }
        }
    }

    /// Takes consumers on any stream.
    struct Idle;

    impl Synchronize for Idle {
        fn sync_for(&self, _consumer: StreamArg<'_>) -> Result<(), Error> {
            Ok(())
        }
    }

    /// A texture, which has no memory to export.
    pub(super) struct Texture(pub(super) u32);
}

use vendor::{Pinned, Texture};

#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Host {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

#[derive(Storage)]
#[dlpack(crate = ::tensors)]
enum Placed {
    Cpu(Host),
    Pinned(Pinned),
    #[dlpack(skip)]
    Texture(Texture),
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Tensor {
    data: Placed,
    shape: [u32; 1],
    _drop: Ticket,
}

fn tensor(data: Placed, drops: &Drops) -> Tensor {
    Tensor { data, shape: [2], _drop: drops.ticket() }
}

#[test]
fn host_variants_are_exported() {
    let drops = Drops::new();
    let single = tensor(Placed::Cpu(Host::Single(vec![1.0, 2.0])), &drops);
    let (shape, strides, flags) = (&[2][..], &[1][..], Flags::NONE);
    Expected { shape, strides, flags, elements: &[1.0_f32, 2.0] }.assert_moved(single, &drops);
    let double = tensor(Placed::Cpu(Host::Double(vec![1.0, 2.0])), &drops);
    Expected { shape, strides, flags, elements: &[1.0_f64, 2.0] }.assert_moved(double, &drops);
}

#[test]
fn the_device_is_that_of_the_variant() {
    let drops = Drops::new();
    let pinned = tensor(Placed::Pinned(Pinned(Box::new([1.0, 2.0]))), &drops);
    let foreign = ImportedStorage::from(pinned.into_dlpack().unwrap());
    assert_eq!(Device::from(foreign.tensor().device), Device::CUDA_HOST);
    assert_eq!((foreign.shape(), foreign.strides()), (vec![2], vec![1]));
    assert_eq!((foreign.elements::<f32>(), foreign.flags()), (vec![1.0, 2.0], 0));
    foreign.write(|element: f32| element * 2.0);
    assert_eq!(foreign.elements::<f32>(), [2.0, 4.0]);
    assert_eq!(drops.count(), 0);
    foreign.delete_elsewhere(Farewell::Narrow);
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_texture_is_an_error() {
    let drops = Drops::new();
    let texture = tensor(Placed::Texture(Texture(7)), &drops);
    assert!(matches!(texture.data, Placed::Texture(Texture(7))));
    assert_eq!(texture.into_dlpack().unwrap_err(), Error::NoStorage { variant: "Texture" });
    assert_eq!(drops.count(), 1);
}
