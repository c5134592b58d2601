use dlpack_traits::{
    DLPackExport, Describe, Description, Error, ImportedTensor, ManagedTensor, Storage,
};

pub struct Borrowed<'a>(&'a [f32]);

impl DLPackExport for Borrowed<'_> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).data(self.0.data())
    }
}

pub fn borrowed_owner() -> Result<ManagedTensor, Error> {
    let local = [1.0, 2.0];
    Borrowed(&local).into_dlpack()
}

pub fn elements_outlive_tensor(tensor: ImportedTensor) -> Result<f32, Error> {
    let elements = tensor.elements::<f32>()?;
    drop(tensor);
    elements.load(&[0])
}

pub fn exclusive_of_shared(tensor: &ImportedTensor) -> Result<(), Error> {
    tensor.exclusive()?.as_mut_slice::<f32>()?[0] = 1.0;
    Ok(())
}

pub fn two_exclusive(tensor: &mut ImportedTensor) -> Result<(), Error> {
    let mut one = tensor.exclusive()?;
    let mut two = tensor.exclusive()?;
    one.as_mut_slice::<f32>()?[0] = 1.0;
    two.as_mut_slice::<f32>()?[0] = 2.0;
    Ok(())
}

#[derive(DLPackExport)]
pub struct Samples {
    data: Vec<f32>,
    shape: [usize; 1],
}

pub fn used_after_export(mut samples: Samples) {
    let tensor = samples.into_dlpack();
    samples.data[0] = 1.0;
    drop(tensor);
}

pub fn view_outlives_tensor(tensor: ImportedTensor) -> Result<f32, Error> {
    // SAFETY: nobody writes.
    let elements = unsafe { tensor.assume_frozen() }.as_slice::<f32>()?;
    drop(tensor);
    Ok(elements[0])
}

#[derive(DLPackExport)]
pub struct Window<'a> {
    data: &'a [u8],
    shape: [usize; 2],
}

pub fn outlives_its_memory(window: Window<'_>) {
    let _ = window.into_dlpack();
}

fn main() {}
