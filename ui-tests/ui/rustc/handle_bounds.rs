use std::sync::MutexGuard;

use dlpack_traits::{
    DLPackExport, Describe, Description, Element, Error, Exclusive, ImportedStorage,
    ImportedTensor, ManagedTensor, Readable, SharedBuffer, Storage, ffi::DLManagedTensorVersioned,
};

pub fn bools_to_write(mut mask: Exclusive<'_>) -> Result<(), Error> {
    mask.as_mut_slice::<bool>()?.fill(false);
    Ok(())
}

pub fn another<T: Clone>(tensor: &T) -> T {
    tensor.clone()
}

pub fn cloned_owner(tensor: &ManagedTensor) -> ManagedTensor {
    another(tensor)
}

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Rgb([u8; 3]);

pub fn element_of_unknown_bits(image: &ImportedTensor) -> Result<(), Error> {
    let _ = image.elements::<Rgb>()?;
    Ok(())
}

pub fn blocks_without_a_bound<T: Readable>(tensor: &ImportedTensor) -> Result<(), Error> {
    tensor.elements::<T>()?.for_each_block(|block| drop(block.len()));
    Ok(())
}

pub fn changes_without_a_bound<T: Readable>(tensor: &mut ImportedTensor) -> Result<(), Error> {
    tensor.elements_mut::<T>()?.map_in_place(|element| element);
    Ok(())
}

pub struct Locked(MutexGuard<'static, Vec<f32>>);

impl DLPackExport for Locked {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).data(self.0.data())
    }
}

pub fn guard_as_owner(locked: Locked) -> Result<ManagedTensor, Error> {
    locked.into_dlpack()
}

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Celsius(f32);

pub fn shared_elements_of_unknown_bits(temperatures: &[Celsius]) -> Result<SharedBuffer<Celsius>, Error> {
    SharedBuffer::from_slice(temperatures)
}

pub fn untyped_elements(any: &ImportedStorage) -> Result<(), Error> {
    let _ = any.elements()?;
    Ok(())
}

pub fn field_of_owner(tensor: ManagedTensor) -> *mut DLManagedTensorVersioned {
    tensor.owner.as_ptr()
}

fn main() {}
