//! Element types that the struct names, packed and padded elements, and bounds.

#![forbid(unsafe_code)]

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use half::bf16;
use tensors::{
    AsDims, Complex, DLPackExport, DataType, Element, Error, Flags, SharedBuffer, Storage,
};

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = BF16)]
struct Weights {
    data: SharedBuffer<u8>,
    shape: [usize; 1],
}

#[test]
fn a_dtype_constant_of_the_crate_is_accepted() {
    let numbers = [bf16::ONE, bf16::NEG_ONE];
    let data = SharedBuffer::from_slice(bytemuck::cast_slice(&numbers)).expect("memory");
    let foreign =
        ImportedStorage::from(Weights { data, shape: [2] }.into_dlpack().expect("a tensor"));
    assert_eq!(foreign.elements::<bf16>(), numbers);
    foreign.delete(Farewell::Plain);
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Waves {
    data: Vec<Complex<bf16>>,
    shape: [usize; 1],
}

#[test]
fn complex_numbers_of_bfloat16_have_their_own_code() {
    let complex = |re, im| Complex { re: bf16::from_f32(re), im: bf16::from_f32(im) };
    let numbers = [complex(1.0, -1.0), complex(2.5, 0.0)];
    let data = numbers.to_vec();
    let exported = Waves { data, shape: [2] }.into_dlpack().expect("a tensor");
    let imported = exported.import().expect("valid");
    assert_eq!(imported.dtype(), DataType::BCOMPLEX32);
    let dtype = imported.dtype().to_ffi();
    assert_eq!((dtype.code.0, dtype.bits, dtype.lanes), (18, 32, 1));
    let copied = imported.elements::<Complex<bf16>>().expect("complex numbers").to_vec();
    assert_eq!(copied.as_deref(), Ok(&numbers[..]));
    // Half-precision parts have the same size, and are another type.
    assert!(imported.elements::<Complex<half::f16>>().is_err());
}

const FOUR_BITS: DataType = DataType::FLOAT4_E2M1FN;

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = self::FOUR_BITS)]
struct Packed {
    data: Vec<u8>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, dtype = Self::DTYPE, padded)]
struct Padded<const N: usize> {
    data: Vec<u8>,
    shape: [usize; N],
}

impl<const N: usize> Padded<N> {
    const DTYPE: DataType = FOUR_BITS;
}

#[test]
fn packed_and_padded_elements_are_exported() {
    let packed = Packed { data: vec![0; 2], shape: [4] }.into_dlpack().unwrap();
    assert_eq!((packed.dtype(), packed.flags()), (FOUR_BITS, Flags::NONE));
    let padded = Padded { data: vec![0; 2], shape: [2] }.into_dlpack().unwrap();
    assert_eq!((padded.dtype(), padded.flags()), (FOUR_BITS, Flags::IS_SUBBYTE_TYPE_PADDED));
    let larger = Padded { data: vec![0; 2], shape: [4] }.into_dlpack();
    assert_eq!(larger.unwrap_err(), Error::OutOfBounds { start: 0, end: 4, len: 2 });
}

/// A type of the user's that does not always have a dtype.
#[derive(Clone, Copy)]
enum Kind {
    Byte,
    Text,
}

impl TryFrom<Kind> for DataType {
    type Error = Error;

    fn try_from(kind: Kind) -> Result<Self, Error> {
        match kind {
            Kind::Byte => Ok(DataType::I8),
            Kind::Text => Err(Error::NoDType { variant: "Text" }),
        }
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Column {
    data: Vec<u8>,
    shape: [usize; 1],
    #[dlpack(dtype)]
    kind: Kind,
}

#[test]
fn a_missing_dtype_is_an_error() {
    let column = |kind| Column { data: vec![0xff], shape: [1], kind };
    let foreign = ImportedStorage::from(column(Kind::Byte).into_dlpack().unwrap());
    assert_eq!(foreign.elements::<i8>(), [-1]);
    foreign.delete(Farewell::Plain);
    let error = column(Kind::Text).into_dlpack().unwrap_err();
    assert_eq!(error, Error::NoDType { variant: "Text" });
}

/// Bounds of the user's instead of `Vec<T>: Storage`.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, bound(T: Element, D: AsDims))]
struct Bound<T, D> {
    data: Vec<T>,
    shape: D,
}

fn rank<T: Element, D: AsDims>(bound: &Bound<T, D>) -> usize {
    bound.tensor().map_or(0, |view| view.ndim())
}

#[test]
fn user_written_bounds_are_kept() {
    assert_eq!(rank(&Bound { data: vec![true], shape: [1_u8, 1] }), 2);
    assert_eq!(vec![true].data().dtype(), DataType::BOOL);
}
