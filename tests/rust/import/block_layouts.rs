//! Access in blocks: every layout and every element type is compared with a plain walk over
//! the indices, on a copy of the bytes.

use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::{
    AnyBits, Complex, DLPackExport, DataType, Describe, Description, DescriptionMut, Element,
    Error, ImportedTensor, Lanes, Storage,
};

use crate::import::forge::{Forged, forged};

/// Random layouts per element type.
const CASES: usize = if cfg!(miri) { 2 } else { 200 };

/// The largest size of a dimension.
const MOST: i64 = if cfg!(miri) { 3 } else { 6 };

/// The largest number of elements of a random layout: Miri interprets each access.
const ELEMENTS: i64 = if cfg!(miri) { 24 } else { i64::MAX };

/// The lanes of an element that is larger than a block: 256 bytes under Miri, else 8 KiB.
const LANES: u16 = if cfg!(miri) { 33 } else { 1_500 };

/// A struct with a random layout over random bytes.
struct Case {
    forged: Forged,
    /// The first byte of each element, in row-major order of the indices.
    at: Vec<usize>,
    size: usize,
}

impl Case {
    /// A layout of up to five dimensions. Only for reading it may contain broadcast axes.
    fn random(random: &mut Random, dtype: DataType, size: usize, reading: bool) -> Self {
        let rank = random.below(6);
        let mut room = ELEMENTS;
        let shape: Vec<i64> = (0..rank)
            .map(|_| {
                let dim = if random.one_in(24) { 0 } else { random.within(1..=MOST).min(room) };
                room /= dim.max(1);
                dim
            })
            .collect();
        let mut order: Vec<usize> = (0..rank).collect();
        for index in (1..rank).rev() {
            if random.one_in(2) {
                order.swap(index, random.below(index + 1));
            }
        }
        let (mut strides, mut step) = (vec![0; rank], 1);
        for &axis in order.iter().rev() {
            if random.one_in(4) {
                step *= random.within(1..=3);
            }
            strides[axis] = if random.one_in(4) { -step } else { step };
            if reading && random.one_in(6) {
                strides[axis] = 0;
            } else {
                step *= shape[axis].max(1);
            }
        }
        Self::of(random, dtype, size, &shape, &strides)
    }

    /// A layout over random bytes, at a random address.
    fn of(
        random: &mut Random,
        dtype: DataType,
        size: usize,
        shape: &[i64],
        strides: &[i64],
    ) -> Self {
        let found = positions(shape, strides);
        let low = found.iter().copied().min().unwrap_or(0);
        let high = found.iter().copied().max().unwrap_or(-1);
        let (skip, byte_offset) = (random.below(9), random.below(9));
        let first = skip + byte_offset + usize::try_from(-low).unwrap() * size;
        let len = first + usize::try_from(high + 1).unwrap() * size + random.below(9);
        let at = |position: i64| {
            let bytes = isize::try_from(position).unwrap() * isize::try_from(size).unwrap();
            first.checked_add_signed(bytes).unwrap()
        };
        let forged = Forged {
            shape: Some(shape.to_vec()),
            strides: Some(strides.to_vec()),
            bytes: (0..len).map(|_| random.bits().to_le_bytes()[0]).collect(),
            data: Some(first - byte_offset),
            byte_offset: byte_offset as u64,
            dtype,
            ..forged(&[], &[])
        };
        Self { at: found.into_iter().map(at).collect(), forged, size }
    }

    /// The bytes of all elements, by a walk over the indices.
    fn walk(&self, memory: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.at.len() * self.size);
        for &at in &self.at {
            bytes.extend_from_slice(&memory[at..at + self.size]);
        }
        bytes
    }

    /// All bytes of the struct's memory.
    fn memory(&self, tensor: &ImportedTensor) -> Vec<u8> {
        let Some(first) = self.at.first() else { return self.forged.bytes.clone() };
        let start = tensor.data_ptr().wrapping_sub(*first);
        // SAFETY: the memory of a `Forged` has these bytes, and no one writes them.
        unsafe { core::slice::from_raw_parts(start, self.forged.bytes.len()) }.to_vec()
    }
}

/// The bytes of some elements.
fn bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let len = size_of_val(elements);
    // SAFETY: all bytes of an element are initialized.
    unsafe { core::slice::from_raw_parts(elements.as_ptr().cast(), len) }.to_vec()
}

/// The element with the opposite bits.
fn inverted<T: AnyBits>(mut element: T) -> T {
    // SAFETY: any bits are a value of `T`.
    let bytes: &mut [u8] =
        unsafe { core::slice::from_raw_parts_mut((&raw mut element).cast(), size_of::<T>()) };
    for byte in bytes {
        *byte = !*byte;
    }
    element
}

/// The elements, sorted by their bytes, where the order does not matter.
fn sorted<T: Element>(elements: &[T]) -> Vec<u8> {
    let bytes = bytes(elements);
    let mut sorted: Vec<&[u8]> = bytes.chunks(size_of::<T>()).collect();
    sorted.sort_unstable();
    sorted.concat()
}

/// Reads a tensor in every way.
fn read<T: AnyBits>(case: &Case) {
    let tensor = case.forged.imported();
    let elements = tensor.elements::<T>().unwrap();
    let expected = case.walk(&case.forged.bytes);
    let layout = (&case.forged.shape, &case.forged.strides, T::DTYPE);
    let copy = elements.to_vec().unwrap();
    assert_eq!(bytes(&copy), expected, "to_vec of {layout:?}");
    let mut filled = copy.clone();
    for element in &mut filled {
        *element = inverted(*element);
    }
    elements.copy_to_slice(&mut filled).unwrap();
    assert_eq!(bytes(&filled), expected, "copy_to_slice of {layout:?}");
    let mut seen: Vec<T> = Vec::new();
    elements.for_each_block(|block| {
        assert!(!block.is_empty());
        seen.extend(block);
    });
    assert_eq!(bytes(&seen), expected, "for_each_block of {layout:?}");
    seen.clear();
    elements.try_for_each_block(|block| seen.extend(block)).unwrap();
    assert_eq!(bytes(&seen), expected, "try_for_each_block of {layout:?}");
    seen.clear();
    elements.for_each_block_unordered(|block| seen.extend(block));
    assert_eq!(sorted(&seen), sorted(&copy), "for_each_block_unordered of {layout:?}");
    seen.clear();
    elements.try_for_each_block_unordered(|block| seen.extend(block)).unwrap();
    assert_eq!(sorted(&seen), sorted(&copy));
    seen.clear();
    let mut iter = elements.iter();
    while let Some(element) = iter.next() {
        seen.push(element);
        assert_eq!(iter.len(), copy.len() - seen.len());
    }
    assert!(iter.next().is_none());
    assert_eq!(bytes(&seen), expected, "iter of {layout:?}");
    // Some elements one by one, and the rest by blocks.
    seen.clear();
    let mut iter = elements.iter();
    seen.extend(iter.by_ref().take(2));
    iter.for_each(|element| seen.push(element));
    assert_eq!(bytes(&seen), expected, "fold of {layout:?}");
    let row_len = elements.shape().last().map_or(1, |&dim| usize::try_from(dim).unwrap());
    let mut rows = 0;
    seen.clear();
    elements
        .for_each_row(|row| {
            assert_eq!(row.len(), row_len);
            seen.extend(row);
            rows += 1;
        })
        .unwrap();
    let leading: i64 = elements.shape().iter().rev().skip(1).product();
    assert_eq!((bytes(&seen), rows), (expected, leading), "for_each_row of {layout:?}");
    for parts in if cfg!(miri) { &[2][..] } else { &[0, 1, 2, 5] } {
        let parts = *parts;
        let all: Vec<_> = elements.split(parts).collect();
        assert!(all.len() <= parts.max(1) && !all.is_empty());
        let mut next = 0;
        for part in &all {
            assert_eq!(part.range().start, next);
            next = part.range().end;
        }
        let whole = elements.shape().get(all[0].axis()).map_or(1, |&dim| dim);
        assert_eq!(next, usize::try_from(whole).unwrap(), "{layout:?}");
        let read: Vec<T> = all.iter().flat_map(|part| part.elements().to_vec().unwrap()).collect();
        assert_eq!(bytes(&read), bytes(&copy), "{parts} parts of {layout:?}");
        let lens = all.iter().map(|part| part.elements().len());
        if let (Some(low), Some(high)) = (lens.clone().min(), lens.max()) {
            assert!(all.len() == 1 || high - low <= high / part_dim(&all), "{layout:?}");
        }
        if let Some(part) = all.last().filter(|_| !elements.is_empty()) {
            let last = part.elements();
            let index: Vec<_> =
                last.shape().iter().map(|&dim| usize::try_from(dim).unwrap() - 1).collect();
            assert_eq!(bytes(&[last.load(&index).unwrap()]), bytes(&[*copy.last().unwrap()]));
        }
    }
}

/// The number of indices of the largest part.
fn part_dim<T: AnyBits>(parts: &[tensors::ElementsPart<'_, T>]) -> usize {
    parts.iter().map(|part| part.range().len()).max().unwrap()
}

/// Writes a tensor in every way. Bytes between the elements are not changed.
fn write<T: AnyBits>(case: &Case) {
    let mut tensor = case.forged.imported();
    let layout = (&case.forged.shape, &case.forged.strides, T::DTYPE);
    let mut expected = case.forged.bytes.clone();
    let invert = |memory: &mut [u8]| {
        for &at in &case.at {
            for byte in &mut memory[at..at + case.size] {
                *byte = !*byte;
            }
        }
    };
    let before = tensor.elements::<T>().unwrap().to_vec().unwrap();
    let mut elements = tensor.elements_mut::<T>().unwrap();
    let mut seen = Vec::new();
    elements.update_blocks(|block| {
        seen.extend(block.iter().copied());
        for element in block {
            *element = inverted(*element);
        }
    });
    assert_eq!(bytes(&seen), bytes(&before), "the order of {layout:?}");
    invert(&mut expected);
    assert_eq!(case.memory(&tensor), expected, "update_blocks of {layout:?}");
    tensor.elements_mut::<T>().unwrap().map_in_place(inverted);
    invert(&mut expected);
    assert_eq!(case.memory(&tensor), expected, "map_in_place of {layout:?}");
    let rows = |row: &mut [T]| row.iter_mut().for_each(|element| *element = inverted(*element));
    tensor.elements_mut::<T>().unwrap().update_rows(rows).unwrap();
    invert(&mut expected);
    assert_eq!(case.memory(&tensor), expected, "update_rows of {layout:?}");
    let mut elements = tensor.elements_mut::<T>().unwrap();
    for mut part in elements.split(3) {
        part.elements_mut().map_in_place(inverted);
    }
    invert(&mut expected);
    assert_eq!(case.memory(&tensor), expected, "parts of {layout:?}");
    let turned: Vec<T> = before.iter().rev().copied().collect();
    tensor.elements_mut::<T>().unwrap().copy_from_slice(&turned).unwrap();
    for (&at, element) in case.at.iter().zip(&turned) {
        expected[at..at + case.size].copy_from_slice(&bytes(&[*element]));
    }
    assert_eq!(case.memory(&tensor), expected, "copy_from_slice of {layout:?}");
    if let Some(&value) = before.first() {
        tensor.elements_mut::<T>().unwrap().fill(value);
        for &at in &case.at {
            expected[at..at + case.size].copy_from_slice(&bytes(&[value]));
        }
        let last: Vec<_> =
            tensor.shape().iter().map(|&dim| usize::try_from(dim).unwrap() - 1).collect();
        assert_eq!(case.memory(&tensor), expected, "fill of {layout:?}");
        let mut elements = tensor.elements_mut::<T>().unwrap();
        elements.store(&last, inverted(value)).unwrap();
        assert_eq!(bytes(&[elements.load(&last).unwrap()]), bytes(&[inverted(value)]));
        let at = *case.at.last().unwrap();
        expected[at..at + case.size].copy_from_slice(&bytes(&[inverted(value)]));
        assert_eq!(case.memory(&tensor), expected, "store to {layout:?}");
    }
}

/// Random layouts of one element type. Its axes are none, so it is one element.
fn compare<T: AnyBits>(dtype: DataType) {
    let mut random = Random::new(size_of::<T>() as u64 * 131 + u64::from(dtype.bits()));
    for _ in 0..CASES {
        read::<T>(&Case::random(&mut random, dtype, size_of::<T>(), true));
        let case = Case::random(&mut random, dtype, size_of::<T>(), false);
        write::<T>(&case);
    }
}

#[test]
fn blocks_equal_a_walk_over_the_indices() {
    compare::<u8>(DataType::U8);
    compare::<i8>(DataType::I8);
    compare::<u16>(DataType::U16);
    compare::<i16>(DataType::I16);
    compare::<u32>(DataType::U32);
    compare::<i32>(DataType::I32);
    compare::<u64>(DataType::U64);
    compare::<i64>(DataType::I64);
    compare::<f32>(DataType::F32);
    compare::<f64>(DataType::F64);
    compare::<half::f16>(DataType::F16);
    compare::<half::bf16>(DataType::BF16);
    compare::<Complex<f32>>(DataType::COMPLEX64);
    compare::<Complex<f64>>(DataType::COMPLEX128);
    compare::<Lanes<u8, 3>>(DataType::U8.with_lanes(3));
    compare::<Lanes<i16, 5>>(DataType::I16.with_lanes(5));
}

/// Layouts of several blocks: whole rows of tiles, cut axes, cut runs, and rows that are too
/// long for a buffer of tiles.
#[test]
fn large_tensors_are_cut_into_blocks() {
    let many = |dim: i64| if cfg!(miri) { dim.min(9) } else { dim };
    let some = |dim: i64| if cfg!(miri) { dim.min(5) } else { dim };
    let mut random = Random::new(17);
    let layouts = [
        (vec![many(9_000)], vec![1]),
        (vec![many(9_000)], vec![-3]),
        (vec![many(300), many(70)], vec![1, many(300)]),
        (vec![many(70), many(300)], vec![-1, many(70)]),
        (vec![many(17), many(5_000)], vec![many(5_100), 1]),
        (vec![3, some(40), some(50)], vec![1, 150, 3]),
        (vec![3, some(40), some(50)], vec![some(40) * some(50), 1, some(40)]),
        (vec![some(40), 3, some(50)], vec![3, 1, -120]),
        (vec![2, 3, many(4_000)], vec![many(4_000) * 15, many(4_000) * 5, 2]),
    ];
    for (number, (shape, strides)) in layouts.into_iter().enumerate() {
        // Miri interprets each layout with one type.
        if !cfg!(miri) || number % 2 == 0 {
            let case = Case::of(&mut random, DataType::I32, 4, &shape, &strides);
            read::<i32>(&case);
            write::<i32>(&case);
        }
        if !cfg!(miri) || number % 2 == 1 {
            let case = Case::of(&mut random, DataType::U8, 1, &shape, &strides);
            read::<u8>(&case);
            write::<u8>(&case);
        }
    }
    if !cfg!(miri) {
        // 16 rows of 70,000 elements of 16 bytes are more than any buffer.
        let (dtype, shape) = (DataType::COMPLEX128, [3, 70_000]);
        read::<Complex<f64>>(&Case::of(&mut random, dtype, 16, &shape, &[1, 3]));
    }
}

#[derive(Clone, Copy, Element)]
#[dlpack(crate = tensors, any_bits)]
#[repr(transparent)]
struct Pixel([u8; 3]);

/// Layouts whose elements take as many bytes as they span, and do not fill them.
#[test]
fn repeated_elements_do_not_fill_their_span() {
    let mut random = Random::new(31);
    for (shape, strides) in [([2, 3], [5, 0]), ([3, 2], [0, 5]), ([2, 3], [-5, 0])] {
        read::<i32>(&Case::of(&mut random, DataType::I32, 4, &shape, &strides));
    }
    // Pixels of three bytes, which overlap in part.
    for strides in [[1, 8, 1], [8, 1, 1]] {
        let case = Case::of(&mut random, DataType::U8, 1, &[2, 2, 3], &strides);
        let tensor = case.forged.imported();
        let (pixels, mut seen) = (tensor.elements::<Pixel>().unwrap(), Vec::new());
        pixels.for_each_block_unordered(|block| seen.extend_from_slice(block));
        assert_eq!(sorted(&seen), sorted(&pixels.to_vec().unwrap()), "{strides:?}");
    }
}

/// Parts are read and written by several threads, of memory in every state.
#[test]
fn threads_read_and_write_parts() {
    let len = if cfg!(miri) { 64 } else { 100_000 };
    let columns = 8;
    let shape = [len / columns, columns];
    let mut random = Random::new(29);
    let case = Case::of(&mut random, DataType::I32, 4, &shape, &[1, len / columns]);
    let own = || Matrix(vec![1; usize::try_from(len).unwrap()], shape).into_dlpack().unwrap();
    let mut own = [case.forged.imported(), own().import().unwrap()];
    for tensor in &mut own {
        let before = tensor.elements::<i32>().unwrap().to_vec().unwrap();
        let mut elements = tensor.elements_mut::<i32>().unwrap();
        std::thread::scope(|scope| {
            for mut part in elements.split(3) {
                scope.spawn(move || {
                    part.elements_mut().map_in_place(|value| value.wrapping_add(1));
                    let rows = part.range().len();
                    let mut seen = 0;
                    let mut elements = part.elements_mut();
                    elements
                        .update_rows(|row| {
                            row[0] = row[0].wrapping_sub(1);
                            seen += 1;
                        })
                        .unwrap();
                    assert_eq!(seen, rows);
                });
            }
        });
        let elements = tensor.elements::<i32>().unwrap();
        let sums: Vec<i32> = std::thread::scope(|scope| {
            let sum = |part: tensors::ElementsPart<'_, i32>| {
                part.elements().iter().fold(0, i32::wrapping_add)
            };
            let threads: Vec<_> =
                elements.split(3).map(|part| scope.spawn(move || sum(part))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let added = i32::try_from(len - len / columns).unwrap();
        let expected = before.into_iter().fold(added, i32::wrapping_add);
        assert_eq!(sums.into_iter().fold(0, i32::wrapping_add), expected);
    }
}

/// The dimension that is split, the ranges of the parts, and the number of elements in each.
#[test]
fn parts_are_along_the_outermost_dimension() {
    type Parts = (usize, Vec<(usize, usize)>, Vec<usize>);
    fn parts(shape: [i64; 2], count: usize) -> Parts {
        let len = usize::try_from(shape[0] * shape[1]).unwrap();
        let mut tensor = Matrix(vec![7; len], shape).into_dlpack().unwrap().import().unwrap();
        let elements = tensor.elements::<i32>().unwrap();
        let all: Vec<_> = elements.split(count).collect();
        let axis = all[0].axis();
        let ranges: Vec<_> =
            all.iter().map(|part| (part.range().start, part.range().end)).collect();
        let lens: Vec<_> = all.iter().map(|part| part.elements().len()).collect();
        let mut elements = tensor.elements_mut::<i32>().unwrap();
        assert_eq!(elements.is_empty(), len == 0);
        for (part, range) in elements.split(count).zip(&ranges) {
            assert_eq!((part.axis(), part.range()), (axis, range.0..range.1));
        }
        (axis, ranges, lens)
    }
    assert_eq!(parts([4, 3], 2), (0, vec![(0, 2), (2, 4)], vec![6, 6]));
    assert_eq!(parts([5, 3], 3), (0, vec![(0, 2), (2, 4), (4, 5)], vec![6, 6, 3]));
    // A dimension of size 1 is not split.
    assert_eq!(parts([1, 4], 3), (1, vec![(0, 2), (2, 3), (3, 4)], vec![2, 1, 1]));
    assert_eq!(parts([1, 2], 2), (1, vec![(0, 1), (1, 2)], vec![1, 1]));
    assert_eq!(parts([2, 1], 8), (0, vec![(0, 1), (1, 2)], vec![1, 1]));
    assert_eq!(parts([1, 1], 8), (0, vec![(0, 1)], vec![1]));
    assert_eq!(parts([4, 0], 2), (0, vec![(0, 4)], vec![0]));
    assert_eq!(parts([0, 4], 2), (0, vec![(0, 0)], vec![0]));
    // No dimension is one of size 1.
    let scalar = forged(&[], &[7]).imported();
    let all: Vec<_> = scalar.elements::<i32>().unwrap().split(3).collect();
    assert_eq!((all.len(), all[0].range(), all[0].elements().len()), (1, 0..1, 1));
}

/// A matrix that its tensor owns.
struct Matrix(Vec<i32>, [i64; 2]);

impl DLPackExport for Matrix {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.1).data(self.0.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        out.shape(&self.1).data_mut(self.0.data_mut())
    }
}

/// Rows without elements, and one row that is larger than a block.
#[test]
fn rows_may_be_empty_or_large() {
    let count = |shape: &[i64]| {
        let tensor = Forged { dtype: DataType::U8, ..forged(shape, &[]) }.imported();
        let (mut rows, mut elements) = (0, 0);
        let counted = tensor.elements::<u8>().unwrap().for_each_row(|row| {
            rows += 1;
            elements += row.len();
        });
        counted.map(|()| (rows, elements))
    };
    assert_eq!(count(&[3, 0]), Ok((3, 0)));
    assert_eq!(count(&[0]), Ok((1, 0)));
    assert_eq!(count(&[0, 3]), Ok((0, 0)));
    assert_eq!(count(&[0, i64::MAX, i64::MAX, 0]), Ok((0, 0)));
    assert_eq!(count(&[i64::MAX, i64::MAX, 0]), Err(Error::SizeOverflow));
    assert_eq!(count(&[1 << 16, 1 << 16, 0]), Err(Error::SizeOverflow), "as long as years");
}

/// Elements that are larger than a block.
#[test]
fn elements_that_are_larger_than_a_block() {
    type Large = Lanes<f64, { LANES as usize }>;
    let dtype = DataType::F64.with_lanes(LANES);
    let mut random = Random::new(3);
    for (shape, strides) in [(vec![3], vec![1]), (vec![2, 2], vec![1, 2])] {
        let case = Case::of(&mut random, dtype, size_of::<Large>(), &shape, &strides);
        read::<Large>(&case);
        write::<Large>(&case);
    }
}
