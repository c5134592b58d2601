//! Elements of user-defined types, read from memory with any bytes.

use dlpack_tests::counted::Owner;
use tensors::{
    AnyBits, Complex, DLPackExport, DLPackImport, DataType, Element, Error, ImportedStorage, Lanes,
    Readable, SharedBuffer,
};

use crate::import::forge::{Forged, forged, import};

/// Any bytes are a pixel, and `bytemuck` has no part in that.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(C)]
struct Rgb {
    red: u8,
    green: u8,
    blue: u8,
}

/// Two elements of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(transparent)]
struct Pair<T>([T; 2]);

/// A percentage, at most 100.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors)]
#[repr(transparent)]
struct Percent(u8);

// SAFETY: it has the layout of `u8`, and only the bytes that are valid are accepted.
unsafe impl bytemuck::CheckedBitPattern for Percent {
    type Bits = u8;

    fn is_valid_bit_pattern(bits: &u8) -> bool {
        *bits <= 100
    }
}

/// An enum, for which no derive proves anything.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i16)]
enum Sign {
    Minus = -1,
    Plus = 1,
}

// SAFETY: 1. and 2. It is an initialized `i16`. 3. `DTYPE` is int16. 4. `ANY_BITS` is
// false.
unsafe impl Element for Sign {
    const DTYPE: DataType = DataType::I16;
    const ANY_BITS: bool = false;
}

// SAFETY: 1. Both numbers are values.
unsafe impl Readable for Sign {
    fn are_valid(bytes: &[u8]) -> bool {
        let mut numbers = bytes.chunks_exact(2).map(|two| i16::from_ne_bytes([two[0], two[1]]));
        numbers.all(|number| number == -1 || number == 1)
    }
}

/// A number with hand-written implementations of every trait.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Meters(f32);

// SAFETY: 1. to 4. It is a transparent `f32`.
unsafe impl Element for Meters {
    const DTYPE: DataType = DataType::F32;
    const ANY_BITS: bool = true;
}

// SAFETY: 1. This is the default.
unsafe impl Readable for Meters {}
impl AnyBits for Meters {}

fn bytes(dtype: DataType, shape: &[i64], bytes: &[u8]) -> Forged {
    Forged { dtype, bytes: bytes.to_vec(), ..forged(shape, &[]) }
}

#[test]
fn any_bits_are_read_and_written_without_bytemuck() {
    let image = bytes(DataType::U8, &[2, 3], &[1, 2, 3, 4, 5, 6]).imported();
    let pixels = image.elements::<Rgb>().unwrap();
    let second = Rgb { red: 4, green: 5, blue: 6 };
    assert_eq!(pixels.load(&[1]), Ok(second));
    assert_eq!(pixels.iter().last(), Some(second));
    assert_eq!(pixels.to_vec().unwrap()[1], second);
    assert_eq!(ImportedStorage::<Rgb>::new(image).unwrap().elements().unwrap().len(), 2);

    let shared = SharedBuffer::from_slice(&[second; 2]).unwrap();
    shared.store(0, Rgb { green: 9, ..second });
    let mut copy = import(Owner::new(shared, &[2]).to_dlpack().unwrap()).to_own_copy().unwrap();
    let mut exclusive = copy.exclusive().unwrap();
    exclusive.store(&[1], Rgb { red: 0, green: 0, blue: 0 }).unwrap();
    exclusive.as_mut_slice::<Rgb>().unwrap()[1].blue = 7;
    for pixel in exclusive.elements_mut::<Rgb>().unwrap() {
        pixel.red = 8;
    }
    let expected = [Rgb { red: 8, green: 9, blue: 6 }, Rgb { red: 8, green: 0, blue: 7 }];
    assert_eq!(exclusive.as_slice(), Ok(&expected[..]));
    assert!(exclusive.as_frozen().elements::<Rgb>().unwrap().eq(&expected));
}

#[test]
fn a_parameter_of_which_any_bits_are_a_value() {
    let pairs = SharedBuffer::from_slice(&[Pair([Complex { re: 1.0_f32, im: 2.0 }; 2])]).unwrap();
    assert_eq!(pairs.load(0).0[1].im.to_bits(), 2.0_f32.to_bits());
    let tensor = import(Owner::new(pairs, &[1]).to_dlpack().unwrap());
    assert_eq!(tensor.elements::<Pair<Complex<f32>>>().unwrap().iter().len(), 1);
}

#[test]
fn hand_written_implementations_are_read_and_written() {
    let tensor = bytes(DataType::F32, &[1], &1.5_f32.to_ne_bytes()).imported();
    assert!(tensor.elements::<Meters>().unwrap().iter().eq([Meters(1.5)]));
    assert_eq!(SharedBuffer::<Meters>::zeroed(2).unwrap().to_vec(), [Meters(0.0); 2]);
    let signs = bytes(DataType::I16, &[2], &[255, 255, 1, 0]).imported();
    if cfg!(target_endian = "little") {
        assert_eq!(signs.elements().unwrap().to_vec(), Ok(vec![Sign::Minus, Sign::Plus]));
    }
    let signs = bytes(DataType::I16, &[2], &[255, 255, 2, 2]).imported();
    let error = Error::InvalidBits { dtype: DataType::I16 };
    assert_eq!(signs.elements::<Sign>().unwrap().to_vec(), Err(error));
}

#[derive(Debug, DLPackImport)]
#[dlpack(crate = tensors, order = column_major)]
struct Columns {
    #[dlpack(copy)]
    data: Vec<Percent>,
    #[dlpack(shape)]
    _shape: [usize; 2],
}

/// Every way to read, with and without a value that is not one.
#[test]
fn values_are_checked_by_their_type() {
    let error = Error::InvalidBits { dtype: DataType::U8 };
    let good = bytes(DataType::U8, &[2, 2], &[0, 50, 99, 100]).imported();
    let values = [0, 50, 99, 100].map(Percent);
    let elements = good.elements::<Percent>().unwrap();
    assert_eq!(elements.load(&[1, 1]), Ok(Percent(100)));
    assert_eq!(elements.to_vec().unwrap(), values);
    assert!(elements.try_iter().eq(values.map(Ok)));
    // SAFETY: 1. No one writes to the elements.
    assert_eq!(unsafe { good.assume_frozen() }.as_slice(), Ok(&values[..]));
    let columns = Columns::from_dlpack(good).unwrap();
    assert_eq!(columns.data, [0, 99, 50, 100].map(Percent));

    let bad = bytes(DataType::U8, &[2, 2], &[0, 50, 101, 100]).imported();
    let elements = bad.elements::<Percent>().unwrap();
    assert_eq!(elements.load(&[0, 1]), Ok(Percent(50)));
    assert_eq!(elements.load(&[1, 0]), Err(error));
    assert_eq!(elements.to_vec(), Err(error));
    assert_eq!(elements.try_iter().filter(Result::is_err).count(), 1);
    assert_eq!(elements.try_iter().fold(0, |errors, value| errors + i32::from(value.is_err())), 1);
    // SAFETY: 1. No one writes to the elements.
    assert_eq!(unsafe { bad.assume_frozen() }.as_slice::<Percent>(), Err(error));
    let backwards = bytes(DataType::U8, &[4], &[0, 50, 101, 100]).strided(&[-1], 3).imported();
    assert_eq!(backwards.elements::<Percent>().unwrap().to_vec(), Err(error));
    assert!(Columns::from_dlpack(bad).is_err());
}

#[test]
fn lanes_are_checked_as_their_parts_are() {
    let dtype = DataType::U8.with_lanes(2);
    let lanes = bytes(dtype, &[2], &[100, 0, 7, 101]).imported();
    let elements = lanes.elements::<Lanes<Percent, 2>>().unwrap();
    assert_eq!(elements.load(&[0]), Ok(Lanes([Percent(100), Percent(0)])));
    assert_eq!(elements.load(&[1]), Err(Error::InvalidBits { dtype }));
}

/// Numbers of the crate `num_complex` are those of DLPack, also in a storage.
#[test]
fn complex_numbers_of_another_crate_are_elements() {
    use num_complex::Complex64;
    let numbers = vec![Complex64::new(1.0, -2.0), Complex64::new(0.5, 0.0)];
    let tensor = tensors::OwnedTensor::from_vec(numbers.clone()).into_dlpack().unwrap();
    assert_eq!(tensor.dtype(), DataType::COMPLEX128);
    let tensor = tensor.import().unwrap();
    assert_eq!(tensor.elements::<Complex64>().unwrap().to_vec(), Ok(numbers));
    let same = tensor.elements::<Complex<f64>>().unwrap().to_vec().unwrap();
    assert_eq!(same[0], Complex { re: 1.0, im: -2.0 });
    assert!(tensor.elements::<num_complex::Complex32>().is_err());
}
