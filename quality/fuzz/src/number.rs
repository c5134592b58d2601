//! Numbers as wrong producers write them: small ones, and those at edges.

use arbitrary::Arbitrary;

/// A dimension, a stride.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    Small(i8),
    Edge(u8),
    Any(i64),
}

const EDGES: [i64; 16] = [
    0,
    1,
    -1,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MIN + 1,
    i64::MAX / 2,
    i64::MIN / 2,
    1 << 31,
    1 << 32,
    (1 << 32) - 1,
    1 << 60,
    1 << 62,
    -(1 << 60),
    i64::MAX / 4 + 1,
];

impl From<Number> for i64 {
    fn from(number: Number) -> Self {
        match number {
            Number::Small(small) => small.into(),
            Number::Edge(which) => EDGES[usize::from(which) % EDGES.len()],
            Number::Any(any) => any,
        }
    }
}

/// A count of bytes.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Bytes {
    Small(u8),
    FromTheEnd(u8),
    Any(u64),
}

impl From<Bytes> for u64 {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Small(small) => small.into(),
            Bytes::FromTheEnd(small) => u64::MAX - u64::from(small),
            Bytes::Any(any) => any,
        }
    }
}

/// An element type.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Type {
    Known(u8),
    Lanes(u8, u16),
    Any(u8, u8, u16),
}

impl From<Type> for dlpack_traits::DataType {
    fn from(dtype: Type) -> Self {
        let known = |which: u8| KNOWN[usize::from(which) % KNOWN.len()];
        match dtype {
            Type::Known(which) => known(which),
            Type::Lanes(which, lanes) => known(which).with_lanes(lanes),
            Type::Any(code, bits, lanes) => {
                Self::new(dlpack_traits::ffi::DLDataTypeCode(code), bits, lanes)
            }
        }
    }
}

use dlpack_traits::DataType;

const KNOWN: [DataType; 12] = [
    DataType::U8,
    DataType::I32,
    DataType::F32,
    DataType::BOOL,
    DataType::U16,
    DataType::F64,
    DataType::COMPLEX64,
    DataType::FLOAT4_E2M1FN,
    DataType::FLOAT6_E2M3FN,
    DataType::BF16,
    DataType::I64,
    DataType::COMPLEX128,
];
