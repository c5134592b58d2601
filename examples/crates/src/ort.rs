//! `ort`: an input borrows an imported slice, and an output lends its elements.
//!
//! The tests need ONNX Runtime, whose path is in the environment variable `ORT_DYLIB_PATH`, so
//! they are behind the feature `ort`.
#![forbid(unsafe_code)]

use dlpack_traits::{DLPackExport, Error, OwnedSlice};
use ort::session::Session;
use ort::value::{Tensor, TensorRef};

/// An output of a session, on the CPU.
#[derive(DLPackExport)]
pub struct Output {
    #[dlpack(data, slice = f32, with = elements)]
    tensor: Tensor<f32>,
    shape: Vec<i64>,
}

fn elements(tensor: &Tensor<f32>) -> &[f32] {
    tensor.extract_tensor().1
}

impl TryFrom<Tensor<f32>> for Output {
    type Error = Error;

    fn try_from(tensor: Tensor<f32>) -> Result<Self, Error> {
        if !tensor.memory_info().is_cpu_accessible() {
            return Err(Error::Custom("the output is not in memory of the CPU"));
        }
        let shape = tensor.shape().to_vec();
        Ok(Self { tensor, shape })
    }
}

/// Runs a model with one input and one output. The input is borrowed, zero-copy.
///
/// # Errors
///
/// Those of the session, and [`Error::Custom`] for an output on another device.
pub fn run(
    session: &mut Session,
    input: &OwnedSlice<f32>,
) -> Result<Output, Box<dyn core::error::Error>> {
    let input = TensorRef::from_array_view((input.tensor().shape().to_vec(), &**input))?;
    let mut outputs = session.run(ort::inputs![input])?;
    let name = outputs.keys().next().ok_or("the model has no output")?.to_owned();
    let output = outputs.remove(name).ok_or("the model has no output")?;
    Ok(Output::try_from(output.downcast()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_traits::OwnedTensor;

    /// A model that adds its input `x` to itself: `y = x + x`.
    const DOUBLE: &[u8] = b"\x08\x08:7\n\x0e\n\x01x\n\x01x\x12\x01y\"\x03Add\x12\x01gZ\x10\n\x01x\x12\x0b\n\t\x08\x01\x12\x05\n\x03\x12\x01nb\x10\n\x01y\x12\x0b\n\t\x08\x01\x12\x05\n\x03\x12\x01nB\x04\n\x00\x10\r";

    #[test]
    fn addresses_are_equal_in_both_directions() {
        let array = OwnedTensor::new(vec![1.0_f32, 2.0], &[2]).unwrap();
        let tensor = array.into_dlpack().unwrap().import().unwrap();
        let address = tensor.data_ptr();
        let input = tensor.into_owned_slice::<f32>().unwrap();
        let borrowed = TensorRef::from_array_view(([2_usize], &*input)).unwrap();
        assert_eq!(borrowed.data_ptr().cast::<u8>(), address);
        drop(borrowed);

        let environment = ort::init().build().unwrap();
        let mut session =
            Session::builder(&environment).unwrap().commit_from_memory(DOUBLE).unwrap();
        let output = run(&mut session, &input).unwrap();
        let address = elements(&output.tensor).as_ptr();
        let tensor = output.into_dlpack().unwrap();
        drop((session, input, environment));
        assert_eq!((tensor.data_ptr(), tensor.shape()), (address.cast(), &[2][..]));
        let tensor = tensor.import().unwrap();
        assert_eq!(tensor.elements::<f32>().unwrap().to_vec().unwrap(), [2.0, 4.0]);
    }
}
