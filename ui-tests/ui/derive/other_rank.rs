use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(frames, bins), strides(hop))]
pub struct Spectrogram {
    data: Vec<f32>,
    frames: usize,
    bins: usize,
    hop: usize,
}

fn main() {}

pub fn compiles_all_the_same(spectrogram: Spectrogram) {
    let _ = spectrogram.into_dlpack();
}
