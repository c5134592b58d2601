//! The functions as every caller of tvm-ffi sees them, without Python.

use dlpack_traits::{DLPackExport, ImportedTensor, OwnedTensor, SharedTensor};
use points::convert::{argument, argument_mut, result};
use tvm_ffi::{Any, Function, Result, Tensor, into_typed_fn};

/// Numbers of Rust as a tensor of tvm-ffi.
fn points(count: i64) -> Tensor {
    let numbers: Vec<f32> =
        (0_u8..).take(usize::try_from(3 * count).unwrap()).map(f32::from).collect();
    result(OwnedTensor::new(numbers, &[count, 3]).unwrap()).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    let tensor: ImportedTensor = argument(tensor).unwrap();
    tensor.elements::<f32>().unwrap().to_vec().unwrap()
}

/// A function by its name, as other libraries find it.
fn global(name: &str, function: Function) -> Function {
    Function::register_global(name, function).unwrap();
    Function::get_global(name).unwrap()
}

#[test]
fn typed_functions_take_and_return_tensors() {
    let centroid = global("points.centroid", Function::from_typed(points::centroid));
    let centroid = into_typed_fn!(centroid, Fn(Tensor) -> Result<Tensor>);
    assert_eq!(numbers(&centroid(points(3)).unwrap()), [3.0, 4.0, 5.0]);

    let tensor = points(2);
    let scale = global("points.scale", Function::from_typed(points::scale));
    let scale = into_typed_fn!(scale, Fn(Tensor, f64) -> Result<()>);
    scale(tensor.clone(), 2.0).unwrap();
    assert_eq!(numbers(&tensor), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
}

#[test]
fn a_part_of_an_argument_is_the_same_memory_and_keeps_it_alive() {
    let tensor = points(4);
    let address = tensor.data_ptr();
    let part = points::rows(tensor, 1, 3).unwrap();
    assert_eq!((part.shape(), part.data_ptr()), (&[2, 3][..], address.wrapping_byte_add(12)));
    assert_eq!(numbers(&part), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn the_memory_of_the_result_is_that_of_the_vector_and_freed_once() {
    let vector = vec![1.0_f32; 6];
    let address = vector.as_ptr();
    let tensor = result(OwnedTensor::new(vector, &[2, 3]).unwrap()).unwrap();
    assert!(std::ptr::eq(tensor.data_ptr().cast(), address));

    let shared = SharedTensor::new(vec![1.0_f32; 6], [2, 3]).unwrap();
    let tensor = result(shared.clone()).unwrap();
    // SAFETY: 1. The memory is shared, and consumers may write it.
    let mut import: ImportedTensor = unsafe { argument_mut(&tensor) }.unwrap();
    drop(tensor);
    import.elements_mut::<f32>().unwrap().fill(5.0);
    drop(import);
    let import = shared.to_dlpack().unwrap().import().unwrap();
    assert_eq!(import.elements::<f32>().unwrap().to_vec().unwrap(), [5.0; 6]);
}

#[test]
fn arguments_are_checked() {
    let message = |tensor: Tensor| match points::centroid(tensor) {
        Ok(_) => panic!("accepted"),
        Err(error) => format!("{}: {}", error.kind(), error.message()),
    };
    let integers = result(OwnedTensor::new(vec![0_i32; 6], &[2, 3]).unwrap()).unwrap();
    assert_eq!(message(integers), "TypeError: `Points`: expected float32, got int32");
    let pairs = result(OwnedTensor::new(vec![0.0_f32; 6], &[3, 2]).unwrap()).unwrap();
    assert_eq!(message(pairs), "ValueError: `Points`: expected dimension 1 to be 3, got 2");
}

#[test]
fn two_handles_of_one_tensor_lend_no_two_slices() {
    let tensor = points(1);
    // SAFETY: 1. `points` made the memory, which may be written.
    let mut first: ImportedTensor = unsafe { argument_mut(&tensor) }.unwrap();
    let second: ImportedTensor = argument(&tensor).unwrap();
    assert!(first.exclusive().is_err() && second.frozen().is_err(), "slices of shared memory");
    first.elements_mut::<f32>().unwrap().fill(7.0);
    assert_eq!(second.elements::<f32>().unwrap().to_vec().unwrap(), [7.0; 3]);
    assert!(second.is_read_only());
}

#[test]
fn read_only_memory_is_not_passed_on() {
    let frozen = vec![0.0_f32; 3];
    let frozen: std::sync::Arc<[f32]> = frozen.into();
    #[derive(DLPackExport)]
    struct Frozen {
        data: std::sync::Arc<[f32]>,
        shape: [usize; 1],
    }
    let error = match result(Frozen { data: frozen, shape: [3] }) {
        Ok(_) => panic!("exported"),
        Err(error) => error,
    };
    assert!(error.message().contains("read-only"), "{}", error.message());
}

#[test]
fn a_panic_is_an_error() {
    let function = Function::from_typed(points::panics);
    let outcome: Result<Any> = function.call_tuple(());
    match outcome {
        Ok(_) => panic!("it did not fail"),
        Err(error) => assert!(error.message().contains("as intended"), "{}", error.message()),
    }
}
