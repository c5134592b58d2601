//! `#[derive(DataType)]`: run-time element types, in both directions.

#![forbid(unsafe_code)]

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataType, Error, SharedBuffer, ffi};

#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
enum Kind {
    Bool,
    U8,
    Int16,
    I64,
    Half,
    BFloat16,
    Float32,
    F64,
    C128,
    #[dlpack(dtype = COMPLEX64)]
    Complex64,
    #[dlpack(dtype = FLOAT8_E4M3FN)]
    F8E4M3,
    #[dlpack(dtype = FLOAT4_E2M1FN)]
    F4,
    /// A constant of the enum's own, and one from elsewhere.
    #[dlpack(dtype = Self::INT4)]
    I4,
    #[dlpack(dtype = lane::F32X4)]
    F32x4,
    #[dlpack(alias)]
    Double,
    #[dlpack(skip)]
    Str,
}

impl Kind {
    const INT4: DataType = DataType::new(ffi::kDLInt, 4, 1);
}

mod lane {
    pub(super) const F32X4: super::DataType = super::DataType::F32.with_lanes(4);
}

const BOTH_WAYS: [(Kind, DataType); 14] = [
    (Kind::Bool, DataType::BOOL),
    (Kind::U8, DataType::U8),
    (Kind::Int16, DataType::I16),
    (Kind::I64, DataType::I64),
    (Kind::Half, DataType::F16),
    (Kind::BFloat16, DataType::BF16),
    (Kind::Float32, DataType::F32),
    (Kind::F64, DataType::F64),
    (Kind::C128, DataType::COMPLEX128),
    (Kind::Complex64, DataType::COMPLEX64),
    (Kind::F8E4M3, DataType::FLOAT8_E4M3FN),
    (Kind::F4, DataType::FLOAT4_E2M1FN),
    (Kind::I4, Kind::INT4),
    (Kind::F32x4, lane::F32X4),
];

#[test]
fn enums_convert_to_dtype_and_back() {
    for (kind, dtype) in BOTH_WAYS {
        assert_eq!(DataType::try_from(kind), Ok(dtype));
        assert_eq!(DataType::try_from(&kind), Ok(dtype));
        assert_eq!(Kind::try_from(dtype), Ok(kind));
    }
}

#[test]
fn enums_without_an_inverse_convert_to_dtype() {
    assert_eq!(DataType::try_from(Kind::Double), Ok(DataType::F64));
    assert_eq!(DataType::try_from(Kind::Str), Err(Error::NoDType { variant: "Str" }));
    let dtype = DataType::U64;
    assert_eq!(Kind::try_from(dtype), Err(Error::NoVariant { dtype }));
    assert_eq!(
        Kind::try_from(dtype).unwrap_err().to_string(),
        "elements of type uint64 have no counterpart in the requested type"
    );
}

/// Variants with fields, names that are keywords, types that are parameters.
#[derive(Clone, DataType)]
#[dlpack(crate = ::tensors)]
enum Generic<T, const N: usize> {
    #[dlpack(dtype = BOOL)]
    r#In,
    #[dlpack(skip)]
    r#Struct { _fields: [T; N] },
    #[dlpack(skip)]
    Tuple(T),
}

#[test]
fn generic_enums_convert_to_dtype() {
    type Here = Generic<String, 2>;
    assert_eq!(DataType::try_from(Here::In), Ok(DataType::BOOL));
    let named = |variant| Err(Error::NoDType { variant });
    assert_eq!(DataType::try_from(&Here::Tuple(String::new())), named("Tuple"));
    let fields = [String::new(), String::new()];
    assert_eq!(DataType::try_from(&Here::Struct { _fields: fields }), named("Struct"));
    assert!(matches!(Here::try_from(DataType::BOOL), Ok(Here::In)));
}

/// Byte orders that a file may have.
#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
enum Ordered {
    U8,
    #[dlpack(dtype = F32, big_endian)]
    F32Be,
    #[dlpack(dtype = F32, little_endian)]
    F32Le,
    #[dlpack(big_endian)]
    U16,
}

#[test]
fn another_byte_order_is_an_error() {
    let (native, other) = if cfg!(target_endian = "little") {
        (Ordered::F32Le, Ordered::F32Be)
    } else {
        (Ordered::F32Be, Ordered::F32Le)
    };
    assert_eq!(DataType::try_from(native), Ok(DataType::F32));
    assert_eq!(DataType::try_from(other), Err(Error::NotNativeEndian));
    assert_eq!(Ordered::try_from(DataType::F32), Ok(native));
    assert_eq!(Ordered::try_from(DataType::U8), Ok(Ordered::U8));
    assert_eq!(Ordered::try_from(DataType::U16).is_ok(), cfg!(target_endian = "big"));
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Chunk {
    data: SharedBuffer<u8>,
    shape: Vec<u64>,
    dtype: Ordered,
}

#[test]
fn an_enum_is_the_dtype_of_a_struct() {
    let data = [1.0_f32, 2.0].into_iter().flat_map(f32::to_ne_bytes).collect::<Vec<_>>();
    let data = SharedBuffer::from_slice(&data).expect("memory");
    let native = Ordered::try_from(DataType::F32).expect("one of the two");
    let chunk = Chunk { data: data.clone(), shape: vec![2], dtype: native };
    let tensor = ImportedStorage::from(chunk.into_dlpack().expect("a tensor"));
    assert_eq!(tensor.elements::<f32>(), [1.0, 2.0]);
    tensor.delete(Farewell::Plain);
    let other = if native == Ordered::F32Le { Ordered::F32Be } else { Ordered::F32Le };
    let chunk = Chunk { data, shape: vec![2], dtype: other };
    assert_eq!(chunk.into_dlpack().unwrap_err(), Error::NotNativeEndian);
}

/// Every constant can be spelled out.
#[derive(Clone, Copy, Debug, PartialEq, DataType)]
#[dlpack(crate = ::tensors)]
#[rustfmt::skip]
enum Every {
    #[dlpack(dtype = I8)] A,
    #[dlpack(dtype = I16)] B,
    #[dlpack(dtype = I32)] C,
    #[dlpack(dtype = I64)] D,
    #[dlpack(dtype = U8)] E,
    #[dlpack(dtype = U16)] F,
    #[dlpack(dtype = U32)] G,
    #[dlpack(dtype = U64)] H,
    #[dlpack(dtype = F16)] I,
    #[dlpack(dtype = F32)] J,
    #[dlpack(dtype = F64)] K,
    #[dlpack(dtype = BF16)] L,
    #[dlpack(dtype = COMPLEX32)] M,
    #[dlpack(dtype = COMPLEX64)] N,
    #[dlpack(dtype = COMPLEX128)] O,
    #[dlpack(dtype = BOOL)] P,
    #[dlpack(dtype = FLOAT8_E3M4)] Q,
    #[dlpack(dtype = FLOAT8_E4M3)] R,
    #[dlpack(dtype = FLOAT8_E4M3B11FNUZ)] S,
    #[dlpack(dtype = FLOAT8_E4M3FN)] T,
    #[dlpack(dtype = FLOAT8_E4M3FNUZ)] U,
    #[dlpack(dtype = FLOAT8_E5M2)] V,
    #[dlpack(dtype = FLOAT8_E5M2FNUZ)] W,
    #[dlpack(dtype = FLOAT8_E8M0FNU)] X,
    #[dlpack(dtype = FLOAT6_E2M3FN)] Y,
    #[dlpack(dtype = FLOAT6_E3M2FN)] Z,
    #[dlpack(dtype = FLOAT4_E2M1FN)] AA,
    #[dlpack(dtype = BCOMPLEX32)] AB,
}

#[test]
fn every_constant_has_a_spelling() {
    for &dtype in DataType::ALL {
        let every = Every::try_from(dtype).expect("the derive accepts every constant");
        assert_eq!(DataType::try_from(every), Ok(dtype));
    }
}
