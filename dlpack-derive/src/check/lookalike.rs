//! The layout property that the name of a field without a role suggests.
//!
//! The type of a field decides whether it needs a role. Its name makes the help precise; and a
//! field of another type is rejected too if its name seldom means anything else. `#[dlpack(skip)]`
//! accepts the field.

use syn::Type;

use crate::attributes::Role;
use crate::numbers::{Holds, holds};

/// The property that a field without a role probably describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LooksLike {
    Role(Role),
    /// The stride of one axis, as a single number.
    Step,
    /// The padding between two rows.
    Padding,
    ReadOnly,
}

/// The words at the end of a name, before a unit.
const WORDS: [(&str, LooksLike); 22] = [
    ("offset", LooksLike::Role(Role::Offset)),
    ("pitch", LooksLike::Role(Role::Pitch)),
    ("bytes_per_line", LooksLike::Role(Role::Pitch)),
    ("bytes_per_row", LooksLike::Role(Role::Pitch)),
    ("row_bytes", LooksLike::Role(Role::Pitch)),
    ("linesize", LooksLike::Role(Role::Pitch)),
    ("padded_width", LooksLike::Role(Role::Pitch)),
    ("leading_dimension", LooksLike::Role(Role::Pitch)),
    ("lda", LooksLike::Role(Role::Pitch)),
    ("layout", LooksLike::Role(Role::Layout)),
    ("order", LooksLike::Role(Role::Order)),
    ("memory_format", LooksLike::Role(Role::Order)),
    ("row_major", LooksLike::Role(Role::Order)),
    ("column_major", LooksLike::Role(Role::Order)),
    ("col_major", LooksLike::Role(Role::Order)),
    ("transposed", LooksLike::Role(Role::Order)),
    ("ndim", LooksLike::Role(Role::NDim)),
    ("rank", LooksLike::Role(Role::NDim)),
    ("row_padding", LooksLike::Padding),
    ("line_padding", LooksLike::Padding),
    ("read_only", LooksLike::ReadOnly),
    ("readonly", LooksLike::ReadOnly),
];

/// The property that the name of a field without a role suggests.
pub(super) fn looks_like(name: &str, ty: &Type) -> Option<LooksLike> {
    // A field with the name of a role only gets here if another field has the role.
    if Role::ALL.iter().any(|role| role.field_name().is_some_and(|(own, _)| own == name)) {
        return None;
    }
    let counted = ["_bytes", "_elements"].into_iter().find_map(|unit| name.strip_suffix(unit));
    let bare = counted.map(|bare| bare.strip_suffix("_in").unwrap_or(bare));
    let holds = holds(ty);
    let like = match () {
        () if name.contains("stride") && holds == Holds::Integer => LooksLike::Step,
        () if name.contains("stride") => LooksLike::Role(Role::Strides),
        // Without a unit it may be that of a convolution.
        () if bare == Some("padding") => LooksLike::Padding,
        () => by_word(name).or_else(|| by_word(bare?))?,
    };
    let fits = match like {
        // Padding can also be that of a text, and with an underscore that of a C struct.
        LooksLike::Padding => holds == Holds::Integer && !name.starts_with('_'),
        LooksLike::ReadOnly => true,
        LooksLike::Role(_) | LooksLike::Step => holds != Holds::Bool,
    };
    fits.then_some(like)
}

/// The property of the word that the name is, or that it ends with after a `_`.
fn by_word(name: &str) -> Option<LooksLike> {
    let ends = |word: &str| {
        name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    WORDS.into_iter().find(|(word, _)| ends(word)).map(|(_, like)| like)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promised(name: &str, ty: &str) -> Option<LooksLike> {
        looks_like(name, &syn::parse_str(ty).unwrap())
    }

    #[test]
    fn names_that_promise_a_layout() {
        use Role::{Layout, NDim, Offset, Order, Pitch, Strides};
        for (role, names) in [
            (Strides, &["strides_", "row_strides", "stride_y", "byte_strides", "is_strided"][..]),
            (Offset, &["offset", "start_offset", "offset_in_bytes"]),
            (Pitch, &["row_pitch", "pitch_bytes", "bytes_per_row", "src_bytes_per_row", "lda"]),
            (Pitch, &["linesize", "row_bytes", "padded_width", "leading_dimension"]),
            (Layout, &["layout", "memory_layout"]),
            (Order, &["order", "memory_order", "memory_format", "col_major", "is_row_major"]),
            (Order, &["column_major", "is_transposed"]),
            (NDim, &["rank", "ndim"]),
        ] {
            for name in names {
                assert_eq!(promised(name, "Of"), Some(LooksLike::Role(role)), "{name}");
                assert_eq!(promised(name, "bool"), None, "{name}");
            }
        }
        assert_eq!(promised("readonly", "bool"), Some(LooksLike::ReadOnly));
    }

    #[test]
    fn a_number_alone_is_the_step_of_one_axis() {
        for name in ["stride", "row_stride", "line_stride", "byte_stride", "x_stride", "rowstride"]
        {
            assert_eq!(promised(name, "usize"), Some(LooksLike::Step), "{name}");
            let strides = Some(LooksLike::Role(Role::Strides));
            assert_eq!(promised(name, "[usize; 2]"), strides, "{name}");
        }
    }

    #[test]
    fn rows_with_padding() {
        for name in ["row_padding", "line_padding_in_bytes", "src_row_padding", "padding_bytes"] {
            assert_eq!(promised(name, "u32"), Some(LooksLike::Padding), "{name}");
        }
        // Padding of a convolution, of a C struct, of text.
        for (name, ty) in [
            ("padding", "usize"),
            ("padding", "[usize; 2]"),
            ("row_padding", "Padding"),
            ("padding_bytes", "Vec<u8>"),
            ("text_padding", "u8"),
            ("header_padding_bytes", "u32"),
            ("arrow_padding", "u32"),
            ("_padding_bytes", "u32"),
            ("_padding", "u32"),
            ("_row_padding", "u32"),
            ("padding", "[u8; 3]"),
            ("padding_mode", "u8"),
        ] {
            assert_eq!(promised(name, ty), None, "{name}: {ty}");
        }
    }

    #[test]
    fn other_names_promise_nothing() {
        for name in ["border", "recorder", "frank", "name", "row", "rows", "bytes", "size_bytes"] {
            assert_eq!(promised(name, "usize"), None, "{name}");
        }
        // Offsets of lists, a time, a version.
        for name in ["offsets", "start_time", "version_major", "width", "format"] {
            assert_eq!(promised(name, "usize"), None, "{name}");
        }
        for name in ["strides", "byte_offset", "shape", "data", "dtype", "device"] {
            assert_eq!(promised(name, "usize"), None, "{name}");
        }
    }
}
