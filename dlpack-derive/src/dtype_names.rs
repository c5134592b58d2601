//! Derives the element type from the name of a variant.
//!
//! A name is accepted only if it has the same meaning in every library. A wrong
//! guess would silently cause wrong values.

use proc_macro2::TokenTree;
use syn::Lit;

use crate::attributes;

/// The result for a name.
pub(crate) enum Named {
    /// One of [`CONSTANTS`].
    As(&'static str),
    /// One of them in a byte order, and the word for that order.
    Ordered(&'static str, &'static str),
    /// Why the name is ambiguous, and the constants that may be meant.
    Unclear { reason: &'static str, candidates: Vec<&'static str> },
}

/// The constants of `DataType`.
pub(crate) const CONSTANTS: [&str; 28] = [
    "I8",
    "I16",
    "I32",
    "I64",
    "U8",
    "U16",
    "U32",
    "U64",
    "F16",
    "F32",
    "F64",
    "BF16",
    "COMPLEX32",
    "BCOMPLEX32",
    "COMPLEX64",
    "COMPLEX128",
    "BOOL",
    "FLOAT8_E3M4",
    "FLOAT8_E4M3",
    "FLOAT8_E4M3B11FNUZ",
    "FLOAT8_E4M3FN",
    "FLOAT8_E4M3FNUZ",
    "FLOAT8_E5M2",
    "FLOAT8_E5M2FNUZ",
    "FLOAT8_E8M0FNU",
    "FLOAT6_E2M3FN",
    "FLOAT6_E3M2FN",
    "FLOAT4_E2M1FN",
];

/// Names that have one meaning in every library, in lower case and without
/// underscores.
const CLEAR: [(&str, &[&str]); 14] = [
    ("I8", &["i8", "int8", "s8"]),
    ("I16", &["i16", "int16", "s16"]),
    ("I32", &["i32", "int32", "s32"]),
    ("I64", &["i64", "int64", "s64"]),
    ("U8", &["u8", "uint8"]),
    ("U16", &["u16", "uint16"]),
    ("U32", &["u32", "uint32"]),
    ("U64", &["u64", "uint64"]),
    ("F16", &["f16", "float16", "fp16", "half"]),
    ("F32", &["f32", "float32", "fp32"]),
    ("F64", &["f64", "float64", "fp64", "double"]),
    ("BF16", &["bf16", "bfloat16"]),
    ("COMPLEX128", &["c128", "complex128"]),
    ("BOOL", &["bool", "boolean"]),
];

/// Prefixes of ambiguous names, the reason why they are ambiguous, and the
/// prefix of the constants that may be meant.
const UNCLEAR: [(&[&str], &str, &str); 4] = [
    (
        &["f8", "fp8", "float8", "e3m4", "e4m3", "e5m2", "e8m0"],
        "libraries mean different formats by the same name of an 8-bit float",
        "FLOAT8",
    ),
    (
        &["f6", "fp6", "float6", "e2m3", "e3m2"],
        "types narrower than a byte are never guessed",
        "FLOAT6",
    ),
    (&["f4", "fp4", "float4", "e2m1"], "types narrower than a byte are never guessed", "FLOAT4"),
    (
        &["c32", "c64", "complex"],
        "the number is the width of a whole complex number in some libraries, and of one part in \
         others",
        "COMPLEX",
    ),
];

/// Looks up the name of a variant.
pub(crate) fn named(variant: &str) -> Named {
    let name: String = variant.chars().filter(|&c| c != '_').collect::<String>().to_lowercase();
    if let Some(constant) = clear(&name) {
        return Named::As(constant);
    }
    for (end, order) in [("be", attributes::BIG_ENDIAN), ("le", attributes::LITTLE_ENDIAN)] {
        if let Some(constant) = name.strip_suffix(end).and_then(clear) {
            return Named::Ordered(constant, order);
        }
    }
    let family = UNCLEAR.iter().find(|(starts, ..)| starts.iter().any(|s| name.starts_with(s)));
    let Some(&(_, reason, family)) = family else {
        let reason = "libraries do not agree on a dtype with this name";
        return Named::Unclear { reason, candidates: Vec::new() };
    };
    let members: Vec<_> = CONSTANTS.into_iter().filter(|name| name.starts_with(family)).collect();
    // Narrows the family to the constants whose format is in the name.
    let format = |constant: &str| constant.split_once('_').map(|(_, format)| format.to_lowercase());
    let narrowed: Vec<_> = members
        .iter()
        .copied()
        .filter(|member| format(member).is_some_and(|format| name.contains(&format[..4])))
        .collect();
    Named::Unclear { reason, candidates: if narrowed.is_empty() { members } else { narrowed } }
}

/// The constant for a name in lower case and without underscores.
fn clear(name: &str) -> Option<&'static str> {
    let found = CLEAR.into_iter().find(|(_, names)| names.contains(&name));
    found.map(|(constant, _)| constant)
}

/// The constant of that name.
pub(crate) fn constant(name: &str) -> Option<&'static str> {
    CONSTANTS.into_iter().find(|constant| *constant == name)
}

/// The constant that is probably meant by a quoted name.
pub(crate) fn quoted(found: Option<&TokenTree>) -> Option<&'static str> {
    let Some(TokenTree::Literal(literal)) = found else { return None };
    let Lit::Str(text) = Lit::new(literal.clone()) else { return None };
    match named(&text.value()) {
        Named::As(constant) => Some(constant),
        Named::Ordered(..) => None,
        Named::Unclear { .. } => constant(&text.value().to_uppercase()),
    }
}

/// Whether the elements of a constant are narrower than a byte.
pub(crate) fn is_narrow(constant: &str) -> bool {
    constant.starts_with("FLOAT6") || constant.starts_with("FLOAT4")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(name: &str) -> Option<&'static str> {
        match named(name) {
            Named::As(constant) => Some(constant),
            Named::Unclear { .. } | Named::Ordered(..) => None,
        }
    }

    fn candidates(name: &str) -> Vec<&'static str> {
        match named(name) {
            Named::As(constant) | Named::Ordered(constant, _) => vec![constant],
            Named::Unclear { candidates, .. } => candidates,
        }
    }

    #[test]
    fn clear_names() {
        for (name, constant) in [
            ("F32", "F32"),
            ("Float32", "F32"),
            ("FLOAT_64", "F64"),
            ("Bf16", "BF16"),
            ("BFloat16", "BF16"),
            ("UInt8", "U8"),
            ("Int64", "I64"),
            ("Boolean", "BOOL"),
            ("C128", "COMPLEX128"),
        ] {
            assert_eq!(sure(name), Some(constant), "{name}");
            assert!(CONSTANTS.contains(&constant));
        }
    }

    #[test]
    fn unclear_names() {
        for name in [
            "F8E4M3",
            "FP8",
            "F8_E4M3",
            "Float8E4M3Fn",
            "E5M2",
            "Complex64",
            "C64",
            "Float",
            "Int",
            "Byte",
            "Long",
            "U4",
            "F6E2M3",
            "F4",
            "F32Be",
            "Utf8",
        ] {
            assert_eq!(sure(name), None, "{name}");
        }
        assert_eq!(candidates("FP8").len(), 8);
        assert_eq!(candidates("F8_E5M2"), ["FLOAT8_E5M2", "FLOAT8_E5M2FNUZ"]);
        assert_eq!(candidates("Complex64"), ["COMPLEX32", "COMPLEX64", "COMPLEX128"]);
        assert_eq!(candidates("F32Be"), ["F32"]);
        assert_eq!(candidates("F6E2M3"), ["FLOAT6_E2M3FN"]);
    }
}
