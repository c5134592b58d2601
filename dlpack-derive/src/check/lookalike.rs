//! The layout property that the name of a field without a role suggests.
//!
//! If the type is rejected anyway, the name makes the help precise. If the type is neither
//! an integer, a `bool`, nor a list of them, a field is rejected if its name seldom means
//! anything else. `#[dlpack(skip)]` accepts the field.

use syn::Type;

use super::numbers::{Holds, holds};
use crate::symbol::{self, Role};

/// The property that a field without a role probably describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LooksLike {
    Role(Role),
    /// The stride of one axis, as a single number.
    Step,
    /// The padding between two rows.
    Padding,
    /// The order of the axes in memory.
    Axes,
    /// Which axis is the fastest, as a `bool`.
    OrderFlag,
    /// Which row is the first in memory.
    FirstRow,
    ReadOnly,
}

/// The distance between two rows or columns.
const PITCH: [&str; 20] = [
    "pitch",
    "bytes_per_line",
    "bytes_per_row",
    "elements_per_row",
    "row_bytes",
    "row_len",
    "row_length",
    "row_size",
    "row_step",
    "line_bytes",
    "line_len",
    "line_length",
    "line_size",
    "linesize",
    "width_step",
    "aligned_width",
    "padded_width",
    "leading_dim",
    "leading_dimension",
    "lda",
];

/// The same, if the field is an integer: with other types these names mean something else.
const PITCH_NUMBERS: [&str; 7] =
    ["row_capacity", "rowbytes", "ld", "ldb", "ldc", "scanline", "row_elements"];

/// Prefixes of a word in `ROW`: the size of a row in memory.
const STORED: [&str; 4] = ["padded", "allocated", "storage", "stored"];

/// The size of a row.
const ROW: [&str; 4] = ["width", "cols", "columns", "row"];

/// The stride of some axis, if it is an integer.
const STEPS: [&str; 2] = ["step", "steps"];

/// The position of the first element, if it is an integer.
const STARTS: [&str; 7] =
    ["start", "start_index", "first", "first_index", "first_element", "begin", "base"];

/// Which axis is the fastest.
const ORDER: [&str; 9] = [
    symbol::ORDER,
    symbol::ROW_MAJOR,
    symbol::COLUMN_MAJOR,
    "col_major",
    "rowmajor",
    "colmajor",
    "fortran",
    "memory_format",
    "transposed",
];

/// The padding after a row, or the alignment of its length.
const PADDING: [&str; 4] = ["padding", "pad", "align", "alignment"];

/// The words before `PADDING` for which it is part of the layout: padding can also be that
/// of a convolution, of a text, or of a header.
const PADDED: [&str; 3] = ["row", "line", "scanline"];

/// The order of the axes in memory.
const AXES: [&str; 12] = [
    "channels_last",
    "channel_last",
    "channels_first",
    "channel_first",
    "nhwc",
    "nchw",
    "hwc",
    "chw",
    "transpose",
    "permuted",
    "interleaved",
    "planar",
];

/// Whether the rows are stored from the top or from the bottom.
const FIRST_ROW: [&str; 6] = ["bottom_up", "top_down", "flip", "flipped", "flip_y", "vflip"];

/// The property that the name of a field without a role suggests.
pub(super) fn looks_like(name: &str, ty: &Type) -> Option<LooksLike> {
    // A field with the name of a role only gets here if another field has the role.
    if Role::ALL.iter().any(|role| role.field_name().is_some_and(|(own, _)| own == name)) {
        return None;
    }
    let counted = ["_bytes", "_elements"].into_iter().find_map(|unit| name.strip_suffix(unit));
    let bare = counted.map(|bare| bare.strip_suffix("_in").unwrap_or(bare));
    let holds = holds(ty);
    by_words(name, holds)
        .or_else(|| by_words(bare?, holds))
        .or_else(|| by_number(name, bare).filter(|_| holds == Holds::Integer))
        .or_else(|| by_flag(name).filter(|_| holds == Holds::Bool))
}

/// Whether the name is the word, or ends with `_` and the word.
fn ends(name: &str, word: &str) -> bool {
    name == word || name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'))
}

fn by_words(name: &str, holds: Holds) -> Option<LooksLike> {
    let is = |word: &str| ends(name, word);
    let role = match () {
        () if name.contains("stride") && holds == Holds::Integer => return Some(LooksLike::Step),
        () if name.contains("stride") => Role::Strides,
        () if is("offset") || is("byte_start") || is("start_byte") => Role::Offset,
        () if PITCH.into_iter().any(is) => Role::Pitch,
        () if is("layout") => Role::Layout,
        () if ORDER.into_iter().any(is) && holds == Holds::Bool => {
            return Some(LooksLike::OrderFlag);
        }
        () if ORDER.into_iter().any(is) => Role::Order,
        () if is("ndim") || is("rank") => Role::NDim,
        () if is("readonly") || is(symbol::READ_ONLY) => return Some(LooksLike::ReadOnly),
        () => return None,
    };
    Some(LooksLike::Role(role))
}

/// The property that the name of an integer suggests. `bare` is the name without a unit at
/// its end.
fn by_number(name: &str, bare: Option<&str>) -> Option<LooksLike> {
    let pads_rows = |name: &str| {
        let padded =
            PADDING.into_iter().find_map(|word| name.strip_suffix(word)?.strip_suffix('_'));
        padded.is_some_and(|padded| PADDED.into_iter().any(|row| ends(padded, row)))
    };
    let is_padding = bare == Some("padding") || pads_rows(bare.unwrap_or(name));
    let is_stored_row = ROW.into_iter().any(|row| {
        let stored = name.strip_suffix(row).and_then(|stored| stored.strip_suffix('_'));
        stored.is_some_and(|stored| STORED.into_iter().any(|word| ends(stored, word)))
    });
    let is = |words: &[&str]| words.iter().any(|word| ends(name, word));
    match () {
        // A name with a leading underscore is the padding of a C struct.
        () if is_padding && !name.starts_with('_') => Some(LooksLike::Padding),
        () if is(&STEPS) => Some(LooksLike::Step),
        () if is(&PITCH_NUMBERS) || is_stored_row => Some(LooksLike::Role(Role::Pitch)),
        () if STARTS.contains(&name) => Some(LooksLike::Role(Role::Offset)),
        () => None,
    }
}

/// The property that the name of a `bool` suggests. A number or a buffer of that name is
/// something else.
fn by_flag(name: &str) -> Option<LooksLike> {
    let is = |word: &str| ends(name, word);
    match () {
        () if AXES.into_iter().any(is) => Some(LooksLike::Axes),
        () if FIRST_ROW.into_iter().any(is) => Some(LooksLike::FirstRow),
        () => None,
    }
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
            (Offset, &["offset", "start_offset", "offset_in_bytes", "byte_start", "start_byte"]),
            (Pitch, &["row_pitch", "pitch_bytes", "bytes_per_row", "src_bytes_per_row", "lda"]),
            (Pitch, &["linesize", "row_bytes", "padded_width", "leading_dimension", "row_len"]),
            (Layout, &["layout", "memory_layout"]),
            (Order, &["memory_order", "col_major", "is_row_major", "column_major", "transposed"]),
            (Order, &["is_transposed", "is_fortran", "fortran_order", "memory_format"]),
            (Order, &["rowmajor", "is_colmajor"]),
            (NDim, &["rank", "ndim"]),
        ] {
            for name in names {
                assert_eq!(promised(name, "Of"), Some(LooksLike::Role(role)), "{name}");
            }
        }
        assert_eq!(promised("readonly", "bool"), Some(LooksLike::ReadOnly));
        assert_eq!(promised("is_row_major", "bool"), Some(LooksLike::OrderFlag));
    }

    #[test]
    fn integers_that_promise_a_layout() {
        for (role, names) in [
            (Role::Pitch, &["row_capacity", "rowbytes", "ld", "ldb", "scanline"][..]),
            (Role::Pitch, &["allocated_width", "storage_cols", "padded_columns", "stored_width"]),
            (Role::Offset, &["first", "base", "start_index", "begin", "first_element"]),
        ] {
            for name in names {
                assert_eq!(promised(name, "usize"), Some(LooksLike::Role(role)), "{name}");
                assert_eq!(promised(name, "NonZeroU32"), Some(LooksLike::Role(role)), "{name}");
                assert_eq!(promised(name, "Of"), None, "{name}");
            }
        }
        for name in ["step", "col_step", "steps"] {
            assert_eq!(promised(name, "u32"), Some(LooksLike::Step), "{name}");
            assert_eq!(promised(name, "f32"), None, "{name}");
        }
        for name in ["field", "old", "database", "storage_id"] {
            assert_eq!(promised(name, "u32"), None, "{name}");
        }
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
        for name in ["row_padding", "line_padding_in_bytes", "src_row_padding", "row_pad"] {
            assert_eq!(promised(name, "u32"), Some(LooksLike::Padding), "{name}");
        }
        for name in ["row_align", "line_alignment", "row_pad_bytes", "scanline_padding"] {
            assert_eq!(promised(name, "usize"), Some(LooksLike::Padding), "{name}");
        }
        for name in ["padding_bytes", "padding_elements", "padding_in_bytes"] {
            assert_eq!(promised(name, "i64"), Some(LooksLike::Padding), "{name}");
        }
        // Padding of a convolution, of a C struct, of text.
        for (name, ty) in [
            ("padding", "usize"),
            ("padding", "[usize; 2]"),
            ("row_padding", "Padding"),
            ("padding_bytes", "Vec<u8>"),
            ("text_padding", "u8"),
            ("dna_padding", "i64"),
            ("header_padding_bytes", "u32"),
            ("arrow_padding", "u32"),
            ("outline_pad", "u32"),
            ("_padding_bytes", "u32"),
            ("_padding", "u32"),
            ("_row_padding", "u32"),
            ("padding", "[u8; 3]"),
            ("padding_mode", "u8"),
            ("padding_idx", "usize"),
            ("pad", "u32"),
            ("alignment", "usize"),
        ] {
            assert_eq!(promised(name, ty), None, "{name}: {ty}");
        }
    }

    #[test]
    fn axes_in_another_order() {
        for name in ["channels_last", "is_channels_last", "channels_first", "nhwc", "is_nchw"] {
            assert_eq!(promised(name, "bool"), Some(LooksLike::Axes), "{name}");
        }
        for name in ["transpose", "hwc", "is_chw", "permuted"] {
            assert_eq!(promised(name, "bool"), Some(LooksLike::Axes), "{name}");
        }
        for name in ["interleaved", "is_interleaved", "planar", "is_planar", "semi_planar"] {
            assert_eq!(promised(name, "bool"), Some(LooksLike::Axes), "{name}");
        }
        for name in ["channels", "last_channel", "planarity", "planar_bytes"] {
            assert_eq!(promised(name, "bool"), None, "{name}");
        }
    }

    #[test]
    fn rows_from_the_other_end() {
        for name in ["bottom_up", "is_bottom_up", "top_down", "flip", "is_flipped"] {
            assert_eq!(promised(name, "bool"), Some(LooksLike::FirstRow), "{name}");
        }
        for name in ["bottom", "top_down_view", "bottom_up_bytes"] {
            assert_eq!(promised(name, "bool"), None, "{name}");
        }
    }

    #[test]
    fn other_types_named_after_axes_promise_nothing() {
        for (name, ty) in [
            ("interleaved", "Vec<f32>"),
            ("planar", "Option<Vec<f32>>"),
            ("planar_bytes", "usize"),
            ("top_down", "Duration"),
            ("semi_planar", "String"),
            ("phantom_planar", "PhantomData<u8>"),
            ("nhwc", "Format"),
            ("channels_last", "Option<bool>"),
        ] {
            assert_eq!(promised(name, ty), None, "{name}: {ty}");
        }
    }

    #[test]
    fn a_start_is_an_offset_if_it_is_a_number() {
        assert_eq!(promised("start", "u64"), Some(LooksLike::Role(Role::Offset)));
        for ty in ["Instant", "f64", "Option<u64>"] {
            assert_eq!(promised("start", ty), None, "{ty}");
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
