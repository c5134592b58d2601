//! `nifti`: the voxels of an image in memory are the bytes of the file, in column-major order.
#![forbid(unsafe_code)]

use dlpack_traits::{DLPackExport, DataType, Error, ImportedTensor};
use nifti::{
    Endianness, InMemNiftiObject, InMemNiftiVolume, NiftiObject as _, NiftiType, NiftiVolume as _,
};

/// An image as it is in the file: without the factor and the summand of its header.
#[derive(DLPackExport)]
#[dlpack(shape = self.0.volume().dim(), order = column_major, dtype = dtype(&self.0))]
pub struct Voxels(#[dlpack(slice = u8, with = bytes)] pub InMemNiftiObject);

fn bytes(image: &InMemNiftiObject) -> &[u8] {
    image.volume().raw_data()
}

fn dtype(image: &InMemNiftiObject) -> Result<DataType, Error> {
    if image.header().endianness != Endianness::native() {
        return Err(Error::NotNativeEndian);
    }
    Ok(match image.volume().data_type() {
        NiftiType::Uint8 => DataType::U8,
        NiftiType::Int8 => DataType::I8,
        NiftiType::Uint16 => DataType::U16,
        NiftiType::Int16 => DataType::I16,
        NiftiType::Uint32 => DataType::U32,
        NiftiType::Int32 => DataType::I32,
        NiftiType::Uint64 => DataType::U64,
        NiftiType::Int64 => DataType::I64,
        NiftiType::Float32 => DataType::F32,
        NiftiType::Float64 => DataType::F64,
        NiftiType::Complex64 => DataType::COMPLEX64,
        NiftiType::Complex128 => DataType::COMPLEX128,
        _ => return Err(Error::Custom("colors and floats of 128 bits are not exported here")),
    })
}

/// Copies a tensor of `f32` into a volume, which owns a `Vec` of bytes.
///
/// # Errors
///
/// Those of [`ImportedTensor::elements`], and nifti's: a volume has 1 to 7 axes, of at most 65535.
pub fn to_volume(tensor: ImportedTensor) -> Result<InMemNiftiVolume, Box<dyn core::error::Error>> {
    let mut dim = [1; 8];
    dim[0] = tensor.ndim().try_into()?;
    for (dim, size) in dim[1..].iter_mut().zip(tensor.shape_usize()) {
        *dim = size.try_into()?;
    }
    let axes: Vec<usize> = (0..tensor.ndim()).rev().collect();
    let columns = tensor.permute(&axes)?;
    let bytes = columns.elements::<f32>()?.iter().flat_map(f32::to_ne_bytes).collect();
    let kind = NiftiType::Float32;
    Ok(InMemNiftiVolume::from_raw_fields(dim, kind, 1.0, 0.0, bytes, Endianness::native())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;
    use nifti::RandomAccessNiftiVolume as _;

    /// A file of 2 by 3 voxels with the values 0 to 5, in the order of the file.
    fn image(endianness: Endianness) -> InMemNiftiObject {
        let big = endianness == Endianness::Big;
        let two = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let four = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = vec![0; 352];
        file[..4].copy_from_slice(&four(348));
        for (index, dim) in [2, 2, 3, 1, 1, 1, 1, 1].into_iter().enumerate() {
            file[40 + 2 * index..][..2].copy_from_slice(&two(dim));
        }
        file[70..72].copy_from_slice(&two(NiftiType::Int16 as u16));
        file[72..74].copy_from_slice(&two(16));
        file[108..112].copy_from_slice(&four(352_f32.to_bits()));
        file[344..348].copy_from_slice(b"n+1\0");
        file.extend((0..6).flat_map(two));
        InMemNiftiObject::from_reader(&file[..]).unwrap()
    }

    #[test]
    fn voxels_are_exported_zero_copy_in_column_major_order() {
        let image = image(Endianness::native());
        let address = image.volume().raw_data().as_ptr();
        let tensor = Voxels(image).into_dlpack().unwrap().import().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.dtype()), (address, DataType::I16));
        assert_eq!((tensor.shape(), tensor.strides()), (&[2, 3][..], &[1, 2][..]));
        let voxels = tensor.elements::<i16>().unwrap().to_vec().unwrap();
        assert_eq!(voxels, [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn other_byte_order_is_rejected() {
        let swapped = Voxels(image(Endianness::native().to_opposite()));
        let message = swapped.into_dlpack().unwrap_err().to_string();
        assert!(message.contains("native byte order"), "{message}");
    }

    #[test]
    fn import_is_a_copy_in_column_major_order() {
        let array = |shape: &[usize]| {
            let values = (0..6).map(|n| n as f32).collect();
            OwnedTensor::new(values, shape).unwrap().into_dlpack().unwrap().import().unwrap()
        };
        let volume = to_volume(array(&[2, 3])).unwrap();
        assert_eq!(volume.dim(), [2, 3]);
        assert_eq!(volume.get_f32(&[1, 0]).unwrap(), 3.0);
        assert_eq!(volume.get_f32(&[0, 2]).unwrap(), 2.0);
        assert!(to_volume(array(&[1, 1, 1, 1, 1, 1, 2, 3])).is_err());
    }
}
