//! Every word of `#[dlpack(...)]` in the derives of this folder.

/// Where the runtime is.
pub(super) const CRATE: &str = "crate";
/// What is left out.
pub(super) const SKIP: &str = "skip";
/// A type that is written out.
pub(super) const DTYPE: &str = "dtype";

/// Every pattern of bits is a value.
pub(super) const ANY_BITS: &str = "any_bits";
/// The parts of an array are lanes, and no axis.
pub(super) const LANES: &str = "lanes";

/// Stored with the most significant byte first.
pub(super) const BIG_ENDIAN: &str = "big_endian";
/// Stored with the least significant byte first.
pub(super) const LITTLE_ENDIAN: &str = "little_endian";
/// Another name for the type of another variant.
pub(super) const ALIAS: &str = "alias";

/// Elements narrower than a byte share bytes.
pub(super) const PACKED: &str = "packed";
/// Elements narrower than a byte take a byte each.
pub(super) const PADDED: &str = "padded";

/// Tensors are imported into it.
pub(super) const IMPORT: &str = "import";

/// On an element.
pub(super) const ON_ELEMENT: &[&str] = &[LANES, ANY_BITS, CRATE];
/// On a field of an element.
pub(super) const ON_ELEMENT_FIELD: &[&str] = &[SKIP];
/// On a run-time element type.
pub(super) const ON_DATA_TYPE: &[&str] = &[CRATE];
/// On a variant of it.
pub(super) const ON_DATA_TYPE_VARIANT: &[&str] = &[DTYPE, BIG_ENDIAN, LITTLE_ENDIAN, ALIAS, SKIP];
/// On a storage.
pub(super) const ON_STORAGE: &[&str] = &[CRATE];
/// On a variant of it.
pub(super) const ON_STORAGE_VARIANT: &[&str] = &[DTYPE, PACKED, PADDED, IMPORT, SKIP];
/// On a field of a variant.
pub(super) const ON_STORAGE_VARIANT_FIELD: &[&str] = &[SKIP];
/// On a field of a storage that is a struct.
pub(super) const ON_STORAGE_FIELD: &[&str] = &[DTYPE, PACKED, PADDED, IMPORT, SKIP];

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the docs that is about one derive.
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
