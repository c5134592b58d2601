//! `symphonia`: the planes of an `AudioBuffer` are one `Vec` per channel.
#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_traits::{DLPackExport, Error, ImportedTensor, OwnedTensor};
use symphonia_core::audio::{Audio, AudioBuffer, AudioMut, AudioSpec, Channels};

/// The samples of one channel, shared with the buffer.
#[derive(DLPackExport)]
#[dlpack(shape(self.0.samples().len()))]
pub struct Plane(#[dlpack(slice = f32, with = Channel::samples, shared)] Channel);

#[derive(Clone)]
struct Channel {
    buffer: Arc<AudioBuffer<f32>>,
    index: usize,
}

impl Channel {
    fn samples(&self) -> &[f32] {
        self.buffer.plane(self.index).unwrap_or_default()
    }
}

impl Plane {
    /// Selects a channel by its index in the order of the buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Custom`] for an index that the buffer does not have.
    pub fn new(buffer: &Arc<AudioBuffer<f32>>, index: usize) -> Result<Self, Error> {
        if index >= buffer.num_planes() {
            return Err(Error::Custom("the buffer has fewer channels"));
        }
        Ok(Self(Channel { buffer: buffer.clone(), index }))
    }
}

/// Copies all planes into one tensor of channels and frames.
///
/// # Errors
///
/// Those of [`OwnedTensor::new`].
pub fn planes_of(buffer: &AudioBuffer<f32>) -> Result<OwnedTensor<f32>, Error> {
    let samples = buffer.iter_planes().collect::<Vec<_>>().concat();
    OwnedTensor::new(samples, &[buffer.num_planes(), buffer.frames()])
}

/// Copies a tensor of channels and frames into a buffer.
///
/// # Errors
///
/// [`Error::Custom`] for another shape, and the errors of
/// [`Elements::copy_to_slice`](dlpack_traits::Elements::copy_to_slice).
pub fn to_audio(tensor: &ImportedTensor, rate: u32) -> Result<AudioBuffer<f32>, Error> {
    let &[channels @ 1..=0xFFFF, _] = tensor.shape() else {
        return Err(Error::Custom("expected an array of 1 to 65535 channels and their frames"));
    };
    let frames = tensor.shape_usize().next_back().unwrap_or(0);
    let samples = tensor.elements::<f32>()?;
    let spec = AudioSpec::new(rate, Channels::Discrete(channels as u16));
    let mut buffer = AudioBuffer::new(spec, frames);
    buffer.render_silence(None);
    let mut planes = buffer.iter_planes_mut();
    samples.for_each_row(|row| {
        if let Some(plane) = planes.next() {
            plane.copy_from_slice(row);
        }
    })?;
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stereo() -> Arc<AudioBuffer<f32>> {
        let spec = AudioSpec::new(48_000, Channels::Discrete(2));
        // The buffer has room for more frames than it has.
        let mut buffer = AudioBuffer::new(spec, 8);
        buffer.render_silence(Some(3));
        buffer.plane_mut(0).unwrap().copy_from_slice(&[1.0, 2.0, 3.0]);
        buffer.plane_mut(1).unwrap().copy_from_slice(&[4.0, 5.0, 6.0]);
        Arc::new(buffer)
    }

    #[test]
    fn one_plane_is_zero_copy_and_all_are_one_copy() {
        let buffer = stereo();
        let address = buffer.plane(1).unwrap().as_ptr();
        let tensor = Plane::new(&buffer, 1).unwrap().to_dlpack().unwrap().import().unwrap();
        let all = planes_of(&buffer).unwrap();
        drop(buffer);
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address.cast(), &[3][..]));
        assert_eq!(tensor.elements::<f32>().unwrap().to_vec().unwrap(), [4.0, 5.0, 6.0]);
        assert_eq!((all.shape(), all.as_slice()), (&[2, 3][..], &[1., 2., 3., 4., 5., 6.][..]));
    }

    #[test]
    fn import_copies_planes_of_any_order() {
        let interleaved =
            OwnedTensor::new(vec![1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0], &[3, 2]).unwrap();
        let frames = interleaved.into_dlpack().unwrap().import().unwrap();
        let buffer = to_audio(&frames.permute(&[1, 0]).unwrap(), 44_100).unwrap();
        assert_eq!((buffer.spec().rate(), buffer.num_planes(), buffer.frames()), (44_100, 2, 3));
        assert!(buffer.iter_planes().eq([&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]));
    }

    #[test]
    fn other_channels_and_shapes_are_rejected() {
        assert!(Plane::new(&stereo(), 2).is_err());
        for shape in [&[2][..], &[0, 2]] {
            let tensor = OwnedTensor::<f32>::zeroed(shape).unwrap().into_dlpack().unwrap();
            let error = to_audio(&tensor.import().unwrap(), 44_100).err().unwrap().to_string();
            assert!(error.contains("channels and their frames"), "{error}");
        }
    }
}
