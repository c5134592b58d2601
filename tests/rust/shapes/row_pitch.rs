//! Rows that a device driver aligned: the pitch between rows is in bytes, and a field
//! name that looks like layout needs an attribute with its unit.

#![forbid(unsafe_code)]

use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Error, Flags};

use super::consumer::Expected;

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(height, width, 2), dtype = I16)]
struct Frame {
    #[dlpack(data)]
    mapped: Arc<[u8]>,
    width: u16,
    height: u16,
    #[dlpack(pitch(bytes))]
    pitch: u32,
    /// About another plane.
    #[dlpack(skip)]
    chroma_pitch: u32,
    _drop: Ticket,
}

fn frame(pitch: u32, drops: &Drops) -> Frame {
    let numbers = [1_i16, 2, -1, 3, 4, -1];
    let mapped = bytemuck::cast_slice(&numbers).into();
    Frame { mapped, width: 1, height: 2, pitch, chroma_pitch: pitch / 2, _drop: drops.ticket() }
}

#[test]
fn a_pitch_in_bytes() {
    let drops = Drops::new();
    let frame = frame(6, &drops);
    assert_eq!(frame.chroma_pitch, 3);
    let expected = Expected {
        shape: &[2, 1, 2],
        strides: &[3, 2, 1],
        flags: Flags::READ_ONLY,
        elements: &[1_i16, 2, 3, 4],
    };
    expected.assert_shared(&frame);
    expected.assert_moved(frame, &drops);
}

#[test]
fn a_pitch_that_splits_an_element_is_an_error() {
    let drops = Drops::new();
    let error = frame(5, &drops).into_dlpack().unwrap_err();
    assert_eq!(error, Error::PitchNotWhole { bytes: 5, bits: 16 });
    assert_eq!(drops.count(), 1);
}

/// The same with a stride for each axis, all of them in bytes.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Walk {
    data: Vec<f32>,
    shape: [usize; 2],
    #[dlpack(strides(bytes))]
    steps: [isize; 2],
    _drop: Ticket,
}

#[test]
fn strides_in_bytes() {
    let drops = Drops::new();
    let walk = |steps| Walk {
        data: vec![1.0, 2.0, 3.0, 4.0],
        shape: [2, 2],
        steps,
        _drop: drops.ticket(),
    };
    let expected = Expected {
        shape: &[2, 2],
        strides: &[1, 2],
        flags: Flags::NONE,
        elements: &[1.0_f32, 3.0, 2.0, 4.0],
    };
    expected.assert_moved(walk([4, 8]), &drops);
    let error = walk([8, 2]).into_dlpack().unwrap_err();
    assert_eq!(error, Error::StrideNotWhole { axis: 1, bytes: 2 });
}
