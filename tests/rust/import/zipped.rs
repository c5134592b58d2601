//! Tensors that are visited together.

use tensors::{
    DLPackExport, DataType, Describe, Description, Error, ImportedTensor, SharedBuffer, Storage,
};

/// Elements in a layout.
struct Strided {
    data: SharedBuffer<i32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: usize,
}

impl DLPackExport for Strided {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.shape).strides(&self.strides).offset(self.offset).data(self.data.data())
    }
}

fn strided(shape: &[i64], strides: &[i64]) -> ImportedTensor {
    let ends = shape.iter().zip(strides).map(|(dim, stride)| (dim - 1).max(0) * stride);
    let (low, high): (Vec<i64>, Vec<i64>) = ends.partition(|end| *end < 0);
    let (low, high) = (-low.iter().sum::<i64>(), high.iter().sum::<i64>());
    let numbers: Vec<i32> = (0..=i32::try_from(low + high).unwrap()).collect();
    let data = SharedBuffer::from_slice(&numbers).unwrap();
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let offset = usize::try_from(low).unwrap();
    Strided { data, shape, strides, offset }.into_dlpack().unwrap().import().unwrap()
}

fn all(tensor: &ImportedTensor) -> Vec<i32> {
    tensor.elements::<i32>().unwrap().to_vec().unwrap()
}

#[test]
fn elements_at_the_same_indices_are_visited_together() {
    let shapes: [(&[i64], &[&[i64]]); 9] = [
        (&[], &[&[]]),
        (&[5], &[&[1], &[-2], &[0]]),
        (&[0, 3], &[&[3, 1], &[1, 0]]),
        (&[3, 0], &[&[0, 1], &[7, 7]]),
        (&[3, 4], &[&[4, 1], &[1, -3], &[0, 2]]),
        (&[5000], &[&[1], &[-1], &[3]]),
        (&[70, 90], &[&[90, 1], &[1, 70], &[-90, 1], &[0, 1], &[200, 2]]),
        (&[3, 3000], &[&[3000, 1], &[1, 3], &[6000, -2]]),
        (&[2, 40, 3, 50], &[&[6000, 150, 50, 1], &[1, 2, 80, 240], &[6000, 1, 2000, 40]]),
    ];
    // Miri takes minutes for more elements.
    let few = |shape: &[i64]| shape.iter().product::<i64>() < 20;
    for (shape, layouts) in shapes.into_iter().filter(|(shape, _)| !cfg!(miri) || few(shape)) {
        for first in layouts {
            for second in layouts {
                let (a, b) = (strided(shape, first), strided(shape, second));
                let c = strided(shape, layouts[0]);
                let elements = |tensor| ImportedTensor::elements::<i32>(tensor).unwrap();
                let (mut of_a, mut of_b) = (vec![], vec![]);
                let zip = elements(&a).zip(&elements(&b)).unwrap();
                zip.for_each_block(|a, b| {
                    assert_eq!(a.len(), b.len());
                    assert!(!a.is_empty() && size_of_val(a) <= 8192);
                    of_a.extend_from_slice(a);
                    of_b.extend_from_slice(b);
                })
                .unwrap();
                assert_eq!((&of_a, &of_b), (&all(&a), &all(&b)), "{shape:?} {first:?} {second:?}");
                let mut sums = vec![];
                let three = zip.and(&elements(&c)).unwrap();
                three
                    .for_each_block(|a, b, c| {
                        let zipped = a.iter().zip(b).zip(c);
                        sums.extend(zipped.map(|((a, b), c)| a * b + c));
                    })
                    .unwrap();
                let expected = of_a.iter().zip(&of_b).zip(all(&c)).map(|((a, b), c)| a * b + c);
                assert_eq!(sums, expected.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn the_first_is_written() {
    let (m, n) = if cfg!(miri) { (3, 4) } else { (70, 90) };
    for (first, second) in [([n, 1], [1, m]), ([1, m], [n, 1]), ([-n, 1], [0, 0])] {
        let (mut a, b) = (strided(&[m, n], &first), strided(&[m, n], &second));
        let expected: Vec<_> = all(&a).iter().zip(all(&b)).map(|(a, b)| 2 * a - b).collect();
        let other = b.elements::<i32>().unwrap();
        let mut elements = a.elements_mut::<i32>().unwrap();
        elements
            .update_with(&other, |a, b| a.iter_mut().zip(b).for_each(|(a, b)| *a = 2 * *a - b))
            .unwrap();
        assert_eq!(all(&a), expected);
    }
}

#[test]
fn shapes_are_compared() {
    let (a, b) = (strided(&[2, 3], &[3, 1]), strided(&[2, 4], &[4, 1]));
    let c = strided(&[6], &[1]);
    let elements = |tensor| ImportedTensor::elements::<i32>(tensor).unwrap();
    let differ = Error::ShapesDiffer { axis: 1, expected: 3, found: 4 };
    assert_eq!(elements(&a).zip(&elements(&b)).err(), Some(differ));
    let message = "expected two tensors of one shape, got dimensions 1 of 3 and 4";
    assert_eq!(differ.to_string(), message);
    let differ = Error::RanksDiffer { expected: 2, found: 1 };
    assert_eq!(elements(&a).zip(&elements(&c)).err(), Some(differ));
    let message = "expected two tensors of one shape, got 2 and 1 dimensions";
    assert_eq!(differ.to_string(), message);
    let zip = elements(&a).zip(&elements(&a)).unwrap();
    assert!(zip.and(&elements(&b)).is_err());
    let mut first = strided(&[6], &[1]);
    let written = first.elements_mut::<i32>().unwrap().update_with(&elements(&a), |_, _| ());
    assert_eq!(written, Err(Error::RanksDiffer { expected: 1, found: 2 }));
}

/// Bytes as bools.
struct Bools(SharedBuffer<u8>);

impl DLPackExport for Bools {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).dtype(DataType::BOOL).data(self.0.data())
    }
}

#[test]
fn a_bool_that_is_no_value_is_an_error() {
    let tensor = Bools(SharedBuffer::from_slice(&[1, 2]).unwrap());
    let tensor = tensor.into_dlpack().unwrap().import().unwrap();
    let bools = tensor.elements::<bool>().unwrap();
    let zip = bools.zip(&bools).unwrap();
    let invalid = Err(Error::InvalidBits { dtype: DataType::BOOL });
    assert_eq!(zip.for_each_block(|_, _| unreachable!("an invalid element")), invalid);
}
