use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Samples {
    data: Vec<f32>,
    shape: [usize; 1],
}

pub fn export(mut samples: Samples) {
    let tensor = samples.into_dlpack();
    samples.data[0] = 1.0;
    drop(tensor);
}

fn main() {}
