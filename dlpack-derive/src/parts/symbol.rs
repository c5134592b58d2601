//! All words of `#[dlpack(...)]` in the derives of this folder.

/// The path of `dlpack_traits`.
pub(super) const CRATE: &str = "crate";
/// The field or variant is ignored.
pub(super) const SKIP: &str = "skip";
/// The element type.
pub(super) const DTYPE: &str = "dtype";

/// Every bit pattern is a valid value.
pub(super) const ANY_BITS: &str = "any_bits";
/// The entries of an array are lanes instead of an axis.
pub(super) const LANES: &str = "lanes";

/// Stored with the most significant byte first.
pub(super) const BIG_ENDIAN: &str = "big_endian";
/// Stored with the least significant byte first.
pub(super) const LITTLE_ENDIAN: &str = "little_endian";
/// The type is also that of another variant.
pub(super) const ALIAS: &str = "alias";

/// Elements narrower than a byte share bytes.
pub(super) const PACKED: &str = "packed";
/// Elements narrower than a byte take a byte each.
pub(super) const PADDED: &str = "padded";

/// Tensors can be imported into it.
pub(super) const IMPORT: &str = "import";

/// Words on an element.
pub(super) const ON_ELEMENT: &[&str] = &[LANES, ANY_BITS, CRATE];
/// Words on a field of an element.
pub(super) const ON_ELEMENT_FIELD: &[&str] = &[SKIP];
/// Words on a run-time element type.
pub(super) const ON_DATA_TYPE: &[&str] = &[CRATE];
/// Words on a variant of a run-time element type.
pub(super) const ON_DATA_TYPE_VARIANT: &[&str] = &[DTYPE, BIG_ENDIAN, LITTLE_ENDIAN, ALIAS, SKIP];
/// Words on a storage.
pub(super) const ON_STORAGE: &[&str] = &[CRATE];
/// Words on a variant of a storage.
pub(super) const ON_STORAGE_VARIANT: &[&str] = &[DTYPE, PACKED, PADDED, IMPORT, SKIP];
/// Words on a field of a variant.
pub(super) const ON_STORAGE_VARIANT_FIELD: &[&str] = &[SKIP];
/// Words on a field of a storage struct.
pub(super) const ON_STORAGE_FIELD: &[&str] = &[DTYPE, PACKED, PADDED, IMPORT, SKIP];

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the documentation about one derive.
    fn docs(derive: &str) -> &'static str {
        let docs = include_str!("../lib.rs");
        let (before, _) = docs.split_once(&format!("#[proc_macro_derive({derive},")).expect(derive);
        before.rsplit("\n}\n").next().expect("a part")
    }

    #[test]
    fn every_word_is_in_a_table_of_the_docs() {
        for (derive, words) in [
            ("Element", [ON_ELEMENT, ON_ELEMENT_FIELD].concat()),
            ("DataType", [ON_DATA_TYPE, ON_DATA_TYPE_VARIANT].concat()),
            ("Storage", [ON_STORAGE, ON_STORAGE_VARIANT].concat()),
        ] {
            let docs = docs(derive);
            for word in words {
                let rows = docs.lines().filter_map(|line| line.strip_prefix("/// | `#[dlpack("));
                let attributes = rows.filter_map(|row| row.split('`').next());
                let words: Vec<&str> = attributes
                    .flat_map(|row| row.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
                    .collect();
                assert!(words.contains(&word), "`{word}` is missing in the docs of {derive}");
            }
        }
    }
}
