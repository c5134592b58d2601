//! Names of axes and of padding that are of another type, or of other things.

#![deny(warnings)]

use std::marker::PhantomData;
use std::time::Duration;

use dlpack_traits::DLPackExport;

#[derive(Debug, PartialEq)]
enum Format {
    Nhwc,
}

#[derive(DLPackExport)]
#[dlpack(skip(planar_bytes))]
struct Samples {
    #[dlpack(data)]
    interleaved: Vec<f32>,
    shape: [usize; 2],
    planar: Option<Vec<f32>>,
    planar_bytes: usize,
    top_down: Duration,
    semi_planar: String,
    phantom_planar: PhantomData<u8>,
    nhwc: Format,
}

#[derive(DLPackExport)]
#[dlpack(skip(text_padding, dna_padding, padding))]
struct Batch {
    data: Vec<u8>,
    shape: [usize; 2],
    interleaved: Vec<f32>,
    text_padding: u8,
    dna_padding: i64,
    /// The padding of a convolution.
    padding: usize,
}

fn main() {
    let samples = Samples {
        interleaved: vec![0.0; 4],
        shape: [2, 2],
        planar: None,
        planar_bytes: 8,
        top_down: Duration::ZERO,
        semi_planar: String::new(),
        phantom_planar: PhantomData,
        nhwc: Format::Nhwc,
    };
    assert_eq!(
        (&samples.planar, samples.planar_bytes, samples.top_down),
        (&None, 8, Duration::ZERO)
    );
    assert_eq!((&*samples.semi_planar, &samples.nhwc), ("", &Format::Nhwc));
    assert_eq!(samples.phantom_planar, PhantomData);
    assert_eq!(samples.tensor().unwrap().strides(), [2, 1]);

    let batch = Batch {
        data: vec![0; 4],
        shape: [2, 2],
        interleaved: Vec::new(),
        text_padding: b' ',
        dna_padding: -1,
        padding: 1,
    };
    assert_eq!((batch.text_padding, batch.dna_padding, batch.padding), (b' ', -1, 1));
    assert!(batch.interleaved.is_empty());
    assert_eq!(batch.tensor().unwrap().strides(), [2, 1]);
}
