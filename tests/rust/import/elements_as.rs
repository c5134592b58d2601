//! Elements that are converted while they are read.

use std::collections::BTreeMap;

use half::{bf16, f16};
use tensors::{
    Complex, DLPackExport, DataType, Describe, Description, Error, ImportedTensor, Number,
    OwnedTensor, SharedBuffer, Storage,
};

/// Bytes as elements of any type.
struct Any {
    bytes: SharedBuffer<u8>,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: usize,
}

impl DLPackExport for Any {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let layout = out.shape(&self.shape).strides(&self.strides).byte_offset(self.offset);
        layout.dtype(self.dtype).data(self.bytes.data())
    }
}

fn any(dtype: DataType, bytes: &[u8], shape: &[i64], strides: &[i64]) -> ImportedTensor {
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let bytes = SharedBuffer::from_slice(bytes).unwrap();
    let tensor = Any { bytes, dtype, shape, strides, offset: 0 };
    tensor.into_dlpack().unwrap().import().unwrap()
}

fn line(dtype: DataType, bytes: &[u8], len: i64) -> ImportedTensor {
    any(dtype, bytes, &[len], &[1])
}

fn values<T: Number>(tensor: &ImportedTensor) -> Result<Vec<T>, Error> {
    tensor.elements_as::<T>()?.to_vec()
}

fn bytes_of<T: bytemuck::NoUninit>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

#[test]
fn every_numeric_type_is_read_as_its_values() {
    let numbers = [0.0, 1.0, -1.5, f64::INFINITY];
    let of = |dtype, bytes: Vec<u8>| values::<f64>(&line(dtype, &bytes, 4)).unwrap();
    assert_eq!(of(DataType::F16, bytes_of(&numbers.map(f16::from_f64))), numbers);
    assert_eq!(of(DataType::BF16, bytes_of(&numbers.map(bf16::from_f64))), numbers);
    assert_eq!(of(DataType::F32, bytes_of(&[0.0_f32, 1.0, -1.5, f32::INFINITY])), numbers);
    assert_eq!(of(DataType::F64, bytes_of(&numbers)), numbers);
    assert_eq!(of(DataType::BOOL, vec![0, 1, 1, 0]), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(of(DataType::I8, bytes_of(&[-128_i8, -1, 0, 127])), [-128.0, -1.0, 0.0, 127.0]);
    assert_eq!(of(DataType::U8, vec![0, 1, 128, 255]), [0.0, 1.0, 128.0, 255.0]);
    assert_eq!(of(DataType::I16, bytes_of(&[i16::MIN, -1, 0, 1])), [-32768.0, -1.0, 0.0, 1.0]);
    assert_eq!(of(DataType::U16, bytes_of(&[u16::MAX, 1, 2, 3])), [65535.0, 1.0, 2.0, 3.0]);
    assert_eq!(
        of(DataType::I32, bytes_of(&[i32::MIN, -1, 0, 1])),
        [-2_147_483_648.0, -1.0, 0.0, 1.0]
    );
    assert_eq!(of(DataType::U32, bytes_of(&[u32::MAX, 1, 2, 3])), [4_294_967_295.0, 1.0, 2.0, 3.0]);
    assert_eq!(of(DataType::FLOAT8_E5M2, vec![0, 0x3c, 0xbe, 0x7c]), numbers);
    assert_eq!(of(DataType::FLOAT8_E4M3FN, vec![0, 0x38, 0xbc, 0x7e])[..3], numbers[..3]);
    assert_eq!(of(DataType::FLOAT8_E8M0FNU, vec![127, 128, 126, 130]), [1.0, 2.0, 0.5, 8.0]);
}

/// The first element is in the lowest bits.
#[test]
fn elements_that_share_bytes_are_read_as_their_values() {
    let e2m1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0_f32];
    let codes: Vec<u8> = (0..8).map(|pair| (2 * pair) | ((2 * pair + 1) << 4)).collect();
    let all = values::<f32>(&line(DataType::FLOAT4_E2M1FN, &codes, 16)).unwrap();
    assert_eq!(all[..8], e2m1);
    assert_eq!(all[8..], e2m1.map(|value| -value));
    let i4 = DataType::new(DataType::I8.code(), 4, 1);
    assert_eq!(values::<i8>(&line(i4, &[0x78, 0xf0], 4)), Ok(vec![-8, 7, 0, -1]));
    let u2 = DataType::new(DataType::U8.code(), 2, 1);
    assert_eq!(values::<u16>(&line(u2, &[0b11_01_00_10], 4)), Ok(vec![2, 0, 1, 3]));
    // Miri takes minutes for more elements.
    let pairs = if cfg!(miri) { 20 } else { 2000 };
    let many: Vec<u8> = (0..=250).cycle().take(pairs).collect();
    let codes = many.iter().flat_map(|&byte| [byte & 15, byte >> 4]);
    let expected =
        codes.map(|code| e2m1[usize::from(code & 7)] * if code > 7 { -1.0 } else { 1.0 });
    let all =
        values::<f32>(&line(DataType::FLOAT4_E2M1FN, &many, 2 * i64::try_from(pairs).unwrap()))
            .unwrap();
    assert_eq!(all, expected.collect::<Vec<_>>());
}

/// The names of the types that are read as `T`s.
fn accepted<T: Number>(types: &[(&str, DataType)], is_lossy: bool) -> String {
    let accepts = |dtype| {
        let tensor = line(dtype, &[0; 16], 1);
        match (is_lossy, tensor.elements_as::<T>(), tensor.elements_as_lossy::<T>()) {
            (false, exact, lossy) => {
                assert!(exact.is_err() || lossy.is_ok(), "{dtype}");
                exact.is_ok()
            }
            (true, _, lossy) => lossy.is_ok(),
        }
    };
    let names = types.iter().filter(|(_, dtype)| accepts(*dtype)).map(|(name, _)| *name);
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn only_types_whose_values_are_kept_are_accepted() {
    let types = [
        ("bool", DataType::BOOL),
        ("int8", DataType::I8),
        ("uint8", DataType::U8),
        ("int16", DataType::I16),
        ("uint16", DataType::U16),
        ("int32", DataType::I32),
        ("uint32", DataType::U32),
        ("int64", DataType::I64),
        ("uint64", DataType::U64),
        ("float8", DataType::FLOAT8_E5M2),
        ("float16", DataType::F16),
        ("bfloat16", DataType::BF16),
        ("float32", DataType::F32),
        ("float64", DataType::F64),
        ("complex64", DataType::COMPLEX64),
    ];
    let integers = "bool int8 uint8 int16 uint16";
    let floats = "float8 float16 bfloat16 float32";
    let expected = BTreeMap::from([
        ("i16", "bool int8 uint8 int16".to_owned()),
        ("u8", "bool uint8".to_owned()),
        ("i64", format!("{integers} int32 uint32 int64")),
        ("f32", format!("{integers} {floats}")),
        ("f64", format!("{integers} int32 uint32 {floats} float64")),
        ("f32, lossy", format!("{integers} int32 uint32 int64 uint64 {floats} float64")),
        ("i16, lossy", "bool int8 uint8 int16".to_owned()),
    ]);
    let found = BTreeMap::from([
        ("i16", accepted::<i16>(&types, false)),
        ("u8", accepted::<u8>(&types, false)),
        ("i64", accepted::<i64>(&types, false)),
        ("f32", accepted::<f32>(&types, false)),
        ("f64", accepted::<f64>(&types, false)),
        ("f32, lossy", accepted::<f32>(&types, true)),
        ("i16, lossy", accepted::<i16>(&types, true)),
    ]);
    assert_eq!(found, expected);
    let (requested, found) = (DataType::F32, DataType::I32);
    let mismatch = Err(Error::ElementMismatch { requested, found });
    assert_eq!(values::<f32>(&line(DataType::I32, &[0; 4], 1)), mismatch);
    let lanes = DataType::F32.with_lanes(2);
    assert!(line(lanes, &[0; 8], 1).elements_as::<f32>().is_err());
}

/// Rounded as `as` does.
#[test]
fn a_lossy_conversion_rounds() {
    let numbers = [16_777_217.0, 1e300, -0.1, f64::NAN];
    let tensor = line(DataType::F64, &bytes_of(&numbers), 4);
    let rounded = tensor.elements_as_lossy::<f32>().unwrap().to_vec().unwrap();
    assert_eq!(rounded[..3], [16_777_216.0, f32::INFINITY, -0.1]);
    assert!(rounded[3].is_nan());
    let tensor = line(DataType::U64, &bytes_of(&[u64::MAX]), 1);
    let rounded = tensor.elements_as_lossy::<f64>().unwrap().to_vec();
    assert_eq!(rounded, Ok(vec![18_446_744_073_709_551_616.0]));
}

/// Rows shorter and longer than the chunks in which elements are converted, in any layout.
#[test]
fn rows_are_whole() {
    let bytes: Vec<u8> = (0..=250).cycle().take(6000).collect();
    let shapes: &[(i64, i64)] = &[(2, 3), (2000, 3), (3, 2000), (1, 6000), (6000, 1), (10, 513)];
    for &(rows, columns) in if cfg!(miri) { &shapes[..1] } else { shapes } {
        for strides in [[columns, 1], [1, rows]] {
            let tensor = any(DataType::U8, &bytes, &[rows, columns], &strides);
            let mut expected: Vec<Vec<f32>> = vec![];
            tensor
                .elements::<u8>()
                .unwrap()
                .for_each_row(|row| expected.push(row.iter().map(|&x| f32::from(x)).collect()))
                .unwrap();
            let mut found: Vec<Vec<f32>> = vec![];
            let elements = tensor.elements_as::<f32>().unwrap();
            elements.for_each_row(|row| found.push(row.to_vec())).unwrap();
            assert_eq!(found, expected, "{rows} {columns} {strides:?}");
            let mut blocks = vec![];
            elements.for_each_block(|block| blocks.extend_from_slice(block)).unwrap();
            assert_eq!(blocks, expected.concat());
            assert_eq!((elements.len(), elements.shape()), (blocks.len(), &[rows, columns][..]));
        }
    }
}

#[test]
fn rows_without_elements_are_visited() {
    for (shape, rows) in [(&[2, 0][..], 2), (&[0, 2], 0), (&[0], 1)] {
        let tensor = any(DataType::U8, &[], shape, &vec![1; shape.len()]);
        let (elements, mut found) = (tensor.elements_as::<f32>().unwrap(), 0);
        elements.for_each_row(|row| found += usize::from(row.is_empty())).unwrap();
        assert_eq!((found, elements.is_empty()), (rows, true), "{shape:?}");
        assert_eq!(elements.to_vec(), Ok(vec![]));
    }
    // No memory for a row is needed.
    let wide = any(DataType::U8, &[], &[0, 1 << 60], &[1, 1]);
    wide.elements_as::<f32>().unwrap().for_each_row(|_| unreachable!("no row")).unwrap();
    let scalar = OwnedTensor::scalar(2_u8).into_dlpack().unwrap().import().unwrap();
    let mut rows = vec![];
    scalar.elements_as::<f32>().unwrap().for_each_row(|row| rows.extend_from_slice(row)).unwrap();
    assert_eq!(rows, [2.0]);
}

#[test]
fn a_bool_that_is_no_value_is_an_error() {
    let invalid = Err(Error::InvalidBits { dtype: DataType::BOOL });
    assert_eq!(values::<f32>(&line(DataType::BOOL, &[1, 2], 2)), invalid);
}

#[test]
fn complex_numbers_are_read_as_wider_ones() {
    let halves = bytes_of(&[1.5, -2.0].map(f16::from_f64));
    let tensor = line(DataType::COMPLEX32, &halves, 1);
    assert_eq!(values::<Complex<f32>>(&tensor), Ok(vec![Complex { re: 1.5, im: -2.0 }]));
    assert!(tensor.elements_as_lossy::<f32>().is_err());
    let tensor = line(DataType::F64, &bytes_of(&[0.1_f64]), 1);
    assert!(tensor.elements_as::<Complex<f32>>().is_err());
    let rounded = tensor.elements_as_lossy::<Complex<f32>>().unwrap().to_vec();
    assert_eq!(rounded, Ok(vec![Complex { re: 0.1, im: 0.0 }]));
}

/// Elements of a few bits, the first one in the lowest bits.
fn packed(bits: u32, codes: [u8; 4]) -> Vec<u8> {
    let all = codes.iter().rev().fold(0_u32, |all, &code| all << bits | u32::from(code));
    all.to_le_bytes()[..bits as usize / 2].to_vec()
}

/// One, the smallest number above 0, the largest finite one and -2, by the definition of each format.
#[test]
fn codes_of_small_floats_have_the_values_of_their_formats() {
    // Not by `powi`, whose result Rust does not specify.
    let half = |times: u32| 1.0 / f64::from(1_u32 << times);
    for (dtype, codes, smallest, largest) in [
        (DataType::FLOAT8_E3M4, [0x30, 0x01, 0x6f, 0xc0], half(6), 15.5),
        (DataType::FLOAT8_E4M3, [0x38, 0x01, 0x77, 0xc0], half(9), 240.0),
        (DataType::FLOAT8_E4M3B11FNUZ, [0x58, 0x01, 0x7f, 0xe0], half(13), 30.0),
        (DataType::FLOAT8_E4M3FN, [0x38, 0x01, 0x7e, 0xc0], half(9), 448.0),
        (DataType::FLOAT8_E4M3FNUZ, [0x40, 0x01, 0x7f, 0xc8], half(10), 240.0),
        (DataType::FLOAT8_E5M2, [0x3c, 0x01, 0x7b, 0xc0], half(16), 57344.0),
        (DataType::FLOAT8_E5M2FNUZ, [0x40, 0x01, 0x7f, 0xc4], half(17), 57344.0),
        (DataType::FLOAT6_E2M3FN, [0x08, 0x01, 0x1f, 0x30], 0.125, 7.5),
        (DataType::FLOAT6_E3M2FN, [0x0c, 0x01, 0x1f, 0x30], 0.0625, 28.0),
        (DataType::FLOAT4_E2M1FN, [0x2, 0x1, 0x7, 0xc], 0.5, 6.0),
    ] {
        let bytes = packed(dtype.bits().into(), codes);
        let found = values::<f64>(&line(dtype, &bytes, 4));
        assert_eq!(found, Ok(vec![1.0, smallest, largest, -2.0]), "{dtype}");
    }
}

#[test]
fn codes_of_no_number_are_infinite_or_nan() {
    let infinities = [
        (DataType::FLOAT8_E3M4, 0x70),
        (DataType::FLOAT8_E4M3, 0x78),
        (DataType::FLOAT8_E5M2, 0x7c),
    ];
    for (dtype, code) in infinities {
        let found = values::<f64>(&line(dtype, &[code, code | 0x80], 2));
        assert_eq!(found, Ok(vec![f64::INFINITY, f64::NEG_INFINITY]), "{dtype}");
    }
    for (dtype, code) in [
        (DataType::FLOAT8_E3M4, 0x71),
        (DataType::FLOAT8_E4M3, 0x79),
        (DataType::FLOAT8_E4M3B11FNUZ, 0x80),
        (DataType::FLOAT8_E4M3FN, 0x7f),
        (DataType::FLOAT8_E4M3FNUZ, 0x80),
        (DataType::FLOAT8_E5M2, 0x7d),
        (DataType::FLOAT8_E5M2FNUZ, 0x80),
    ] {
        assert!(values::<f64>(&line(dtype, &[code], 1)).unwrap()[0].is_nan(), "{dtype}");
    }
}

#[test]
fn numbers_of_more_than_64_bits_are_not_converted() {
    for dtype in [DataType::I64, DataType::U64, DataType::F64] {
        let found = DataType::new(dtype.code(), 128, 1);
        let tensor = line(found, &[0; 16], 1);
        for (requested, error) in [
            (DataType::F64, tensor.elements_as_lossy::<f64>().err()),
            (DataType::COMPLEX128, tensor.elements_as_lossy::<Complex<f64>>().err()),
        ] {
            assert_eq!(error, Some(Error::ElementMismatch { requested, found }));
        }
    }
}

#[test]
fn floats_and_complex_numbers_are_read_as_the_widest_complex_numbers() {
    let expected = Ok(vec![Complex { re: 1.5_f64, im: 0.0 }]);
    for (dtype, bytes) in [
        (DataType::F64, bytes_of(&[1.5_f64])),
        (DataType::COMPLEX64, bytes_of(&[1.5_f32, 0.0])),
        (DataType::COMPLEX128, bytes_of(&[1.5_f64, 0.0])),
    ] {
        assert_eq!(values::<Complex<f64>>(&line(dtype, &bytes, 1)), expected, "{dtype}");
    }
}
