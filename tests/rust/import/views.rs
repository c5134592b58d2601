//! Typed views: strided stores, pixels, lanes, and elements as their bits.

use core::fmt::Debug;
use std::collections::HashSet;

use dlpack_tests::counted::Owner;
use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::{
    Complex, DLPackExport, DataMut, DataRef, DataType, Device, Element, Error, Flags,
    ImportedStorage, Lanes, Readable, Storage, ffi, strides,
};

use crate::import::forge::{Forged, alone, forged, import};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(transparent)]
struct Rgb([u8; 3]);

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(C)]
struct Point {
    x: i32,
    y: i32,
}

/// More strictly aligned than its parts.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(C)]
struct Aligned {
    parts: [f32; 2],
    #[dlpack(skip)]
    align: [f64; 0],
}

/// A tensor of bytes, copied for us.
fn bytes(dtype: DataType, shape: &[i64], bytes: &[u8]) -> Forged {
    let bytes = bytes.to_vec();
    Forged { dtype, bytes, flags: Flags::IS_COPIED, ..forged(shape, &[]) }
}

fn elements<T: Readable + Debug>(case: &Forged) -> Vec<T> {
    case.imported().elements::<T>().unwrap().to_vec().unwrap()
}

/// A11: stores by index, and references to every element, in any layout.
#[test]
fn strided_elements_are_stored() {
    for (shape, strides, byte_offset) in [
        (&[2, 3][..], &[3, 1][..], 0),
        (&[3, 2], &[1, 3], 0),
        (&[2, 3], &[-3, -1], 20),
        (&[2, 2], &[4, 1], 0),
        (&[], &[], 8),
        (&[0, 3], &[1, 1], 0),
    ] {
        let case = Forged { flags: Flags::IS_COPIED, ..forged(shape, &[0, 1, 2, 3, 4, 5]) };
        let mut tensor = case.strided(strides, byte_offset).imported();
        let mut exclusive = alone(&mut tensor);
        let visited = exclusive.elements_mut::<i32>().unwrap();
        let len = visited.len();
        for (n, element) in visited.enumerate() {
            *element = 10 * i32::try_from(n).unwrap();
        }
        if let Some(last) =
            shape.iter().map(|&n| usize::try_from(n - 1).ok()).collect::<Option<Vec<_>>>()
        {
            exclusive.store(&last, 7_i32).unwrap();
        }
        let outside: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).unwrap()).collect();
        if !shape.is_empty() {
            assert_eq!(exclusive.store(&outside, 1_i32), Err(Error::NoSuchElement));
        }
        assert_eq!(exclusive.store(&[0; 9], 1_i32), Err(Error::NoSuchElement));
        let frozen: Vec<i32> = exclusive.as_frozen().elements().unwrap().copied().collect();
        let mut expected: Vec<i32> = (0..len).map(|n| 10 * i32::try_from(n).unwrap()).collect();
        if let Some(last) = expected.last_mut() {
            *last = 7;
        }
        assert_eq!(frozen, expected);
        assert_eq!(tensor.elements::<i32>().unwrap().to_vec().unwrap(), expected);
    }
}

/// Misaligned elements can be stored, but not referenced.
#[test]
fn misaligned_elements_are_stored() {
    let mut case = bytes(DataType::I16, &[2], &[9, 1, 0, 2, 0]);
    case.byte_offset = 1;
    let mut tensor = case.imported();
    let mut exclusive = alone(&mut tensor);
    exclusive.store(&[1], i16::from_le_bytes([4, 5])).unwrap();
    let error = Error::Misaligned { dtype: DataType::I16, align: 2 };
    assert_eq!(exclusive.elements_mut::<i16>().map(|_| ()), Err(error));
    assert_eq!(exclusive.as_frozen().elements::<i16>().map(|_| ()), Err(error));
    assert_eq!(exclusive.as_frozen().as_bytes(), Ok(&[1, 0, 4, 5][..]));
    assert_eq!(tensor.raw_bits().unwrap().load(&[1]), Ok(u64::from(u16::from_le_bytes([4, 5]))));
}

/// An element with axes may need a stricter alignment than the parts that strides count.
/// Then the alignment of the first one does not imply that of the others.
#[test]
fn every_strictly_aligned_element_is_checked() {
    /// The first one is at a multiple of 8.
    #[repr(align(8))]
    struct Eight([f32; 8]);

    impl Storage for Eight {
        fn data(&self) -> DataRef<'_> {
            self.0.data()
        }

        fn data_mut(&mut self) -> DataMut<'_> {
            self.0.data_mut()
        }
    }

    let case = |strides: &[i64]| {
        let numbers = Eight([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let owner = Owner::new(numbers, &[2, 2]).strided(strides, 0);
        import(owner.into_dlpack().unwrap())
    };
    let mut tensor = case(&[3, 1]);
    let error = Error::Misaligned { dtype: DataType::F32, align: 8 };
    let expected = tensor.elements::<f32>().unwrap().to_vec().unwrap();
    let expected: Vec<[f32; 2]> = expected.chunks(2).map(|parts| [parts[0], parts[1]]).collect();
    let found = tensor.elements::<Aligned>().unwrap();
    assert_eq!(found.iter().map(|element| element.parts).collect::<Vec<_>>(), expected);
    let mut exclusive = tensor.exclusive().unwrap();
    assert_eq!(exclusive.elements_mut::<Aligned>().map(|_| ()), Err(error));
    assert_eq!(exclusive.as_frozen().elements::<Aligned>().map(|_| ()), Err(error));
    // Where a row is a whole number of them, all are aligned.
    let mut tensor = case(&[4, 1]);
    let mut exclusive = tensor.exclusive().unwrap();
    for element in exclusive.elements_mut::<Aligned>().unwrap() {
        element.parts = [1.0, 2.0];
    }
    assert_eq!(tensor.elements::<f32>().unwrap().to_vec(), Ok(vec![1.0, 2.0, 1.0, 2.0]));
}

/// The last dimensions of the tensor are the axes of the element.
#[test]
fn pixels_are_viewed() {
    let numbers: Vec<u8> = (0..24).collect();
    let case = bytes(DataType::U8, &[2, 2, 3], &numbers);
    let expected = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]].map(Rgb);
    assert_eq!(elements::<Rgb>(&case), expected);
    let mut tensor = case.imported();
    let view = tensor.elements::<Rgb>().unwrap();
    assert_eq!((view.shape(), view.len()), (&[2, 2][..], 4));
    assert_eq!(view.load(&[1, 0]), Ok(Rgb([6, 7, 8])));
    assert_eq!(view.load(&[1, 0, 0]), Err(Error::NoSuchElement));
    assert_eq!(view.load(&[1, 2]), Err(Error::NoSuchElement));
    let mut exclusive = alone(&mut tensor);
    assert_eq!(exclusive.as_slice::<Rgb>().unwrap(), expected);
    exclusive.as_mut_slice::<Rgb>().unwrap()[3] = Rgb([1; 3]);
    exclusive.store(&[0, 1], Rgb([7; 3])).unwrap();
    assert_eq!(tensor.elements::<u8>().unwrap().iter().sum::<u8>(), 3 + 21 + 21 + 3);
    // Rows with a gap, of no whole number of pixels, upside down.
    let padded = case.clone().strided(&[-10, 3, 1], 10);
    let expected = [[10, 11, 12], [13, 14, 15], [0, 1, 2], [3, 4, 5]].map(Rgb);
    assert_eq!(elements::<Rgb>(&padded), expected);
    let mut tensor = padded.imported();
    let mut exclusive = alone(&mut tensor);
    assert_eq!(exclusive.as_slice::<Rgb>(), Err(Error::NotContiguous));
    for pixel in exclusive.elements_mut::<Rgb>().unwrap() {
        *pixel = Rgb(pixel.0.map(|part| part + 1));
    }
    let parts: Vec<u8> = tensor.elements::<u8>().unwrap().iter().collect();
    assert_eq!(parts, [11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6]);
    // Planes are not pixels, nor are two of three parts, nor none.
    let error = Error::AxesMismatch { axes: &[3] };
    for (shape, strides) in
        [(&[2, 2, 3][..], &[2, 1, 4][..]), (&[4, 2], &[2, 1]), (&[], &[]), (&[3], &[2])]
    {
        let tensor = case.clone();
        let tensor = Forged { shape: Some(shape.to_vec()), ..tensor }.strided(strides, 0);
        let tensor = tensor.imported();
        assert_eq!(tensor.elements::<Rgb>().map(|_| ()), Err(error), "{shape:?}");
        assert_eq!(ImportedStorage::<Rgb>::new(tensor).map(drop), Err(error));
    }
    let none = bytes(DataType::U8, &[0, 3], &[]);
    assert!(elements::<Rgb>(&none).is_empty());
    let one = bytes(DataType::U8, &[3], &[4, 5, 6]).imported();
    assert_eq!(one.elements::<Rgb>().unwrap().load(&[]), Ok(Rgb([4, 5, 6])));
    let other = Error::ElementMismatch { requested: DataType::U8, found: DataType::I8 };
    let signed = bytes(DataType::I8, &[3], &[4, 5, 6]).imported();
    assert_eq!(signed.elements::<Rgb>().map(|_| ()), Err(other));
}

/// As a field they are exported again with their axes.
#[test]
fn pixels_are_a_field() {
    let case = bytes(DataType::U8, &[2, 3], &[0, 1, 2, 3, 4, 5]);
    let foreign = ImportedStorage::<Rgb>::new(case.imported()).unwrap();
    let again = import(foreign.to_dlpack().unwrap());
    assert_eq!((again.shape(), again.dtype()), (&[2, 3][..], DataType::U8));
    let pixels = again.elements::<Rgb>().unwrap().to_vec().unwrap();
    assert_eq!(pixels, [Rgb([0, 1, 2]), Rgb([3, 4, 5])]);
}

#[test]
fn records_are_viewed() {
    let case = Forged { flags: Flags::IS_COPIED, ..forged(&[3, 2], &[0, 1, 2, 3, 4, 5]) };
    let expected = [Point { x: 0, y: 1 }, Point { x: 2, y: 3 }, Point { x: 4, y: 5 }];
    assert_eq!(elements::<Point>(&case), expected);
    // Or two lanes each.
    let case = Forged { dtype: DataType::I32.with_lanes(2), shape: Some(vec![3]), ..case };
    assert_eq!(elements::<Point>(&case), expected);
    let mut tensor = case.strided(&[-1], 16).imported();
    let mut exclusive = alone(&mut tensor);
    exclusive.store(&[0], Point { x: 40, y: 50 }).unwrap();
    let points = exclusive.as_frozen().elements::<Point>().unwrap();
    assert_eq!(points.map(|point| point.x).collect::<Vec<_>>(), [40, 2, 0]);
}

/// F11: lanes are part of the type.
#[test]
fn lanes_are_viewed() {
    let numbers = [0, 1, 2, 3, 4, 5];
    let case = Forged { flags: Flags::IS_COPIED, ..forged(&[2], &numbers) };
    let case = Forged { dtype: DataType::I32.with_lanes(3), ..case };
    assert_eq!(elements::<Lanes<i32, 3>>(&case), [Lanes([0, 1, 2]), Lanes([3, 4, 5])]);
    let mut tensor = case.imported();
    let error = |requested| Error::ElementMismatch { requested, found: case.dtype };
    assert_eq!(tensor.elements::<i32>().map(|_| ()), Err(error(DataType::I32)));
    let two = DataType::I32.with_lanes(2);
    assert_eq!(tensor.elements::<Lanes<i32, 2>>().map(|_| ()), Err(error(two)));
    assert_eq!(tensor.raw_bits().map(|_| ()), Err(Error::TooWide { dtype: case.dtype }));
    let mut exclusive = alone(&mut tensor);
    exclusive.as_mut_slice::<Lanes<i32, 3>>().unwrap().reverse();
    let bytes: &[i32] = bytemuck::cast_slice(exclusive.as_frozen().as_bytes().unwrap());
    assert_eq!(bytes, [3, 4, 5, 0, 1, 2]);
    // And out.
    let owner = Owner::new(vec![Lanes([1.0_f32, 2.0]), Lanes([3.0, 4.0])], &[2]);
    let tensor = import(owner.into_dlpack().unwrap());
    assert_eq!(tensor.dtype(), DataType::F32.with_lanes(2));
    assert_eq!(tensor.elements::<Lanes<f32, 2>>().unwrap().load(&[1]), Ok([3.0, 4.0].into()));
    let code = u64::from(4_f32.to_bits()) << 32 | u64::from(3_f32.to_bits());
    assert_eq!(tensor.raw_bits().unwrap().load(&[1]), Ok(code));
}

#[test]
fn complex_and_half_elements_are_viewed() {
    let number = |n: f32| n.to_ne_bytes();
    let case = bytes(DataType::COMPLEX64, &[2], [1.0, 2.0, 3.0, 4.0].map(number).as_flattened());
    let pair = |re, im| Complex { re, im };
    assert_eq!(elements::<Complex<f32>>(&case), [pair(1.0, 2.0), pair(3.0, 4.0)]);
    let mut tensor = case.imported();
    alone(&mut tensor).store(&[0], pair(5.0_f32, 6.0)).unwrap();
    assert_eq!(tensor.elements::<Complex<f32>>().unwrap().load(&[0]), Ok(pair(5.0, 6.0)));
    let case = bytes(DataType::F16, &[2], &[0x3c00_u16, 0xc000].map(u16::to_ne_bytes).concat());
    assert_eq!(elements::<half::f16>(&case).map_to_f32(), [1.0, -2.0]);
    assert_eq!(case.imported().raw_bits().unwrap().iter().collect::<Vec<_>>(), [0x3c00, 0xc000]);
    let case = bytes(DataType::BF16, &[2], &[0x3f80_u16, 0xc000].map(u16::to_ne_bytes).concat());
    assert_eq!(elements::<half::bf16>(&case).map_to_f32(), [1.0, -2.0]);
}

trait MapToF32 {
    fn map_to_f32(self) -> Vec<f32>;
}

impl<T: Into<f32>> MapToF32 for Vec<T> {
    fn map_to_f32(self) -> Vec<f32> {
        self.into_iter().map(Into::into).collect()
    }
}

/// The bits of any element, by definition: counted from the lowest of the first byte.
fn by_definition(case: &Forged, strides: &[i64]) -> Vec<u64> {
    let bits = i64::from(case.dtype.element_bits());
    let padded = case.flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED);
    let stored = if padded { (bits + 7) / 8 * 8 } else { bits };
    let first = i64::try_from(case.byte_offset).unwrap() * 8;
    let bit = |at: i64| {
        let at = usize::try_from(at).unwrap();
        u64::from(case.bytes[at / 8] >> (at % 8) & 1)
    };
    positions(case.shape.as_deref().unwrap(), strides)
        .into_iter()
        .map(|position| (0..bits).map(|n| bit(first + position * stored + n) << n).sum())
        .collect()
}

/// Every type of at most 64 bits, packed and padded, in random layouts.
#[test]
#[cfg(target_endian = "little")]
fn elements_are_read_as_raw_bits() {
    let mut random = Random::new(17);
    let mut types = DataType::ALL.to_vec();
    for bits in [1, 2, 4] {
        types.extend([ffi::kDLInt, ffi::kDLUInt].map(|code| DataType::new(code, bits, 1)));
    }
    types.push(DataType::new(ffi::kDLOpaqueHandle, 64, 1));
    let rounds = if cfg!(miri) { 1 } else { 200 };
    for dtype in types {
        for round in 0..rounds {
            let lanes = u16::try_from(random.within(1..=3)).unwrap();
            let dtype = dtype.with_lanes(lanes);
            let shape: Vec<i64> = (0..random.below(4)).map(|_| random.within(1..=4)).collect();
            let strides: Vec<i64> = shape.iter().map(|_| random.within(-9..=9)).collect();
            let flags = [Flags::NONE, Flags::IS_SUBBYTE_TYPE_PADDED, Flags::READ_ONLY];
            let flags = flags[round % 3];
            let mut case = bytes(dtype, &shape, &[]);
            case.flags = flags;
            // As much memory as the elements need on either side, at any address.
            let wide = u64::from(dtype.element_bits().div_ceil(8)) * 9 * 4 * 3;
            case.byte_offset = wide + random.bits() % 3;
            let len = usize::try_from(2 * wide).unwrap() + 64;
            case.bytes = (0..len).map(|_| random.bits().to_le_bytes()[0]).collect();
            case.strides = Some(strides.clone());
            let tensor = case.imported();
            if dtype.element_bits() > 64 {
                assert_eq!(tensor.raw_bits().map(|_| ()), Err(Error::TooWide { dtype }));
                continue;
            }
            let codes = tensor.raw_bits().unwrap();
            assert_eq!((codes.bits(), codes.shape()), (dtype.element_bits(), &shape[..]));
            let expected = by_definition(&case, &strides);
            assert_eq!(codes.iter().len(), expected.len());
            assert_eq!(codes.iter().collect::<Vec<_>>(), expected, "{dtype} {shape:?} {strides:?}");
            let last: Vec<usize> =
                shape.iter().map(|&dim| usize::try_from(dim - 1).unwrap()).collect();
            assert_eq!(codes.load(&last), Ok(*expected.last().unwrap()));
        }
    }
}

#[test]
fn elements_without_raw_bits_are_refused() {
    let mut case = bytes(DataType::U8, &[1], &[1]);
    case.device = Device::cuda(0);
    let error = Error::NotOnHost { device: case.device };
    assert_eq!(case.imported().raw_bits().map(|_| ()), Err(error));
    let mut tensor = case.imported();
    assert_eq!(alone(&mut tensor).as_frozen().as_bytes(), Err(error));
    let dtype = DataType::new(ffi::DLDataTypeCode(99), 8, 1);
    let case = Forged { version: tensors::Version::new(1, 9), dtype, device: Device::CPU, ..case };
    assert_eq!(case.imported().raw_bits().map(|_| ()), Err(Error::UnsupportedDType { dtype }));
    let case = bytes(DataType::U8, &[2, 0], &[]);
    let tensor = case.imported();
    assert!(tensor.raw_bits().unwrap().is_empty());
    assert_eq!(tensor.raw_bits().unwrap().load(&[0, 0]), Err(Error::NoSuchElement));
}

/// Bytes of packed elements, as a slice.
#[test]
fn packed_elements_are_read_as_bytes() {
    let case = bytes(DataType::FLOAT4_E2M1FN, &[5], &[0x21, 0x43, 0x05]);
    let mut tensor = case.imported();
    let exclusive = alone(&mut tensor);
    assert_eq!(exclusive.as_frozen().as_bytes(), Ok(&[0x21, 0x43, 0x05][..]));
    let case = case.strided(&[-1], 2);
    let mut tensor = case.imported();
    assert_eq!(alone(&mut tensor).as_frozen().as_bytes(), Err(Error::NotContiguous));
}

/// A3, A10: READ_ONLY is never written, and neither is a layout in which two indices name
/// one element, whatever the caller promises. Exclusive views name every element once.
#[test]
fn exclusive_views_name_every_element_once() {
    let mut random = Random::new(4);
    let (mut given, mut refused, mut careful) = (0, 0, 0);
    let (cases, enough) = if cfg!(miri) { (60, 3) } else { (100_000, 1000) };
    for _ in 0..cases {
        let shape: Vec<i64> = (0..random.below(4)).map(|_| random.within(0..=4)).collect();
        let strides: Vec<i64> = shape.iter().map(|_| random.within(-12..=12)).collect();
        let positions = positions(&shape, &strides);
        let distinct = positions.iter().collect::<HashSet<_>>().len() == positions.len();
        // Three axes reach at most 108 elements.
        let mut case = forged(&shape, &[0; 220]).strided(&strides, 110 * 4);
        let read_only = random.one_in(4);
        let others = if read_only { Flags::READ_ONLY } else { Flags::NONE };
        case.flags = Flags::IS_COPIED | others;
        let mut tensor = case.imported();
        let first = tensor.data_ptr();
        // SAFETY: the memory has no other owner.
        match unsafe { tensor.assume_exclusive() } {
            Ok(mut exclusive) => {
                assert!(distinct && !read_only, "{shape:?} {strides:?}");
                let all: Vec<&mut i32> = exclusive.elements_mut().unwrap().collect();
                let places: Vec<i64> = all
                    .iter()
                    .map(|element| {
                        let place = core::ptr::from_ref::<i32>(element).addr();
                        place.wrapping_sub(first.addr()).cast_signed() as i64 / 4
                    })
                    .collect();
                assert_eq!(places, positions, "{shape:?} {strides:?}");
                given += 1;
            }
            Err(Error::ReadOnly) => assert!(read_only),
            Err(Error::Overlapping) => {
                // A refusal may be too careful, a gift never.
                careful += u32::from(distinct);
                assert!(strides::may_overlap(&shape, &strides));
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(
        given > enough && refused > enough,
        "{given} given, {refused} refused, {careful} too carefully"
    );
}
