//! Prototypes that say anything, for the allocator of the exchange table. What
//! the header leaves open is not initialized.
#![no_main]

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use arbitrary::Arbitrary;
use dlpack_fuzz::judge;
use dlpack_fuzz::number::{Number, Type};
use dlpack_traits::backend::{Cpu, Prototype};
use dlpack_traits::exchange::{NotImportable, ObjectHost, TableError, table};
use dlpack_traits::ffi::{DLDevice, DLDeviceType, DLTensor};
use dlpack_traits::{
    DLPackExport, DataType, Describe, Description, Device, Dims, Error, ImportedTensor,
    Storage as _,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    shape: Option<Vec<Number>>,
    ndim: Option<i32>,
    dtype: Type,
    device: Option<(i32, i32)>,
    with_set_error: bool,
    with_out: bool,
}

/// The type and the host that a table requires.
struct Nothing([u8; 0]);

impl DLPackExport for Nothing {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[0]).data(self.0.data())
    }
}

struct Nobody;

// SAFETY: it never calls `run`.
unsafe impl ObjectHost<Nothing> for Nobody {
    type Error = ();

    unsafe fn with<R>(
        _: *mut c_void,
        _: impl FnOnce(&Nothing) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        Err(TableError::Host(()))
    }

    unsafe fn view<R>(
        _: *mut c_void,
        _: impl FnOnce(&Nothing) -> Result<R, TableError<()>>,
    ) -> Result<R, TableError<()>> {
        Err(TableError::Host(()))
    }

    unsafe fn raise(_: TableError<()>) {
        unreachable!("an allocator has SetError");
    }
}

unsafe extern "C" fn count(calls: *mut c_void, kind: *const c_char, message: *const c_char) {
    // SAFETY: the number is passed below.
    unsafe { *calls.cast::<usize>() += 1 };
    for text in [kind, message] {
        // SAFETY: the header demands C strings.
        let text = unsafe { CStr::from_ptr(text) };
        assert!(!text.to_str().expect("UTF-8").is_empty());
    }
}

fuzz_target!(|input: Input| {
    let numbers = |array: &Vec<Number>| array.iter().copied().map(i64::from).collect();
    let mut shape: Option<Vec<i64>> = input.shape.as_ref().map(numbers);
    let len = shape.as_ref().map_or(0, Vec::len);
    let ndim = input.ndim.unwrap_or(i32::try_from(len).unwrap_or(i32::MAX));
    if let Some(shape) = &mut shape {
        // As many as the rank says, if it can be; beyond, nothing.
        let entries = usize::try_from(ndim).ok().filter(|&ndim| ndim <= 64).unwrap_or(0);
        shape.resize(entries, 1);
        shape.shrink_to_fit();
    }
    let dtype = DataType::from(input.dtype);
    let device = input.device.map_or(Device::CPU, |(kind, id)| Device::new(DLDeviceType(kind), id));
    let array = shape.as_mut().map_or(ptr::null_mut(), |shape| shape.as_mut_ptr());

    let numel = judge::numel(shape.as_deref().unwrap_or_default());
    let bytes = numel.map(|numel| (i128::from(numel) * i128::from(dtype.element_bits()) + 7) / 8);
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
    let sane = (0..=64).contains(&ndim) && (shape.is_some() || ndim == 0);
    let expected = bytes.filter(|_| sane && judge::is_known(dtype));
    if sane {
        let dims = Dims::borrowed(shape.as_deref().unwrap_or_default());
        let prototype = Prototype::new(dtype, dims, device);
        assert_eq!(prototype.as_ref().ok().map(Prototype::byte_len), expected);
    }
    if expected.is_some_and(|bytes| bytes > 1 << 20) {
        return; // In order, and more memory than a fuzzer should ask for.
    }

    let mut prototype = Box::new(MaybeUninit::<DLTensor>::uninit());
    let fields = prototype.as_mut_ptr();
    // SAFETY: these four fields are inside the struct; so are they below.
    unsafe { (&raw mut (*fields).dtype).write(dtype.into()) };
    // SAFETY: as above.
    unsafe { (&raw mut (*fields).device).write(DLDevice::from(device)) };
    // SAFETY: as above.
    unsafe { (&raw mut (*fields).ndim).write(ndim) };
    // SAFETY: as above.
    unsafe { (&raw mut (*fields).shape).write(array) };
    let (mut out, mut calls) = (ptr::dangling_mut(), 0_usize);
    let place = if input.with_out { &raw mut out } else { ptr::null_mut() };
    let set_error: dlpack_traits::ffi::SetError =
        if input.with_set_error { Some(count) } else { None };
    let table = table::<Nothing, Nobody, Cpu, NotImportable>();
    let allocate = table.managed_tensor_allocator.expect("set");
    // SAFETY: 1. The four fields are set, and the shape has its entries where the
    // rank is in range. 2. It may be written, or is NULL. 3. `count` takes such a number.
    let code = unsafe { allocate(fields, place, (&raw mut calls).cast(), set_error) };

    if expected.is_none() || device != Device::CPU || !input.with_out {
        assert_eq!((code, calls), (-1, usize::from(input.with_set_error)));
        assert!(!input.with_out || out.is_null());
        return;
    }
    assert_eq!((code, calls), (0, 0));
    // SAFETY: the allocator gave it away, alive.
    let mut tensor = unsafe { ImportedTensor::from_raw(out) }.expect("a tensor of ours");
    assert_eq!(tensor.shape(), shape.unwrap_or_default());
    assert_eq!((tensor.dtype(), tensor.device()), (dtype, device));
    assert!(tensor.is_row_major() && !tensor.is_read_only());
    assert_eq!(tensor.data_ptr().addr() % 64, 0);
    // SAFETY: there is no other owner of the memory.
    let frozen = unsafe { tensor.assume_frozen() };
    let bytes = frozen.as_bytes().expect("on the host, and compact");
    assert_eq!(Some(bytes.len()), expected);
    assert!(bytes.iter().all(|&byte| byte == 0));
    // SAFETY: as above.
    if let Ok(mut exclusive) = unsafe { tensor.assume_exclusive() } {
        if let Ok(slice) = exclusive.as_mut_slice::<f32>() {
            slice.fill(1.0);
        }
    }
});
