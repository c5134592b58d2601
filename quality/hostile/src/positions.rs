//! Where the elements of a strided tensor are, by definition: [`positions`].

/// The position of every element, counted in elements from the first one, in
/// row-major order of the indices: the sum of index times stride over the axes.
///
/// Written for clarity and not for speed: it is the reference for other code.
pub fn positions(shape: &[i64], strides: &[i64]) -> Vec<i64> {
    assert_eq!(shape.len(), strides.len(), "one stride per dimension");
    let mut found = vec![0];
    for (&dim, &stride) in shape.iter().zip(strides) {
        found = found
            .iter()
            .flat_map(|outer| (0..dim).map(move |index| outer + index * stride))
            .collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::positions;

    #[test]
    fn positions_equal_hand_computed_ones() {
        assert_eq!(positions(&[], &[]), [0]);
        assert_eq!(positions(&[2, 3], &[3, 1]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(positions(&[2, 3], &[1, 2]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(positions(&[2, 2], &[-1, 0]), [0, 0, -1, -1]);
        assert!(positions(&[3, 0], &[1, 1]).is_empty());
    }
}
