//! Suggestions for misspelled words.

/// The most similar word, if one is close enough.
pub(crate) fn similar<'w>(word: &str, words: &[&'w str]) -> Option<&'w str> {
    let word = word.to_lowercase();
    let near = |candidate: &&str| {
        let limit = candidate.len().min(word.len()) / 3;
        let distance = distance(&word, candidate);
        (distance <= limit).then_some(distance)
    };
    words.iter().copied().filter(|word| near(word).is_some()).min_by_key(|word| near(word))
}

/// The edit distance: letters to change, add, remove or swap with the next one.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let width = to.len() + 1;
    let mut table: Vec<usize> = (0..width).collect();
    for (row, a) in from.iter().enumerate() {
        table.push(row + 1);
        for (column, b) in to.iter().enumerate() {
            let corner = row * width + column;
            let above = table[corner + 1] + 1;
            let left = table[corner + width] + 1;
            let mut best = above.min(left).min(table[corner] + usize::from(a != b));
            if row > 0 && column > 0 && *a == to[column - 1] && from[row - 1] == *b {
                best = best.min(table[corner - width - 1] + 1);
            }
            table.push(best);
        }
    }
    table[from.len() * width + to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{ON_FIELD, ON_STRUCT};

    #[test]
    fn slips_are_recognized() {
        for (slip, word) in [
            ("stride", "strides"),
            ("Strides", "strides"),
            ("dat", "data"),
            ("adta", "data"),
            ("byteoffset", "byte_offset"),
            ("d_type", "dtype"),
        ] {
            assert_eq!(similar(slip, &ON_FIELD), Some(word));
        }
        assert_eq!(similar("readonly", &ON_STRUCT), Some("read_only"));
    }

    #[test]
    fn other_words_are_left_alone() {
        for word in ["rename", "x", "flatten", ""] {
            assert_eq!(similar(word, &ON_FIELD), None);
        }
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abcd", "acbd"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
