//! Detection of types that hold integers or `bool`s, as the parts of a layout do.

use syn::{GenericArgument, Ident, PathArguments, PathSegment, Type};

/// What the tokens of a type show about integers and `bool`s in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// The type is one integer.
    Integer,
    /// The type is one `bool`.
    Bool,
    /// A list, array, tuple or option of integers.
    Integers,
    /// A list, array, tuple or option of `bool`s.
    Bools,
    /// A path that may be an alias of one of these types.
    Unknown,
    /// The type is none of these.
    Nothing,
}

impl Holds {
    /// The result for a container of this type.
    fn several(self) -> Self {
        match self {
            Holds::Integer => Holds::Integers,
            Holds::Bool => Holds::Bools,
            other => other,
        }
    }
}

/// The primitive integers.
const INTEGERS: [&str; 12] =
    ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

/// Types of one integer with other arithmetic.
const ARITHMETIC: [&str; 3] = ["NonZero", "Wrapping", "Saturating"];

/// Prefixes of the names of other types of one integer.
const INTEGER_PREFIXES: [&str; 2] = ["NonZero", "Atomic"];

/// Types that hold values of their type arguments.
const CONTAINERS: [&str; 13] = [
    "Option",
    "Vec",
    "VecDeque",
    "Box",
    "Arc",
    "Rc",
    "Cow",
    "Cell",
    "Range",
    "RangeInclusive",
    "SmallVec",
    "ArrayVec",
    "TinyVec",
];

/// Types that are neither numbers nor lists of numbers. The list only contains common
/// names, which users do not give to an alias: `type Duration = u64` is an integer. A type
/// that is missing here costs one constant in the expansion.
const OTHERS: [&str; 6] = ["f32", "f64", "char", "str", "String", "PhantomData"];

/// What a type holds.
pub(crate) fn holds(ty: &Type) -> Holds {
    match ty {
        Type::Group(group) => holds(&group.elem),
        Type::Paren(paren) => holds(&paren.elem),
        Type::Reference(reference) => holds(&reference.elem),
        Type::Array(array) => holds(&array.elem).several(),
        Type::Slice(slice) => holds(&slice.elem).several(),
        Type::Tuple(tuple) => first(&mut tuple.elems.iter()),
        Type::Path(path) if path.qself.is_none() => {
            path.path.segments.last().map_or(Holds::Unknown, of_path)
        }
        Type::Path(_) | Type::Macro(_) => Holds::Unknown,
        _ => Holds::Nothing,
    }
}

/// What a path holds, by its last segment.
fn of_path(last: &PathSegment) -> Holds {
    let is = |words: &[&str]| words.iter().any(|word| last.ident == word);
    if is(&INTEGERS) || is(&ARITHMETIC) || is_prefixed(&last.ident, &INTEGERS) {
        Holds::Integer
    } else if is(&["bool"]) || is_prefixed(&last.ident, &["bool"]) {
        Holds::Bool
    } else if is(&OTHERS) {
        Holds::Nothing
    } else if is(&CONTAINERS) {
        match &last.arguments {
            PathArguments::AngleBracketed(args) => {
                first(&mut args.args.iter().filter_map(|arg| match arg {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                }))
            }
            _ => Holds::Unknown,
        }
    } else {
        Holds::Unknown
    }
}

/// Whether the name is a prefix followed by the name of a primitive: `AtomicUsize`.
fn is_prefixed(ident: &Ident, primitives: &[&str]) -> bool {
    let name = ident.to_string();
    let rest = INTEGER_PREFIXES.into_iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| primitives.contains(&rest.to_lowercase().as_str()))
}

/// The result for the first of several types that holds numbers.
fn first(types: &mut dyn Iterator<Item = &Type>) -> Holds {
    let mut unknown = Holds::Nothing;
    for ty in types {
        match holds(ty) {
            Holds::Nothing => {}
            Holds::Unknown => unknown = Holds::Unknown,
            numbers => return numbers.several(),
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_numbers_are_recognized_by_their_tokens() {
        for (expected, types) in [
            (Holds::Integer, &["u8", "i128", "usize", "core::primitive::u32", "Wrapping<u8>"][..]),
            (Holds::Integer, &["NonZeroU32", "NonZero<u32>", "std::num::NonZeroUsize", "(u32)"]),
            (Holds::Integer, &["AtomicUsize", "std::sync::atomic::AtomicU64", "&'a u8"]),
            (Holds::Bool, &["bool", "AtomicBool", "core::primitive::bool"]),
            (Holds::Integers, &["[u8; 16]", "Vec<usize>", "&'a [i64]", "Box<[u32]>", "Arc<[u8]>"]),
            (Holds::Integers, &["Option<u32>", "(f32, u8)", "Vec<(String, u32)>", "Range<usize>"]),
            (Holds::Integers, &["[[u8; 2]; 2]", "Option<Vec<[NonZeroU8; 2]>>", "Arc<AtomicU64>"]),
            (
                Holds::Integers,
                &["SmallVec<[usize; 4]>", "Cow<'a, [usize]>", "heapless::Vec<u8, 4>"],
            ),
            (Holds::Bools, &["Option<bool>", "Vec<bool>", "[bool; 3]", "(bool, bool)"]),
            (Holds::Unknown, &["Px", "T", "Vec<Px>", "(Px, f32)", "<T as Of>::Px", "px!()"]),
            (Holds::Unknown, &["Duration", "Path", "f16", "HashMap<String, u32>", "Mutex<u32>"]),
            (Holds::Unknown, &["Metadata", "AtomicF32", "NonZeroish", "Option<Box<Label<'a>>>"]),
            (Holds::Nothing, &["f32", "String", "Vec<f32>", "()", "&'static str", "*const u8"]),
            (Holds::Nothing, &["fn(u32) -> u8", "[char; 2]"]),
            (Holds::Nothing, &["PhantomData<u8>", "Box<dyn Fn(u8)>", "Option<Vec<String>>"]),
        ] {
            for ty in types {
                assert_eq!(holds(&syn::parse_str(ty).unwrap()), expected, "{ty}");
            }
        }
    }
}
