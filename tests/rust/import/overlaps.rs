//! Whether two tensors share memory.

use std::collections::HashSet;

use dlpack_tests::counted::Owner;
use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::ffi;
use tensors::{DLPackExport, Device, ImportedTensor, SharedBuffer};

use crate::import::forge::{Forged, forged};

const LEN: usize = 48;

/// A part of a buffer, if it lies within.
fn part(
    data: &SharedBuffer<i16>,
    offset: i64,
    shape: &[i64],
    strides: &[i64],
) -> Option<ImportedTensor> {
    let owner = Owner::new(data.clone(), shape).strided(strides, offset.unsigned_abs() * 2);
    Some(owner.to_dlpack().ok()?.import().unwrap())
}

#[test]
fn parts_of_one_buffer_overlap_if_they_have_an_element_in_common() {
    let data = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    let part =
        |offset, shape: &[i64], strides: &[i64]| part(&data, offset, shape, strides).unwrap();
    let all = part(0, &[48], &[1]);
    for (first, second, expected) in [
        (part(0, &[4], &[1]), part(4, &[4], &[1]), false),
        (part(0, &[4], &[1]), part(3, &[4], &[1]), true),
        // Channels of an image of 4 x 3 pixels.
        (part(0, &[4, 3], &[9, 3]), part(1, &[4, 3], &[9, 3]), false),
        (part(0, &[4, 3], &[9, 3]), part(0, &[4, 9], &[9, 1]), true),
        (part(0, &[4], &[2]), part(7, &[4], &[-2]), false),
        (part(0, &[4], &[2]), part(6, &[4], &[-2]), true),
        (part(5, &[], &[]), part(5, &[1], &[7]), true),
        (part(5, &[], &[]), part(6, &[], &[]), false),
        (part(5, &[0], &[1]), part(0, &[48], &[1]), false),
    ] {
        assert_eq!(first.overlaps(&second), expected, "{first:?} {second:?}");
        assert_eq!(second.overlaps(&first), expected, "{second:?} {first:?}");
        assert_eq!(first.overlaps(&all), !first.shape().contains(&0));
    }
    let other = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    assert!(!all.overlaps(&self::part(&other, 0, &[48], &[1]).unwrap()));
}

/// `false` is exact, and `true` is rarely wrong.
#[test]
fn overlaps_is_false_only_if_no_byte_is_shared() {
    let mut random = Random::new(7);
    let data = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    let mut layout = || loop {
        let ndim = random.below(4);
        let shape: Vec<i64> = (0..ndim).map(|_| random.within(0..=4)).collect();
        let strides: Vec<i64> = (0..ndim).map(|_| random.within(-6..=6)).collect();
        let offset = random.within(0..=47);
        if let Some(tensor) = part(&data, offset, &shape, &strides) {
            let named = positions(&shape, &strides).into_iter().map(|at| at + offset);
            return (tensor, named.collect::<HashSet<i64>>());
        }
    };
    let (mut different, mut wrong) = (0, 0);
    let cases = if cfg!(miri) { 40 } else { 4_000 };
    for _ in 0..cases {
        let ((first, named), (second, others)) = (layout(), layout());
        let shared = !named.is_disjoint(&others);
        assert!(first.overlaps(&second) || !shared, "{first:?} {second:?}");
        different += i32::from(!shared);
        wrong += i32::from(!shared && first.overlaps(&second));
    }
    assert!(different > cases / 4 && wrong * 4 < different, "{wrong} of {different}");
}

/// Four numbers at an address, or that many bytes behind a handle, which nobody reads.
fn at(device: Device, address: usize, byte_offset: u64) -> ImportedTensor {
    let case = Forged { address: Some(address), device, ..forged(&[4], &[]) };
    Forged { byte_offset, ..case }.imported()
}

#[test]
fn addresses_of_several_devices_are_compared_and_handles_are_objects_of_one() {
    const CL: Device = Device::new(ffi::kDLOpenCL, 0);
    const VULKAN: Device = Device::new(ffi::kDLVulkan, 0);
    const OTHER: Device = Device::new(ffi::kDLVulkan, 1);
    const VENDOR: Device = Device::new(ffi::kDLExtDev, 0);
    const PINNED: Device = Device::CUDA_HOST;
    for (first, second, expected) in [
        // Pinned memory is memory of the host.
        ((Device::CPU, 64, 0), (PINNED, 64, 0), true),
        ((Device::CPU, 64, 0), (PINNED, 76, 0), true),
        ((Device::CPU, 64, 0), (PINNED, 80, 0), false),
        ((Device::cuda(0), 64, 0), (Device::cuda(1), 72, 0), true),
        // A number that is a handle on one of the devices is another object on the other one.
        ((Device::CPU, 64, 0), (VULKAN, 64, 0), false),
        ((CL, 64, 0), (VULKAN, 64, 0), false),
        ((VULKAN, 64, 0), (OTHER, 64, 0), false),
        ((VENDOR, 64, 0), (Device::CPU, 64, 0), false),
        // One object, and its bytes.
        ((VULKAN, 64, 0), (VULKAN, 64, 0), true),
        ((VULKAN, 64, 0), (VULKAN, 64, 12), true),
        ((VULKAN, 64, 0), (VULKAN, 64, 16), false),
        ((CL, 64, 0), (CL, 72, 0), false),
        // The data of a vendor's own device may be an address.
        ((VENDOR, 64, 0), (VENDOR, 72, 0), true),
        ((VENDOR, 64, 0), (VENDOR, 80, 0), false),
    ] {
        let [one, two] = [first, second].map(|(device, data, offset)| at(device, data, offset));
        assert_eq!(one.overlaps(&two), expected, "{first:?} {second:?}");
        assert_eq!(two.overlaps(&one), expected, "{second:?} {first:?}");
    }
}

/// A producer may state an address for no elements.
#[test]
fn tensors_without_elements_overlap_nothing() {
    let some = at(Device::CPU, 64, 0);
    let none = Forged { address: Some(72), ..forged(&[0], &[]) }.imported();
    for (one, two) in [(&some, &none), (&none, &some), (&none, &none)] {
        assert!(!one.overlaps(two), "{one:?} {two:?}");
    }
}

#[test]
fn strides_of_single_elements_place_nothing() {
    let data = SharedBuffer::<i16>::zeroed(LEN).unwrap();
    let even = part(&data, 0, &[4, 1], &[2, 1]).unwrap();
    let odd = part(&data, 1, &[1, 4], &[3, 2]).unwrap();
    assert!(!even.overlaps(&odd) && !odd.overlaps(&even));
    let last = part(&data, 6, &[1], &[1]).unwrap();
    assert!(even.overlaps(&last) && !odd.overlaps(&last));
}
