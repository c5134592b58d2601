//! Rows: parts of whole rows, and functions of a row that fail.

use dlpack_tests::counted::Owner;
use tensors::{DLPackExport, Error, ImportedTensor, OwnedTensor};

use crate::import::forge::{forged, import};

/// Consecutive numbers.
fn numbers(shape: &[i64]) -> ImportedTensor {
    let len = shape.iter().product::<i64>();
    let numbers: Vec<_> = (0..i32::try_from(len).unwrap()).collect();
    import(OwnedTensor::new(numbers, shape).unwrap().into_dlpack().unwrap())
}

/// The ranges of the parts, which are along axis 0, and the rows that each part passes.
fn rows_of_parts(tensor: &mut ImportedTensor, count: usize) -> Vec<(usize, usize, Vec<Vec<i32>>)> {
    let found: Vec<_> = tensor
        .elements::<i32>()
        .unwrap()
        .split_rows(count)
        .map(|part| {
            let mut rows = Vec::new();
            part.elements().for_each_row(|row| rows.push(row.to_vec())).unwrap();
            assert_eq!(part.axis(), 0);
            (part.range().start, part.range().end, rows)
        })
        .collect();
    if let Ok(mut elements) = tensor.elements_mut::<i32>() {
        let parts = elements.split_rows(count);
        assert_eq!(parts.len(), found.len());
        for (mut part, (start, end, rows)) in parts.zip(&found) {
            assert_eq!((part.axis(), part.range()), (0, *start..*end));
            let mut same = Vec::new();
            part.elements_mut().update_rows(|row| same.push(row.to_vec())).unwrap();
            assert_eq!(&same, rows);
        }
    }
    found
}

#[test]
fn parts_of_rows_have_whole_rows() {
    let mut one_row = numbers(&[1, 4]);
    assert_eq!(rows_of_parts(&mut one_row, 2), [(0, 1, vec![vec![0, 1, 2, 3]])]);
    let mut matrix = numbers(&[3, 2]);
    let parts = [(0, 2, vec![vec![0, 1], vec![2, 3]]), (2, 3, vec![vec![4, 5]])];
    assert_eq!(rows_of_parts(&mut matrix, 2), parts);
    for count in [0, 1] {
        let all = vec![vec![0, 1], vec![2, 3], vec![4, 5]];
        assert_eq!(rows_of_parts(&mut matrix, count), [(0, 3, all)]);
    }
    assert_eq!(rows_of_parts(&mut matrix, usize::MAX).len(), 3);
    let mut transposed = numbers(&[2, 3]).permute(&[1, 0]).unwrap();
    let parts = [(0, 2, vec![vec![0, 3], vec![1, 4]]), (2, 3, vec![vec![2, 5]])];
    assert_eq!(rows_of_parts(&mut transposed, 2), parts);
    // A tensor of one dimension is one row.
    assert_eq!(rows_of_parts(&mut numbers(&[3]), 2), [(0, 3, vec![vec![0, 1, 2]])]);
    assert_eq!(rows_of_parts(&mut numbers(&[]), 2), [(0, 1, vec![vec![0]])]);
    assert_eq!(rows_of_parts(&mut numbers(&[0, 4]), 2), [(0, 0, vec![])]);
    assert_eq!(rows_of_parts(&mut numbers(&[3, 0]), 2), [(0, 3, vec![vec![]; 3])]);
    let pages = vec![vec![4, 5], vec![6, 7]];
    let parts = rows_of_parts(&mut numbers(&[2, 2, 2]), 2);
    assert_eq!((parts.len(), &parts[1]), (2, &(1, 2, pages)));
}

#[test]
fn parts_along_an_axis_have_its_indices() {
    let mut tensor = numbers(&[2, 3]);
    let elements = tensor.elements::<i32>().unwrap();
    let parts: Vec<_> = elements.split_along(1, 2).unwrap().collect();
    assert_eq!((parts[0].axis(), parts[0].range(), parts[1].range()), (1, 0..2, 2..3));
    assert_eq!(parts[0].elements().to_vec(), Ok(vec![0, 1, 3, 4]));
    assert_eq!(parts[1].elements().to_vec(), Ok(vec![2, 5]));
    let error = Error::NoSuchAxis { axis: 2, ndim: 2 };
    assert_eq!(elements.split_along(2, 2).err(), Some(error));
    let mut elements = tensor.elements_mut::<i32>().unwrap();
    assert_eq!(elements.split_along(2, 2).err(), Some(error));
    for mut part in elements.split_along(1, 9).unwrap() {
        let column = i32::try_from(part.range().start).unwrap();
        part.elements_mut().fill(column);
    }
    assert_eq!(elements.as_elements().to_vec(), Ok(vec![0, 1, 2, 0, 1, 2]));
    let scalar = numbers(&[]);
    let error = Error::NoSuchAxis { axis: 0, ndim: 0 };
    assert_eq!(scalar.elements::<i32>().unwrap().split_along(0, 2).err(), Some(error));
    let empty = numbers(&[2, 0]);
    for (axis, range) in [(0, 0..2), (1, 0..0)] {
        let parts = empty.elements::<i32>().unwrap().split_along(axis, 2).unwrap();
        let ranges: Vec<_> = parts.map(|part| part.range()).collect();
        assert_eq!(ranges, [range]);
    }
    let points = numbers(&[4, 2]);
    let points = points.elements::<[i32; 2]>().unwrap();
    assert_eq!(points.split_along(1, 2).err(), Some(Error::NoSuchAxis { axis: 1, ndim: 1 }));
    // One dimension of points, and the points are its elements: one row.
    assert_eq!((points.split_rows(2).len(), points.split_along(0, 2).unwrap().len()), (1, 2));
}

/// The numbers of both shapes are in the message.
#[test]
fn shapes_are_compared_as_they_are() {
    assert_eq!(numbers(&[2, 3]).same_shape(&numbers(&[2, 3])), Ok(()));
    assert_eq!(numbers(&[]).same_shape(&numbers(&[])), Ok(()));
    for (first, second) in
        [(&[2, 3][..], &[3, 2][..]), (&[6], &[6, 1]), (&[0, 1], &[1, 0]), (&[], &[1])]
    {
        let error = numbers(first).same_shape(&numbers(second)).unwrap_err();
        let expected = format!("expected two tensors of one shape, got {first:?} and {second:?}");
        assert_eq!(error.to_string(), expected);
    }
    let empty = forged(&[0, i64::MAX], &[]).imported();
    let most = usize::try_from(i64::MAX).unwrap_or(usize::MAX);
    assert_eq!(empty.shape_usize().rev().collect::<Vec<_>>(), [most, 0]);
    assert_eq!(numbers(&[]).shape_usize().len(), 0);
}

/// The error of a function, or of the tensor.
#[derive(Debug, PartialEq)]
enum Failure {
    Row(usize),
    Tensor(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Tensor(error)
    }
}

/// Fails in a row, and counts the calls.
fn fail_in(failing: usize, calls: &mut usize) -> Result<(), Failure> {
    *calls += 1;
    if *calls > failing { Err(Failure::Row(failing)) } else { Ok(()) }
}

#[test]
fn the_first_error_of_a_row_is_returned() {
    let frozen = std::sync::Arc::<[i32]>::from([0, 1, 2, 3, 4, 5]);
    let frozen = import(Owner::new(frozen, &[3, 2]).to_dlpack().unwrap());
    assert!(frozen.frozen().is_ok());
    let foreign = forged(&[3, 2], &[0, 1, 2, 3, 4, 5]).imported();
    let transposed = forged(&[2, 3], &[0, 1, 2, 3, 4, 5]).imported().permute(&[1, 0]).unwrap();
    let empty = forged(&[3, 0], &[]).imported();
    for mut tensor in [frozen, foreign, transposed, empty] {
        for failing in 0..=3 {
            let mut calls = 0;
            let elements = tensor.elements::<i32>().unwrap();
            let result = elements.try_for_each_row(|_| fail_in(failing, &mut calls));
            let expected = if failing < 3 { Err(Failure::Row(failing)) } else { Ok(()) };
            assert_eq!((&result, calls), (&expected, 3.min(failing + 1)));
            let Ok(mut elements) = tensor.elements_mut::<i32>() else { continue };
            let before = elements.as_elements().to_vec();
            let mut calls = 0;
            let result = elements.try_update_rows(|row| {
                for value in row {
                    *value += 1;
                }
                fail_in(failing, &mut calls)
            });
            assert_eq!((result, calls), (expected, 3.min(failing + 1)));
            // All rows are in one block.
            let added = i32::from(failing == 3);
            let after = before.unwrap().iter().map(|value| value + added).collect();
            assert_eq!(elements.as_elements().to_vec(), Ok(after));
        }
    }
}

/// An error of the tensor has the type of the function's errors, also in the middle.
#[test]
fn errors_of_the_tensor_are_converted() {
    let case = forged(&[2, 4], &[0x0100_0001, 0x0200_0000]);
    let bits = crate::import::forge::Forged { dtype: tensors::DataType::BOOL, ..case };
    let mut tensor = bits.imported();
    let expected = Err(Failure::Tensor(Error::InvalidBits { dtype: tensors::DataType::BOOL }));
    assert_eq!(tensor.elements::<bool>().unwrap().try_for_each_row(|_| Ok(())), expected);
    assert_eq!(tensor.elements_mut::<bool>().unwrap().try_update_rows(|_| Ok(())), expected);
    let many = forged(&[1 << 33, 0], &[]).imported();
    let result = many.elements::<i32>().unwrap().try_for_each_row(|_| Ok(()));
    assert_eq!(result, Err(Failure::Tensor(Error::SizeOverflow)));
}

/// The blocks before the one of the failing row have been written.
#[cfg_attr(miri, ignore = "Miri takes minutes for 64 KiB")]
#[test]
fn rows_of_earlier_blocks_are_written() {
    let mut tensor = numbers(&[4, 4096]);
    let mut elements = tensor.elements_mut::<i32>().unwrap();
    let mut calls = 0;
    let result = elements.try_update_rows(|row| {
        row.fill(-1);
        fail_in(2, &mut calls)
    });
    assert_eq!((result, calls), (Err(Failure::Row(2)), 3));
    let mut first = Vec::new();
    elements.as_elements().for_each_row(|row| first.push(row[1])).unwrap();
    assert_eq!(first, [-1, -1, 8193, 12289]);
}
