//! `managed_tensor_allocator`.

use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::backend::{Backends, Cpu, Prototype};
use tensors::exchange::{NotImportable, table};
use tensors::ffi::{DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor, kDLFloat, kDLInt};
use tensors::{DataType, Device, Error, ManagedTensor};

use crate::exchange::host::{Heap, Picture, raised};

/// The arguments of each call of `SetError`.
type Told = Vec<(String, String)>;

unsafe extern "C" fn set_error(context: *mut c_void, kind: *const c_char, message: *const c_char) {
    // SAFETY: the tests pass such a list.
    let told = unsafe { &mut *context.cast::<Told>() };
    let text = |string| {
        // SAFETY: the standard requires a C string.
        unsafe { CStr::from_ptr(string) }.to_str().expect("UTF-8").to_owned()
    };
    told.push((text(kind), text(message)));
}

/// The requested tensor.
#[derive(Clone, Debug)]
struct Wish {
    shape: Vec<i64>,
    ndim: Option<i32>,
    null_shape: bool,
    dtype: DataType,
    device: Device,
}

fn wish(shape: &[i64]) -> Wish {
    let shape = shape.to_vec();
    Wish { shape, ndim: None, null_shape: false, dtype: DataType::F32, device: Device::CPU }
}

/// Sets one field of a struct that is not initialized.
macro_rules! set {
    ($place:ident, $field:ident: $value:expr) => {{
        // SAFETY: the field is inside the struct.
        let field = unsafe { &raw mut (*$place).$field };
        // SAFETY: as above.
        unsafe { field.write($value) };
    }};
}

/// Calls an allocator as C does: fields that the header leaves open are not initialized.
fn call(
    table: &DLPackExchangeAPI,
    wish: &Wish,
    with_set_error: bool,
) -> (i32, *mut DLManagedTensorVersioned, Told) {
    let mut shape = wish.shape.clone();
    let mut prototype = MaybeUninit::<DLTensor>::uninit();
    let fields = prototype.as_mut_ptr();
    let ndim = wish.ndim.unwrap_or_else(|| i32::try_from(shape.len()).expect("a rank"));
    let array = if wish.null_shape { ptr::null_mut() } else { shape.as_mut_ptr() };
    set!(fields, dtype: wish.dtype.into());
    set!(fields, device: wish.device.into());
    set!(fields, ndim: ndim);
    set!(fields, shape: array);
    let mut told = Told::new();
    let context: *mut Told = &raw mut told;
    let mut out = ptr::dangling_mut();
    let allocate = table.managed_tensor_allocator.expect("set");
    let set_error: tensors::ffi::SetError = if with_set_error { Some(set_error) } else { None };
    // SAFETY: 1. The four fields are set, and the shape has its entries where
    // `ndim` is in range. 2. It may be written. 3. `set_error` takes such a list.
    let code = unsafe { allocate(fields, &raw mut out, context.cast(), set_error) };
    assert!(raised().is_empty(), "an allocator needs no host");
    (code, out, told)
}

fn cpu() -> &'static DLPackExchangeAPI {
    table::<Picture, Heap, Cpu, NotImportable>()
}

#[test]
fn allocated_tensors_are_zeroed_and_exclusive() {
    for shape in [&[][..], &[6], &[2, 3], &[0, 3], &[1, 1, 1, 1, 1, 1, 1, 1, 2]] {
        let (code, tensor, told) = call(cpu(), &wish(shape), true);
        assert_eq!((code, told), (0, vec![]), "{shape:?}");
        // SAFETY: 1. The allocator gave it away, alive.
        let tensor = unsafe { ImportedStorage::from_raw(tensor) };
        assert_eq!(tensor.shape(), shape);
        assert_eq!(tensor.flags(), 0, "a consumer may write");
        assert_eq!(tensor.data().addr() % 64, 0);
        assert!(tensor.elements::<f32>().iter().all(|&element| element == 0.0));
        tensor.write::<f32>(|_| 1.0);
        tensor.delete(Farewell::Plain);
    }
}

/// X8: the allocator refuses every prototype that no import would accept.
#[test]
fn hostile_prototypes_are_refused() {
    let cases = [
        (Wish { ndim: Some(-1), ..wish(&[]) }, "negative"),
        (Wish { ndim: Some(i32::MIN), ..wish(&[]) }, "negative"),
        (Wish { ndim: Some(65), ..wish(&[1; 65]) }, "65 dimensions"),
        (Wish { ndim: Some(i32::MAX), ..wish(&[1]) }, "dimensions"),
        // Miri would report a read of the array, which is shorter.
        (Wish { ndim: Some(66), ..wish(&[1]) }, "66 dimensions"),
        (Wish { null_shape: true, ..wish(&[2, 2]) }, "shape is NULL"),
        (wish(&[2, -1]), "negative"),
        (wish(&[0, -1]), "negative"),
        (wish(&[-2, -2]), "negative"),
        (wish(&[i64::MAX, i64::MAX]), "address space"),
        (wish(&[1 << 32, 1 << 32]), "address space"),
        (wish(&[i64::MAX]), "address space"),
        (Wish { dtype: DataType::new(kDLFloat, 0, 1), ..wish(&[1]) }, "element type"),
        (Wish { dtype: DataType::new(kDLInt, 32, 0), ..wish(&[1]) }, "element type"),
        (Wish { dtype: DataType::new(kDLInt, 7, 1), ..wish(&[1]) }, "element type"),
        (Wish { device: Device::cuda(0), ..wish(&[1]) }, "no enabled backend"),
        (Wish { device: Device::new(tensors::ffi::kDLCPU, 1), ..wish(&[1]) }, "no enabled backend"),
    ];
    for (wish, text) in cases {
        let (code, tensor, told) = call(cpu(), &wish, true);
        assert_eq!((code, tensor), (-1, ptr::null_mut()), "{wish:?}");
        let [(kind, message)] = told.as_slice() else { panic!("{wish:?}: told {told:?}") };
        assert_eq!(kind, "BufferError", "{wish:?}");
        assert!(message.contains(text), "{wish:?}: {message}");
        let (code, tensor, told) = call(cpu(), &wish, false);
        assert_eq!((code, tensor, told), (-1, ptr::null_mut(), vec![]), "SetError is NULL");
    }
}

/// X7: there is memory for no such tensor, and that is an error like others.
#[test]
#[cfg_attr(miri, ignore = "Miri ends the program where memory ends")]
fn no_memory_is_an_error() {
    let (code, tensor, told) = call(cpu(), &wish(&[(isize::MAX / 4) as i64 - 64]), true);
    assert_eq!((code, tensor), (-1, ptr::null_mut()));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, "MemoryError");
}

#[test]
fn null_is_refused() {
    let allocate = cpu().managed_tensor_allocator.expect("set");
    let mut told = Told::new();
    let context: *mut c_void = (&raw mut told).cast();
    let mut out = ptr::dangling_mut();
    // SAFETY: the function accepts NULL.
    let code = unsafe { allocate(ptr::null_mut(), &raw mut out, context, Some(set_error)) };
    assert_eq!((code, out), (-1, ptr::null_mut()));
    // SAFETY: as above.
    let code = unsafe { allocate(ptr::null_mut(), ptr::null_mut(), context, Some(set_error)) };
    assert_eq!(code, -1);
    let texts: Vec<_> = told.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["`prototype` is NULL", "`out` is NULL"]);
    // SAFETY: as above.
    let code = unsafe { allocate(ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), None) };
    assert_eq!(code, -1);
}

/// Devices that fail.
struct Failing;

// SAFETY: 1. It fails, or forwards to `Cpu`. 2. to 4. It panics, or uses the defaults.
unsafe impl Backends for Failing {
    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        match prototype.shape() {
            [1] => Err(Error::Custom("the device\0 is lost")),
            [2] => panic!("allocate() panics on purpose"),
            [3] => std::panic::panic_any(Payload),
            _ => Cpu::allocate(prototype),
        }
    }

    fn current_work_stream(_: Device) -> Result<*mut c_void, Error> {
        panic!("current_work_stream() panics on purpose")
    }
}

/// A payload whose own drop panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("the drop of a payload panics on purpose");
    }
}

/// X7: SetError exactly once, with C strings, whatever the device does.
#[test]
fn a_failing_device_is_reported_once() {
    let table = table::<Picture, Heap, Failing, NotImportable>();
    let cases = [
        (1, "BufferError", "the device\u{FFFD} is lost"),
        (2, "RuntimeError", "the Rust code that describes this tensor panicked"),
        (3, "RuntimeError", "the Rust code that describes this tensor panicked"),
    ];
    for (dim, kind, text) in cases {
        let (code, tensor, told) = call(table, &wish(&[dim]), true);
        assert_eq!((code, tensor), (-1, ptr::null_mut()));
        assert_eq!(told, [(kind.to_owned(), text.to_owned())]);
    }
    let mut stream = ptr::dangling_mut();
    let current = table.current_work_stream.expect("set");
    // SAFETY: it may be written.
    let code = unsafe { current(tensors::ffi::kDLCUDA, 0, &raw mut stream) };
    assert_eq!((code, stream), (-1, ptr::null_mut()));
    assert_eq!(raised().len(), 1);
}
