//! The expansions that are kept for review in `dlpack-derive/tests/expand` are
//! what they look like: Rust that compiles without a warning, and works.

#[deny(warnings, clippy::pedantic)]
#[forbid(unsafe_code)]
mod image {
    include!("../../dlpack-derive/tests/expand/image.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[forbid(unsafe_code)]
mod every_role {
    use std::sync::Arc;

    use tensors::{DataType, Device};

    include!("../../dlpack-derive/tests/expand/every_role.expanded.rs");
}

#[deny(warnings, clippy::pedantic)]
#[forbid(unsafe_code)]
mod generic {
    use tensors::{AsDims, Element};

    include!("../../dlpack-derive/tests/expand/generic.expanded.rs");
}

use std::sync::Arc;

use tensors::{DLPackExport, DataType, Device};

#[test]
fn the_smallest_struct() {
    let image = image::Image { data: vec![0; 12], shape: [2, 2, 3] };
    assert_eq!(image.into_dlpack().unwrap().shape(), [2, 2, 3]);
}

#[test]
fn every_role() {
    let packet = every_role::Packet {
        bytes: Arc::new([0; 9]),
        extents: [2, 2],
        steps: [4, 1],
        byte_offset: 1,
        dtype: DataType::I8,
        device: Device::CPU,
        name: "packet",
    };
    assert_eq!(packet.name, "packet");
    assert_eq!(packet.to_dlpack().unwrap().strides(), [4, 1]);
}

#[test]
fn generic() {
    let batch = generic::Batch::<'_, _, _, 2> { data: &[0_i32; 12], strides: [6, 2, 1] };
    assert_eq!(batch.tensor().unwrap().shape(), [2, 3, 2]);
}
