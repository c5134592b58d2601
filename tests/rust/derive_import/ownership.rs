//! Ownership of the tensor on every path of an import.

use core::marker::PhantomData;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use dlpack_tests::counted::Drops;
use tensors::{DLPackExport, DLPackImport, ImportError, ImportedStorage};

use super::{bytes, imported, text};

/// Made by a function of its parts, in the order of the fields.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(height, width), construct = Self::new)]
struct Mask {
    #[dlpack(skip)]
    area: usize,
    width: u8,
    #[dlpack(data)]
    pixels: ImportedStorage<u8>,
    height: u16,
}

#[derive(Debug)]
struct Empty;

impl core::fmt::Display for Empty {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a mask has pixels")
    }
}

impl Mask {
    fn new(width: u8, pixels: ImportedStorage<u8>, height: u16) -> Result<Self, Empty> {
        assert!(width != 5, "a constructor that panics");
        let area = usize::from(width) * usize::from(height);
        if area == 0 { Err(Empty) } else { Ok(Self { area, width, pixels, height }) }
    }
}

/// Imports it; returns the result, and the number of deleter calls then and at the end.
fn outcome<T: DLPackImport>(shape: &[i64]) -> (Option<Result<T, ImportError>>, Drops) {
    let drops = Drops::new();
    let tensor = imported(&bytes(shape), &drops);
    let result = catch_unwind(AssertUnwindSafe(|| T::from_dlpack(tensor)));
    (result.ok(), drops)
}

#[test]
fn constructors_release_the_tensor_once() {
    let (mask, drops) = outcome::<Mask>(&[2, 3]);
    let mask = mask.unwrap().unwrap();
    assert_eq!((mask.area, mask.width, mask.height), (6, 3, 2));
    assert_eq!(drops.count(), 0);
    drop(mask.into_dlpack());
    assert_eq!(drops.count(), 1);

    let (refused, drops) = outcome::<Mask>(&[0, 3]);
    let refused = refused.unwrap();
    assert!(matches!(refused, Err(ImportError::Rejected(_))));
    assert_eq!((text(refused), drops.count()), ("a mask has pixels".to_owned(), 1));

    let (panicked, drops) = outcome::<Mask>(&[1, 5]);
    assert!(panicked.is_none());
    assert_eq!(drops.count(), 1, "a panic releases it too");
}

/// Looked at when it is made.
#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, validate = Self::check)]
struct Table {
    data: ImportedStorage<u8>,
    shape: [u8; 2],
    #[dlpack(default)]
    names: Vec<String>,
    #[dlpack(default = Self::unnamed)]
    title: &'static str,
    unit: PhantomData<fn() -> u8>,
    #[dlpack(skip, default = u8::default)]
    offset: u8,
}

impl Table {
    fn unnamed() -> &'static str {
        "unnamed"
    }

    fn check(&self) -> Result<(), &'static str> {
        assert!(self.shape[0] != 6, "a check that panics");
        if self.shape[0] == self.shape[1] { Ok(()) } else { Err("a table is square") }
    }
}

#[test]
fn checks_and_defaults_release_the_tensor_once() {
    let (table, drops) = outcome::<Table>(&[2, 2]);
    let table = table.unwrap().unwrap();
    assert_eq!((table.title, table.names.len(), table.offset), ("unnamed", 0, 0));
    assert_eq!(table.unit, PhantomData);
    drop(table);
    assert_eq!(drops.count(), 1);

    let (refused, drops) = outcome::<Table>(&[2, 3]);
    assert_eq!((text(refused.unwrap()), drops.count()), ("a table is square".to_owned(), 1));

    let (panicked, drops) = outcome::<Table>(&[6, 1]);
    assert!(panicked.is_none());
    assert_eq!(drops.count(), 1);
}

/// A default that panics, after some of the fields are made.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Haunted {
    data: ImportedStorage<u8>,
    shape: Vec<i64>,
    #[dlpack(default = Haunted::scream)]
    #[dlpack(skip)]
    ghost: u8,
}

impl Haunted {
    fn scream() -> u8 {
        panic!("a default that panics")
    }
}

#[test]
fn panicking_defaults_release_the_tensor_once() {
    let (panicked, drops) = outcome::<Haunted>(&[6]);
    assert!(panicked.is_none_or(|haunted| {
        haunted.is_ok_and(|haunted| {
            haunted.data.imported().ndim() + haunted.shape.len() == usize::from(haunted.ghost)
        })
    }));
    assert_eq!(drops.count(), 1);
}

/// The mismatch is detected after the tensor was accepted.
#[derive(DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Narrow {
    data: ImportedStorage<u8>,
    #[dlpack(ndim)]
    ndim: u8,
    shape: [i8; 2],
    byte_offset: u8,
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let drops = Drops::new();
    let long = super::Forged { bytes: vec![0; 200], ..bytes(&[200]) };
    let narrow = Narrow::from_dlpack(imported(&long, &drops));
    let narrow = narrow.map(|narrow| (narrow.data, narrow.ndim, narrow.shape, narrow.byte_offset));
    assert!(matches!(narrow, Err(ImportError::Mismatch(_))));
    assert_eq!(drops.count(), 1);
}

/// The storage detects a misaligned element.
#[test]
fn misaligned_elements_are_refused() {
    #[derive(DLPackImport)]
    #[dlpack(crate = ::tensors)]
    struct Words {
        data: ImportedStorage<u32>,
        shape: [u8; 1],
    }
    let drops = Drops::new();
    let mut odd = super::forge::forged(&[1], &[0, 0]);
    (odd.dtype, odd.byte_offset) = (tensors::DataType::U32, 1);
    let words = Words::from_dlpack(imported(&odd, &drops));
    let words = words.map(|words| (words.data, words.shape));
    assert!(matches!(words, Err(ImportError::Tensor(tensors::Error::Misaligned { .. }))));
    assert_eq!(drops.count(), 1);
}
