//! Every way to elements, compared with where they are by definition.

use std::fmt::Debug;

use dlpack_traits::{Complex, DataType, Element, ImportedTensor, Readable};

/// More elements than that are looked at one by one.
const MANY: i64 = 5000;

/// Where the elements are, counted from the first, in row-major order.
pub fn positions(shape: &[i64], strides: &[i64]) -> Vec<i64> {
    let mut found = vec![0];
    for (&dim, &stride) in shape.iter().zip(strides) {
        let along = |&outer: &i64| (0..dim).map(move |index| outer + index * stride);
        found = found.iter().flat_map(along).collect();
    }
    found
}

/// Reads a tensor whose elements are all there.
pub fn read(tensor: &ImportedTensor) {
    match tensor.dtype() {
        DataType::U8 => read_as::<u8>(tensor),
        DataType::I32 => read_as::<i32>(tensor),
        DataType::F32 => read_as::<f32>(tensor),
        DataType::BOOL => read_as::<bool>(tensor),
        DataType::U16 => read_as::<u16>(tensor),
        DataType::F64 => read_as::<f64>(tensor),
        DataType::I64 => read_as::<i64>(tensor),
        DataType::COMPLEX64 => read_as::<Complex<f32>>(tensor),
        DataType::COMPLEX128 => read_as::<Complex<f64>>(tensor),
        _ => {
            assert!(tensor.elements::<u8>().is_err());
            assert!(tensor.elements::<Complex<f64>>().is_err());
        }
    }
    if let Ok(codes) = tensor.raw_bits() {
        if tensor.numel() <= MANY {
            assert_eq!(codes.iter().count() as i64, tensor.numel());
        } else {
            assert!(codes.load(&last(tensor)).is_ok());
        }
    }
    // SAFETY: there is no other owner of the memory.
    let frozen = unsafe { tensor.assume_frozen() };
    if let Ok(bytes) = frozen.as_bytes() {
        assert!(tensor.is_row_major());
        std::hint::black_box(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
    }
}

fn last(tensor: &ImportedTensor) -> Vec<usize> {
    tensor.shape().iter().map(|&dim| usize::try_from(dim - 1).expect("elements")).collect()
}

fn bytes_at<T>(tensor: &ImportedTensor, position: i64) -> Vec<u8> {
    let place = tensor.data_ptr().wrapping_offset(position as isize * size_of::<T>() as isize);
    let mut bytes = vec![0; size_of::<T>()];
    // SAFETY: the element is in memory of ours; AddressSanitizer would tell.
    unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(place, bytes.len()) };
    bytes
}

fn same<T: Readable>(value: &T, bytes: &[u8]) -> bool {
    // SAFETY: an element has no padding.
    let found: &[u8] =
        unsafe { std::slice::from_raw_parts((&raw const *value).cast(), bytes.len()) };
    found == bytes
}

fn read_as<T: Readable + Element + Debug + PartialEq>(tensor: &ImportedTensor) {
    let elements = tensor.elements::<T>().expect("on the host, of this type");
    assert_eq!(elements.len() as i64, tensor.numel());
    if tensor.numel() > MANY {
        let _ = elements.load(&last(tensor));
        return;
    }
    if tensor.numel() == 0 {
        assert!(elements.try_iter().next().is_none());
        return;
    }
    let places = positions(tensor.shape(), tensor.strides());
    let mut values = elements.try_iter();
    for &place in &places {
        let bytes = bytes_at::<T>(tensor, place);
        match values.next().expect("as many as there are") {
            Ok(value) => assert!(same(&value, &bytes)),
            Err(_) => assert!(T::DTYPE == DataType::BOOL && bytes[0] > 1),
        }
    }
    assert!(values.next().is_none());
    let mut past = vec![0; tensor.ndim()];
    if let (Some(index), Some(&dim)) = (past.first_mut(), tensor.shape().first()) {
        *index = usize::try_from(dim).expect("elements");
        assert!(elements.load(&past).is_err(), "out of bounds");
    }
    // SAFETY: there is no other owner of the memory.
    if let Ok(slice) = unsafe { tensor.assume_frozen() }.as_slice::<T>() {
        assert!(tensor.is_row_major());
        assert_eq!(slice.len() as i64, tensor.numel());
        let all = slice.iter().zip(&places);
        assert!(all.into_iter().all(|(value, &place)| same(value, &bytes_at::<T>(tensor, place))));
    }
}

/// Writes a tensor whose elements are all there.
pub fn write(tensor: &mut ImportedTensor) {
    let (numel, dtype) = (tensor.numel(), tensor.dtype());
    let read_only = tensor.is_read_only();
    let first = vec![0; tensor.ndim()];
    // SAFETY: there is no other owner of the memory.
    let Ok(mut exclusive) = (unsafe { tensor.assume_exclusive() }) else { return };
    assert!(!read_only);
    if numel > MANY {
        return;
    }
    if dtype == DataType::I32 {
        if let Ok(elements) = exclusive.elements_mut::<i32>() {
            elements.for_each(|element| *element = element.wrapping_add(1));
        }
        if let Ok(slice) = exclusive.as_mut_slice::<i32>() {
            slice.fill(7);
        }
        assert_eq!(exclusive.store(&first, 5_i32).is_ok(), numel > 0);
    } else if dtype == DataType::U8 {
        exclusive.elements_mut::<u8>().expect("aligned").for_each(|element| *element = 1);
    }
}
