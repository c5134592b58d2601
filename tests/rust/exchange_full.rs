//! A borrowed view when the cache of computed shapes and strides is full. It runs in its
//! own process, whose cache is full afterwards.

#[path = "exchange/host.rs"]
#[allow(dead_code, reason = "the tests of the exchange table use the rest")]
mod host;

use core::ffi::c_void;
use core::mem::MaybeUninit;

use host::{exports, free, object, only_raised, raised};
use tensors::ffi::{DLPackExchangeAPI, DLTensor};
use tensors::{DLPackExport, SharedBuffer};

/// Neither shape nor strides can be pointed at where they are stored.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Narrow {
    data: SharedBuffer<u8>,
    shape: [u32; 2],
}

/// Both can.
#[derive(DLPackExport)]
#[dlpack(crate = tensors)]
struct Wide {
    data: SharedBuffer<u8>,
    shape: [usize; 2],
    strides: [i64; 2],
}

fn view(table: &DLPackExchangeAPI, object: *mut c_void) -> Option<DLTensor> {
    let function = table.dltensor_from_py_object_no_sync.expect("set");
    let mut out = MaybeUninit::<DLTensor>::uninit();
    // SAFETY: the object is alive; `out` may be written.
    let code = unsafe { function(object, out.as_mut_ptr()) };
    // SAFETY: it is written on success and on failure.
    let out = unsafe { out.assume_init() };
    (code == 0).then_some(out)
}

/// Whether there was a place for the dimensions of a matrix of zeros.
fn narrow(rows: u32, columns: u32) -> Option<*mut i64> {
    let data = SharedBuffer::zeroed(rows as usize * columns as usize).expect("memory");
    let object = object(Narrow { data, shape: [rows, columns] });
    let tensor = view(exports::<Narrow>().0, object);
    free::<Narrow>(object);
    if let Some(tensor) = tensor {
        // SAFETY: the shape outlives the object, and has two entries.
        assert_eq!(unsafe { tensor.shape.read() }, i64::from(rows));
        assert_eq!(raised(), vec![]);
    }
    tensor.map(|tensor| tensor.shape)
}

#[test]
#[cfg_attr(miri, ignore = "it takes Miri minutes, and shows it nothing that other tests do not")]
fn a_full_cache_is_an_error_and_earlier_views_stay_valid() {
    let first = narrow(1, 1).expect("room for the first");
    let seen = (2..100_000).take_while(|&rows| narrow(rows, 1).is_some()).count();
    let (kind, text) = only_raised();
    assert_eq!(kind, "BufferError");
    assert!(text.contains("take a managed tensor"), "{text}");
    assert!((5000..20_000).contains(&seen), "{seen} shapes");

    // A cached list always has the same address.
    assert_eq!(narrow(1, 1), Some(first));
    assert!(narrow(4000, 1).is_some());
    // Stored lists are not cached.
    let data = SharedBuffer::zeroed(70_000).expect("memory");
    let wide = object(Wide { data, shape: [70_000, 1], strides: [1, 7] });
    assert!(view(exports::<Wide>().0, wide).is_some());
    // And a managed tensor has its own.
    let (code, managed) = exports::<Wide>().managed(wide);
    assert_eq!(code, 0);
    // SAFETY: the tensor is alive.
    let deleter = unsafe { (*managed).deleter }.expect("a deleter");
    // SAFETY: it is called only here.
    unsafe { deleter(managed) };
    free::<Wide>(wide);
}
