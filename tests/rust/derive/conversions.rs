//! Fields of the user's own types as `data`, `dtype` and `device`.

use tensors::{DLPackExport, DataMut, DataRef, DataType, Device, Error, Storage};

/// Private to this module, in a public struct.
#[derive(Clone, Debug)]
enum Kind {
    Half,
    Named(String),
}

impl From<Kind> for DataType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Half => DataType::F16,
            Kind::Named(name) => DataType::from_name(&name).unwrap_or(DataType::U8),
        }
    }
}

#[derive(Clone, Debug)]
enum Place {
    Host,
    Gpu(i32),
}

impl From<Place> for Device {
    fn from(place: Place) -> Self {
        match place {
            Place::Host => Device::CPU,
            Place::Gpu(id) => Device::cuda(id),
        }
    }
}

/// Bytes that are aligned for every element type.
#[derive(Debug)]
struct Samples(Vec<u64>);

impl Storage for Samples {
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(bytemuck::cast_slice::<u64, u8>(&self.0))
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(bytemuck::cast_slice_mut::<u64, u8>(&mut self.0))
    }
}

/// Public, with private types in its roles.
#[derive(Debug, DLPackExport)]
#[dlpack(crate = ::tensors)]
pub(crate) struct Recording {
    data: Samples,
    shape: [usize; 1],
    dtype: Kind,
    device: Place,
}

fn recording(shape: [usize; 1], dtype: Kind, device: Place) -> Recording {
    Recording { data: Samples(vec![0]), shape, dtype, device }
}

#[test]
fn types_and_devices_are_converted() {
    let half = recording([4], Kind::Half, Place::Host);
    let seen = half.tensor().unwrap();
    assert_eq!((seen.dtype(), seen.device()), (DataType::F16, Device::CPU));
    let named = recording([2], Kind::Named("float32".to_owned()), Place::Host);
    assert_eq!(named.into_dlpack().unwrap().dtype(), DataType::F32);
}

#[test]
fn the_device_is_checked() {
    let lost = recording([4], Kind::Half, Place::Gpu(1));
    let expected = Error::DeviceMismatch { device: Device::cuda(1), storage: Device::CPU };
    assert_eq!(lost.tensor().unwrap_err(), expected);
    assert_eq!(lost.into_dlpack().unwrap_err(), expected);
}
