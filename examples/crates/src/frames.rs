//! Frames with padded rows, as cameras and decoders of videos write them. Here they are
//! `image::FlatSamples`; the buffers of `gstreamer` and `ffmpeg` have the same numbers.
#![forbid(unsafe_code)]

use dlpack_traits::DLPackExport;
use image::flat::{FlatSamples, SampleLayout};

/// A frame in any order of its axes.
#[derive(DLPackExport)]
pub struct Frame {
    #[dlpack(data)]
    samples: Vec<u8>,
    shape: [usize; 3],
    strides: [usize; 3],
}

impl From<FlatSamples<Vec<u8>>> for Frame {
    fn from(frame: FlatSamples<Vec<u8>>) -> Self {
        let SampleLayout { channels, channel_stride, width, width_stride, height, height_stride } =
            frame.layout;
        Self {
            samples: frame.samples,
            shape: [height as usize, width as usize, channels.into()],
            strides: [height_stride, width_stride, channel_stride],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(height_stride: usize) -> SampleLayout {
        SampleLayout {
            channels: 3,
            channel_stride: 1,
            width: 2,
            width_stride: 3,
            height: 2,
            height_stride,
        }
    }

    #[test]
    fn padded_rows_are_exported_zero_copy() {
        let samples: Vec<u8> = (0..16).collect();
        let address = samples.as_ptr();
        let frame = FlatSamples { samples, layout: layout(8), color_hint: None };
        let tensor = Frame::from(frame).into_dlpack().unwrap().import().unwrap();
        assert_eq!((tensor.data_ptr(), tensor.strides()), (address, &[8, 3, 1][..]));
        let samples = tensor.elements::<u8>().unwrap().to_vec().unwrap();
        assert_eq!(samples, [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]);
    }

    #[test]
    fn rows_beyond_the_buffer_are_rejected() {
        let frame = FlatSamples { samples: vec![0; 13], layout: layout(8), color_hint: None };
        assert!(Frame::from(frame).into_dlpack().is_err());
    }
}
