//! `ImportedTensor::from_raw` on structs that say anything, and what is made of them.
#![no_main]

use arbitrary::Arbitrary;
use dlpack_fuzz::judge::judge;
use dlpack_fuzz::reading::{read, write};
use dlpack_fuzz::wild::{Kind, Wild};
use dlpack_traits::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use dlpack_traits::{
    DLPackExport, DLPackImport, ImportPolicy, ImportedSlice, ImportedStorage, ImportedTensor,
    Layout, Order, Readable, Version,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    wild: Wild,
    legacy: bool,
    strict: bool,
    fate: Fate,
    writable: bool,
}

/// The use of an accepted tensor.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Fate {
    Dropped,
    GivenBack,
    Held { shared: bool, copied: bool, legacy: bool },
    Typed,
    Derived,
    Image,
    Copied,
    DroppedElsewhere,
    Slice,
}

/// An import that accepts any tensor.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::dlpack_traits)]
struct Any {
    #[dlpack(data)]
    data: ImportedStorage,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: u64,
}

/// An import that accepts few tensors.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::dlpack_traits, shape(height, width, 3))]
struct Image {
    #[dlpack(data)]
    pixels: ImportedStorage<u8>,
    height: u32,
    width: u16,
}

/// An import that copies.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::dlpack_traits)]
struct Owned {
    #[dlpack(data, copy)]
    data: Vec<i32>,
    shape: Vec<usize>,
    #[dlpack(order)]
    order: Order,
}

fn run<M: Kind>(Input { wild, strict, writable, fate, .. }: &Input) {
    let built = wild.build::<M>();
    let policy = ImportPolicy::new().strict_strides(*strict).legacy_writable(*writable);
    // SAFETY: 1. to 3. The struct is there, its arrays as it says, and ours to
    // give away. 4. and 5. Elements are looked at only where they are ours.
    let outcome = unsafe { ImportedTensor::from_raw_with(built.raw(), policy) };
    let version = M::VERSIONED.then(|| Version::from(wild.version));
    let null = wild.strides.is_none() && wild.ndim() > 0;
    let refused = *strict && null && version.is_some_and(|v| v >= Version::new(1, 2));
    let expected = judge::<M>(wild, built.data()).filter(|_| !refused);
    let mut tensor = match outcome {
        Ok(tensor) => tensor,
        Err(error) => {
            assert!(expected.is_none(), "{error} for a valid tensor");
            assert!(!error.to_string().is_empty());
            built.check();
            if matches!(fate, Fate::Slice) && !refused {
                let built = wild.build::<M>();
                // SAFETY: 1. to 3. As above. 4. to 6. It is refused.
                let slice = unsafe { ImportedSlice::<u8>::from_raw(built.raw()) };
                assert_eq!(slice.err(), Some(error));
                built.check();
            }
            return;
        }
    };
    let expected = expected.expect("it should have been refused");
    assert_eq!(tensor.shape(), expected.shape);
    assert_eq!(tensor.strides(), expected.strides);
    assert_eq!(tensor.numel(), expected.numel);
    let range = tensor.byte_range();
    assert_eq!((range.start as i64, range.end as i64), expected.bytes);
    assert_eq!((tensor.dtype(), tensor.device()), (wild.dtype(), wild.device()));
    assert_eq!(tensor.flags().bits(), if M::VERSIONED { wild.flags() } else { 0 });
    assert_eq!(tensor.version(), version);
    assert!(!format!("{tensor:?}").is_empty());
    let flagged = wild.flags() & 1 != 0;
    assert_eq!(tensor.is_read_only(), if M::VERSIONED { flagged } else { !*writable });
    assert!(tensor.exclusive().is_err(), "it was in C");
    assert!(tensor.frozen().is_err(), "it was in C");
    if !tensor.device().is_host() {
        assert!(tensor.elements::<u8>().is_err() && tensor.raw_bits().is_err());
    } else if expected.honest {
        read(&tensor);
        // A copy takes memory for each element.
        if tensor.numel() < 10_000 {
            if let Ok(mut copy) = tensor.to_own_copy() {
                assert!(copy.exclusive().is_ok(), "it is ours alone");
                read(&copy);
            }
        }
        write(&mut tensor);
    }
    assert_eq!(built.deletes(), 0);
    end::<M>(tensor, *fate, expected.honest);
    built.check();
}

/// Whatever the use, nothing may leak.
fn end<M: Kind>(tensor: ImportedTensor, fate: Fate, honest: bool) {
    match fate {
        Fate::Dropped => drop(tensor),
        Fate::DroppedElsewhere => drop(Box::new(tensor)),
        Fate::GivenBack => {
            let raw = tensor.into_raw::<M>().expect("it came as such a struct");
            // SAFETY: the struct is as it was.
            drop(unsafe { ImportedTensor::from_raw(raw) }.expect("it was taken before"));
        }
        Fate::Held { shared, copied, legacy } => {
            let Ok(held) = ImportedStorage::new(tensor) else { return };
            let held: ImportedStorage = held;
            if shared {
                if let Ok(again) = held.to_dlpack() {
                    let again = again.import().expect("an export of ours");
                    assert_eq!(again.shape(), held.imported().shape());
                    assert_eq!(again.strides(), held.imported().strides());
                    assert_eq!(again.data_ptr(), held.imported().data_ptr());
                    if honest {
                        read(&again);
                    }
                }
            }
            // A copy reads elements, and takes memory for each.
            if copied && honest && held.imported().numel() < 10_000 {
                if let Ok(copy) = held.copy_to_dlpack() {
                    let copy = copy.import().expect("an export of ours");
                    assert!(copy.is_row_major());
                    read(&copy);
                }
            }
            if legacy {
                drop(held.into_dlpack_legacy());
            } else {
                drop(held.into_dlpack());
            }
        }
        Fate::Typed => {
            let Ok(held) = ImportedStorage::<i32>::new(tensor) else { return };
            assert_eq!(held.clone().to_dlpack().is_ok(), held.to_dlpack().is_ok());
            let any: ImportedStorage = held.into();
            assert!(any.typed::<f32>().is_err());
        }
        Fate::Derived => {
            let accepted = Any::accepts(&tensor).is_ok();
            let any = Any::from_dlpack(tensor);
            assert!(accepted || any.is_err());
            if let Ok(any) = any {
                drop(any.to_dlpack());
                drop(any.into_dlpack());
            }
        }
        Fate::Image => match Image::from_dlpack(tensor) {
            Ok(image) => {
                let pixels = i64::from(image.height) * i64::from(image.width) * 3;
                assert_eq!(image.pixels.imported().numel(), pixels);
                drop(image.to_dlpack().expect("it came so"));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        },
        Fate::Slice if honest => {
            let tensor = slice::<M, u8>(tensor);
            let tensor = slice::<M, f32>(tensor);
            let raw = slice::<M, bool>(tensor).into_raw::<M>().expect("it came as such a struct");
            // SAFETY: 1. to 3. The struct is as it was. 4. to 6. No one writes to the elements.
            drop(unsafe { ImportedSlice::<f32>::from_raw(raw) });
        }
        Fate::Slice => drop(tensor),
        Fate::Copied => {
            // It reads elements, and takes memory for each.
            if honest && tensor.numel() < 10_000 {
                let numel = tensor.numel();
                if let Ok(owned) = Owned::from_dlpack(tensor) {
                    assert_eq!(owned.data.len() as i64, numel);
                    drop(owned.into_dlpack().expect("compact"));
                }
            }
        }
    }
}

/// An `ImportedSlice` has the elements and the error of a slice of the whole tensor. Returns the tensor.
fn slice<M: Kind, T: Readable>(tensor: ImportedTensor) -> ImportedTensor {
    // SAFETY: 1. No one writes to the elements.
    let whole = unsafe { tensor.assume_frozen() }.as_slice::<T>();
    let whole = whole.map(|slice| (slice.as_ptr(), slice.len()));
    let raw = tensor.into_raw::<M>().expect("it came as such a struct");
    // SAFETY: the struct is as it was.
    let mut lent = unsafe { raw.read() }.without_deleter();
    // SAFETY: 1. to 3. As above, with a deleter that is NULL. 4. to 6. No one writes to the elements.
    let slice = unsafe { ImportedSlice::<T>::from_raw(&raw mut lent) };
    match (whole, slice) {
        (Ok((_, 0)), Ok(slice)) => assert!(slice.is_empty()),
        (Ok(whole), Ok(slice)) => assert_eq!((slice.as_ptr(), slice.len()), whole),
        (whole, slice) => assert_eq!(whole.err(), slice.err()),
    }
    // SAFETY: the struct is as it was.
    unsafe { ImportedTensor::from_raw(raw) }.expect("it was taken before")
}

fuzz_target!(|input: Input| {
    if input.legacy {
        run::<DLManagedTensor>(&input);
    } else {
        run::<DLManagedTensorVersioned>(&input);
    }
});
