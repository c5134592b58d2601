//! Tensors without a struct of their own: `OwnedTensor` and `SharedTensor`.

use tensors::{
    DLPackExport, DataType, Describe, Description, DescriptionMut, Error, Flags, OwnedTensor,
    SharedTensor, StreamArg,
};

const SIX: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// What a function returns: the elements may be read and written until it is exported.
#[test]
fn tensors_are_equal_with_equal_shapes_and_elements() {
    let tensor =
        |values: [i32; 2], shape: [usize; 2]| OwnedTensor::new(values.to_vec(), &shape).unwrap();
    assert_eq!(tensor([1, 2], [1, 2]), tensor([1, 2], [1, 2]));
    assert_ne!(tensor([1, 2], [1, 2]), tensor([1, 3], [1, 2]));
    assert_ne!(tensor([1, 2], [1, 2]), tensor([1, 2], [2, 1]));
}

#[test]
fn an_owned_tensor_lends_its_elements() {
    let mut tensor = OwnedTensor::new(SIX.to_vec(), &[2, 3]).unwrap();
    assert_eq!((tensor.shape(), tensor.as_slice()), (&[2, 3][..], &SIX[..]));
    tensor.as_mut_slice()[5] = 50;
    assert_eq!(tensor.as_slice(), [0, 1, 2, 3, 4, 50]);
    let exported = tensor.into_dlpack().unwrap().import().unwrap();
    assert_eq!(exported.shape(), [2, 3]);
    assert_eq!(exported.elements::<i32>().unwrap().to_vec().unwrap(), [0, 1, 2, 3, 4, 50]);
}

#[test]
fn owned_tensors_keep_the_memory_of_their_vector() {
    let values = SIX.to_vec();
    let address = values.as_ptr();
    let tensor = OwnedTensor::new(values, &[6]).unwrap();
    assert_eq!(tensor.as_slice().as_ptr(), address);
    let values = tensor.into_vec();
    assert_eq!((values.as_ptr(), &values[..]), (address, &SIX[..]));
    let exported = OwnedTensor::new(values, &[3, 2]).unwrap().into_dlpack().unwrap();
    assert_eq!(exported.data_ptr(), address.cast());
    assert_eq!(OwnedTensor::<u8>::from_vec(Vec::new()).into_vec().len(), 0);
}

/// Memory that is aligned to 64 bytes is not that of a vector.
#[test]
fn zeroed_owned_tensors_are_aligned() {
    let mut tensor = OwnedTensor::<f64>::zeroed(&[2, 3]).unwrap();
    assert_eq!((tensor.as_slice(), tensor.as_slice().as_ptr().addr() % 64), (&[0.0; 6][..], 0));
    tensor.as_mut_slice()[5] = 1.0;
    assert_eq!(tensor.into_vec(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(OwnedTensor::<bool>::zeroed(&[2]).unwrap().as_slice(), [false; 2]);
    assert_eq!(OwnedTensor::<u8>::zeroed(&[0, 3]).unwrap().into_vec().len(), 0);
    assert_eq!(
        OwnedTensor::<u8>::zeroed(&[-1]).err(),
        Some(Error::NegativeDim { axis: 0, dim: -1 })
    );
    let too_many = OwnedTensor::<u8>::zeroed(&[i64::MAX, 3]).err();
    assert_eq!(too_many, Some(Error::SizeOverflow));
}

/// Rust code does not read the elements of an export by value again, so a consumer may write any
/// bytes. A struct around the tensor has a destructor that may read them.
#[test]
fn owned_tensors_of_bools_are_writable() {
    struct Around(OwnedTensor<bool>);

    impl DLPackExport for Around {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            self.0.describe(out)
        }

        fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
            self.0.describe_mut(out)
        }
    }

    let tensor = || OwnedTensor::from_vec(vec![true, false]);
    let exported = tensor().into_dlpack().unwrap();
    assert_eq!((exported.flags(), exported.dtype()), (Flags::NONE, DataType::BOOL));
    let mut imported = exported.import().unwrap();
    imported.elements_mut::<u8>().expect_err("bools are not bytes");
    assert_eq!(imported.elements::<bool>().unwrap().to_vec().unwrap(), [true, false]);
    assert!(tensor().into_dlpack_legacy().is_ok());
    let on = StreamArg::unspecified();
    assert_eq!(tensor().into_dlpack_on(on).unwrap().flags(), Flags::NONE);
    assert_eq!(Around(tensor()).into_dlpack().unwrap().flags(), Flags::READ_ONLY);
    assert_eq!(tensor().to_dlpack().err(), Some(Error::NotShareable));
}

#[test]
fn shared_tensors_have_several_owners_that_write() {
    let tensor = SharedTensor::new(SIX.to_vec(), [2, 3]).unwrap();
    let (first, second) = (tensor.to_dlpack().unwrap(), tensor.clone().into_dlpack().unwrap());
    assert_eq!((first.data_ptr(), first.flags()), (second.data_ptr(), Flags::NONE));
    tensor.buffer().store(5, 50);
    assert_eq!((tensor.shape(), first.shape()), ([2, 3], &[2, 3][..]));
    drop(tensor);
    let read = first.import().unwrap();
    assert_eq!(read.elements::<i32>().unwrap().to_vec().unwrap(), [0, 1, 2, 3, 4, 50]);

    let zeroed = SharedTensor::<u8, 1>::zeroed([3]).unwrap();
    assert_eq!(zeroed.buffer().to_vec(), [0; 3]);
    let refused = SharedTensor::new(SIX.to_vec(), [2, 2]).err();
    assert_eq!(refused, Some(Error::LenMismatch { needed: 4, found: 6 }));
    let refused = SharedTensor::<u8, 2>::zeroed([usize::MAX, 2]).err();
    assert_eq!(refused, Some(Error::SizeOverflow));
}
