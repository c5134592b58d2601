//! The short ways of descriptions, beside the long one.

use super::*;
use crate::dims::Space;
use crate::storage::{Access, Came, DataRef};

static NUMBERS: [i32; 24] = [0; 24];

/// Whether the short way has a description, which is then that of the long one.
fn is_plain<'a>(layout: impl Fn() -> Result<Layout<'a>, Error>) -> bool {
    let memory = DataRef::from_slice(&NUMBERS).memory();
    let layout = || layout().expect("numbers that fit");
    let Some(plain) = Described::plain(&memory, &layout()) else { return false };
    let described = Described::new(memory, layout()).expect("plain");
    assert_eq!(alloc::format!("{plain:?}"), alloc::format!("{described:?}"));
    true
}

#[test]
fn layouts_of_borrowed_numbers_are_plain() {
    for shape in [&[0_i64; 0][..], &[24], &[4, 6], &[2, 3, 4], &[1, 2, 3, 4]] {
        assert!(is_plain(|| Layout::row_major(shape)), "{shape:?}");
    }
    assert!(is_plain(|| Layout::row_major(&[5_i64, 4])?.byte_offset(16)));
    assert!(is_plain(|| Layout::strided(&[4_i64, 3], &[6_i64, 2])?.byte_offset(4)));
    assert!(is_plain(|| Layout::strided(&[4_i64, 6], &[1_i64, 4])));
    assert!(is_plain(|| Layout::strided(&[3_i64, 3], &[0_i64, 1])));
    assert!(is_plain(|| Layout::strided(&[2_i64; 4], &[1_i64; 4])));
}

/// What another library vouches for stays with its memory, whichever way it is described.
#[test]
fn foreign_memory_is_plain_and_keeps_its_access() {
    let start = NUMBERS.as_ptr().cast_mut().cast::<u8>();
    let foreign = |skipped: usize, dtype: DataType, access: Access| {
        let (start, came) = (start.wrapping_add(skipped), Came { later: 0 });
        // SAFETY: 1. to 3. No one follows the address.
        unsafe { DataRef::from_foreign_parts(start, 64, dtype, crate::Device::CPU, access, came) }
    };
    let row = || Layout::row_major(&[4_i64]).expect("numbers that fit");
    for access in [Access::Shared, Access::ForeignReadOnly] {
        let data = foreign(0, DataType::I32, access);
        let plain = Described::plain(data.memory_ref(), &row()).expect("plain");
        let described = Described::new(data.memory(), row()).expect("plain");
        assert_eq!(alloc::format!("{plain:?}"), alloc::format!("{described:?}"));
        assert_eq!(plain.memory().access, access);
        let mut space = Space::new();
        let shape = space.room().fill(&[4_i64]).expect("room");
        let plain = Plain::of_ref(data, shape).expect("plain");
        assert_eq!(plain.access(), access);
        let owned = plain.owned_by(data.memory_ref()).expect("its own memory");
        assert_eq!(owned.access(), access);
    }
    // Only the producer knows that these are elements.
    for other in [
        foreign(2, DataType::I32, Access::Shared),
        foreign(0, DataType::new(ffi::DLDataTypeCode(200), 32, 1), Access::Shared),
    ] {
        assert!(Described::plain(other.memory_ref(), &row()).is_none());
        let mut space = Space::new();
        let shape = space.room().fill(&[4_i64]).expect("room");
        assert!(Plain::of_ref(other, shape).is_none());
        assert!(Described::new(other.memory(), row()).is_ok());
    }
}

#[test]
fn spans_are_of_bytes() {
    let span = |low, high, bits| {
        let span = Span::new(96, (4, 96), 8, bits, Some(Extent { low, high })).expect("inside");
        (span.start, span.end)
    };
    assert_eq!(span(0, 2, 32), (8, 20));
    assert_eq!(span(0, 0, 8), (8, 9));
    assert_eq!(span(-1, 2, 16), (6, 14));
    assert_eq!(span(0, 2, 4), (8, 10));
}

/// Strides that are none of the shape's are that mistake, wherever they lead.
#[test]
fn ranks_come_before_windows() {
    let memory = DataRef::from_slice(&NUMBERS).memory();
    let layout = Layout::strided(&[2_i64], &[5_i64, 1]).and_then(|it| it.offset(3)?.len(2));
    let described = Described::new(memory, layout.expect("numbers that fit")).map(|_| ());
    assert_eq!(described, Err(Error::RankMismatch { shape: 1, strides: 2 }));
}

/// Of these there is more to say, or to refuse.
#[test]
fn other_layouts_are_not() {
    let memory = DataRef::from_slice(&NUMBERS).memory();
    let plain = |memory: &Memory, layout: Result<Layout<'_>, Error>| {
        Described::plain(memory, &layout.expect("numbers that fit")).is_some()
    };
    let row = || Layout::row_major(&[4_i64]);
    assert!(plain(&memory, row()));
    assert!(!plain(&memory, Layout::row_major(&[4_u8])));
    assert!(!plain(&memory, Layout::row_major(&[1_i64; 5])));
    assert!(!plain(&memory, Layout::row_major(&[0_i64])));
    assert!(!plain(&memory, Layout::row_major(&[-1_i64])));
    assert!(!plain(&memory, Layout::row_major(&[25_i64])));
    assert!(!plain(&memory, Layout::column_major(&[2_i64, 2])));
    assert!(!plain(&memory, Layout::row_major(&[2_i64, 2]).and_then(|it| it.pitch(3))));
    assert!(!plain(&memory, row().and_then(|it| it.len(4))));
    assert!(!plain(&memory, row().and_then(|it| it.offset(1))));
    assert!(!plain(&memory, row().and_then(|it| it.byte_offset(2))));
    assert!(!plain(&memory, row().and_then(|it| it.byte_offset(84))));
    assert!(!plain(&memory, row().map(|it| it.dtype(DataType::I32))));
    assert!(!plain(&memory, row().map(|it| it.device(crate::Device::CPU))));
    assert!(!plain(&memory, row().map(Layout::padded)));
    assert!(!plain(&memory, Layout::strided(&[4_i64], &[-1_i64])));
    assert!(!plain(&memory, Layout::strided(&[4_i64], &[8_i64])));
    assert!(!plain(&memory, Layout::strided(&[4_i64], &[1_u8])));
    assert!(!plain(&memory, Layout::strided(&[4_i64], &[1_i64, 1])));
    assert!(!plain(&memory, Layout::strided(&[0_i64], &[1_i64])));
    assert!(!plain(&memory, Layout::byte_strided(&[4_i64], &[4_i64])));
    // Nor of this memory.
    let padded = DataRef::from_slice(&NUMBERS).into_padded().memory();
    assert!(!plain(&padded, row()));
    let pairs = DataRef::from_slice(&NUMBERS).with_axes(&[2]).memory();
    assert!(!plain(&pairs, row()));
    let refused = DataRef::refused(&Error::NullData).memory();
    assert!(!plain(&refused, row()));
    // Four bytes that begin where no number does.
    let odd: *const u8 = NUMBERS.as_ptr().cast::<u8>().wrapping_add(2);
    // SAFETY: nobody follows the address.
    let odd = unsafe { DataRef::from_raw_parts(odd, 4, DataType::I32, crate::Device::CPU) };
    assert!(!plain(&odd.memory(), Layout::row_major(&[1_i64])));
}
