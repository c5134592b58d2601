//! `ImportedTensor::from_raw` over all cases, in both structs.

use core::mem::ManuallyDrop;

use dlpack_tests::guarded::{Flush, announce};
use dlpack_tests::hostile::{
    self, Array, Built, Case, HostileStruct, borderline, malformed, on_devices,
};
use dlpack_tests::positions::positions;
use tensors::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use tensors::{DataType, Error, Flags, ImportedSlice, ImportedTensor, Readable};

const BOTH_ENDS: [Flush; 2] = [Flush::Start, Flush::End];

fn import<M: HostileStruct>(built: &Built<M>) -> Result<ImportedTensor, Error> {
    // SAFETY: 1. to 3. The struct exists, as `Case` describes it, and we own it. 4. The
    // elements of the valid ones exist too. 5. They have no other owner.
    unsafe { ImportedTensor::from_raw(built.raw()) }
}

fn slice<M: HostileStruct>(built: &Built<M>) -> Result<ImportedSlice<i32>, Error> {
    // SAFETY: 1. to 5. As in `import`. 6. No one writes to the elements.
    unsafe { ImportedSlice::from_raw(built.raw()) }
}

fn refuse<M: HostileStruct>(case: &Case, with_deleter: bool) {
    announce(&case.words);
    let built = case.build::<M>(with_deleter, Flush::End);
    let error = import(&built).map(|_| ()).unwrap_err();
    assert_eq!(Some(error), case.error, "{}", case.words);
    assert_eq!(built.deletes(), usize::from(with_deleter), "{}", case.words);
    let built = case.build::<M>(with_deleter, Flush::End);
    assert_eq!(slice(&built).err(), case.error, "{}", case.words);
    assert_eq!(built.deletes(), usize::from(with_deleter), "{}", case.words);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn malformed_structs_are_refused() {
    let cases = malformed();
    assert!(cases.len() > 50, "only {} cases", cases.len());
    for case in &cases {
        for with_deleter in [true, false] {
            refuse::<DLManagedTensorVersioned>(case, with_deleter);
            refuse::<DLManagedTensor>(case, with_deleter);
        }
    }
}

/// Reads every element in every way that the case allows, and compares the values.
fn read<T: Readable + bytemuck::CheckedBitPattern + PartialEq + core::fmt::Debug>(
    case: &Case,
    tensor: &ImportedTensor,
    data: *const u8,
) {
    let elements = tensor.elements::<T>().unwrap();
    if elements.is_empty() {
        assert_eq!(elements.try_iter().next(), None);
        return;
    }
    if elements.len() > 10_000 {
        let last = case.shape().iter().map(|&dim| usize::try_from(dim - 1).unwrap());
        assert!(elements.load(&last.collect::<Vec<_>>()).is_ok());
        return;
    }
    let size = i64::try_from(size_of::<T>()).unwrap();
    let first = i64::try_from(case.byte_offset).unwrap_or(0);
    let mut found = elements.try_iter();
    for position in positions(tensor.shape(), tensor.strides()) {
        let skip = usize::try_from(first + position * size).unwrap();
        let mut bytes = vec![0; size_of::<T>()];
        let place = data.wrapping_add(skip);
        // SAFETY: the case has an element there, and the page is open.
        unsafe { bytes.as_mut_ptr().copy_from(place, bytes.len()) };
        let expected = bytemuck::checked::try_pod_read_unaligned::<T>(&bytes);
        let expected = expected.map_err(|_| Error::InvalidBits { dtype: T::DTYPE });
        assert_eq!(found.next(), Some(expected), "{}", case.words);
    }
    assert_eq!(found.next(), None);
}

fn accept<M: HostileStruct>(case: &Case, flush: Flush) {
    if case.versioned_only && !M::VERSIONED {
        return;
    }
    announce(&case.words);
    let built = case.build::<M>(true, flush);
    built.close_elements();
    let mut tensor = import(&built).unwrap_or_else(|error| panic!("{}: {error}", case.words));
    // F13: no method of the handle reads the struct again.
    built.close_struct();
    assert_eq!(tensor.shape(), case.shape(), "{}", case.words);
    match &case.strides {
        Array::Of(strides) => assert_eq!(tensor.strides(), strides),
        Array::Null | Array::Nowhere => assert!(tensor.is_row_major()),
    }
    assert_eq!((tensor.dtype(), tensor.device()), (case.dtype, case.device));
    assert_eq!(tensor.flags(), if M::VERSIONED { case.flags } else { Flags::NONE });
    assert_eq!(tensor.version(), M::VERSIONED.then_some(case.version));
    assert!(!format!("{tensor:?} {:?}", tensor.byte_range()).is_empty());
    assert_eq!(tensor.exclusive().map(drop), Err(Error::NotExclusive));
    let read_only = !M::VERSIONED || case.flags.contains(Flags::READ_ONLY);
    assert_eq!(tensor.is_read_only(), read_only, "{}", case.words);
    built.open_elements();
    let data = built.data();
    match case.dtype {
        DataType::I32 => read::<i32>(case, &tensor, data),
        DataType::U8 => read::<u8>(case, &tensor, data),
        DataType::BOOL => read::<bool>(case, &tensor, data),
        _ => assert!(tensor.elements::<i32>().is_err()),
    }
    assert_eq!(built.deletes(), 0);
    drop(tensor);
    assert_eq!(built.deletes(), 1, "{}", case.words);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn borderline_structs_are_accepted() {
    let cases = borderline();
    assert!(cases.len() > 50, "only {} cases", cases.len());
    for case in &cases {
        for flush in BOTH_ENDS {
            accept::<DLManagedTensorVersioned>(case, flush);
            accept::<DLManagedTensor>(case, flush);
        }
    }
}

/// F1: behind the deleter there is nothing.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn other_major_versions_are_refused() {
    for case in hostile::other_majors() {
        announce(&case.words);
        let built = case.build_head();
        let error = import(&built).map(|_| ()).unwrap_err();
        assert_eq!(Some(error), case.error);
        assert_eq!(built.deletes(), 1);
        let built = case.build_head();
        assert_eq!(slice(&built).err(), case.error);
        assert_eq!(built.deletes(), 1);
    }
}

/// F12: memory that the processor cannot read is not read.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn structs_on_other_devices_are_not_read() {
    fn check<M: HostileStruct>(case: &Case) {
        announce(&case.words);
        let built = case.build::<M>(true, Flush::End);
        let mut tensor = import(&built).unwrap();
        built.close_struct();
        let error = Error::NotOnHost { device: case.device };
        assert_eq!(
            tensor.elements::<i32>().and_then(|elements| elements.load(&[0, 0])),
            Err(error)
        );
        // SAFETY: the memory has no other owner.
        let slice = unsafe { tensor.assume_frozen() }.as_slice::<i32>().map(|_| ());
        assert_eq!(slice, Err(error));
        // SAFETY: as above.
        match unsafe { tensor.assume_exclusive() } {
            Ok(mut exclusive) => {
                assert_eq!(exclusive.as_mut_slice::<i32>().map(|_| ()), Err(error));
            }
            Err(read_only) => assert_eq!((read_only, M::VERSIONED), (Error::ReadOnly, false)),
        }
        drop(tensor);
        assert_eq!(built.deletes(), 1);
    }
    for case in on_devices() {
        check::<DLManagedTensorVersioned>(&case);
        check::<DLManagedTensor>(&case);
    }
}

/// L16: a forgotten handle leaks its tensor, with no other effect.
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn a_forgotten_handle_leaks_the_tensor() {
    let case = Case { flags: Flags::IS_COPIED, ..Case::new("L16 forgotten", &[3]) };
    announce(&case.words);
    let built = case.build::<DLManagedTensorVersioned>(true, Flush::End);
    let mut tensor = import(&built).unwrap();
    built.close_struct();
    // SAFETY: 1. The memory has no other owner.
    let _ = ManuallyDrop::new(unsafe { tensor.assume_exclusive() }.unwrap());
    // SAFETY: as above.
    let mut exclusive = unsafe { tensor.assume_exclusive() }.unwrap();
    exclusive.as_mut_slice::<i32>().unwrap()[0] = 5;
    if !dlpack_tests::skips_under_a_sanitizer("an iterator that is forgotten") {
        let _ = ManuallyDrop::new(tensor.elements::<i32>().unwrap().try_iter());
    }
    let mut tensor = ManuallyDrop::new(tensor);
    assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), [5, 1, 2]);
    assert_eq!(built.deletes(), 0);
    // SAFETY: once, and it is not used again.
    unsafe { ManuallyDrop::drop(&mut tensor) };
    assert_eq!(built.deletes(), 1);
}

/// F13: nothing is read twice, so a producer that changes the struct in between does not get two
/// answers. The slow path starts again, and reads everything once more.
#[cfg(target_arch = "x86_64")]
#[test]
#[cfg_attr(miri, ignore = "Miri has no pages to protect")]
fn each_number_is_read_once() {
    use dlpack_tests::hostile::visits::{Visit, visits};

    /// The pages that are read: 0 is the struct.
    fn check<M: HostileStruct, R>(
        case: &Case,
        is_slow: bool,
        import: fn(&Built<M>) -> R,
    ) -> Vec<usize> {
        announce(&case.words);
        let built = case.build::<M>(true, Flush::End);
        let (imported, visits) = visits(built.said(), || import(&built));
        drop(imported);
        assert_eq!(built.deletes(), 1);
        let distinct = |visits: &[Visit]| {
            let mut visits = visits.to_vec();
            visits.sort_unstable();
            visits.dedup();
            visits.len()
        };
        let read = |visits: &[Visit]| {
            assert_eq!(distinct(visits), visits.len(), "{}: {visits:?}", case.words);
        };
        if is_slow {
            let arrays: Vec<_> = visits.iter().copied().filter(|visit| visit.page != 0).collect();
            let (first, again) = arrays.split_at(arrays.len() - distinct(&arrays));
            read(first);
            read(again);
            let of_struct = visits.iter().filter(|visit| visit.page == 0);
            for visit in of_struct {
                let times = visits.iter().filter(|other| *other == visit).count();
                assert!(times <= 2, "{}: {visits:?}", case.words);
            }
        } else {
            read(&visits);
        }
        let mut pages: Vec<usize> = visits.iter().map(|visit| visit.page).collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }
    let both = |case: &Case, is_slow: bool, pages: &[usize]| {
        let read = check::<DLManagedTensorVersioned, _>(case, is_slow, import);
        assert_eq!(read, pages, "{}", case.words);
        let read = check::<DLManagedTensor, _>(case, is_slow, import);
        assert_eq!(read, pages, "legacy {}", case.words);
    };
    let case = |shape: &[i64]| Case::new(&format!("F13 {shape:?}"), shape);
    both(&case(&[2, 3]).dims(&[2, 3], Some(&[3, 1])), false, &[0, 1, 2]);
    both(&case(&[2, 3]), false, &[0, 1]);
    both(&case(&[2, 0, 3]).dims(&[2, 0, 3], Some(&[3, 3, 1])), true, &[0, 1, 2]);
    both(&case(&[1; 64]).dims(&[1; 64], Some(&[1; 64])), false, &[0, 1, 2]);
    both(&case(&[]), true, &[0]);
    for case in malformed() {
        check::<DLManagedTensorVersioned, _>(&case, true, import);
    }
    let lists: [[&[i64]; 2]; 3] =
        [[&[2, 3], &[3, 1]], [&[2, 1, 3], &[3, 9, 1]], [&[1; 64], &[9; 64]]];
    for [shape, strides] in lists {
        let case = case(shape).dims(shape, Some(strides));
        assert_eq!(check::<DLManagedTensorVersioned, _>(&case, false, slice), [0, 1, 2]);
        assert_eq!(check::<DLManagedTensor, _>(&case, false, slice), [0, 1, 2]);
    }
    assert_eq!(check::<DLManagedTensorVersioned, _>(&case(&[]), false, slice), [0]);
    assert_eq!(check::<DLManagedTensorVersioned, _>(&case(&[2, 3]), false, slice), [0, 1]);
}
