//! All words of the attribute `#[dlpack(...)]`.

/// The attribute itself.
pub(crate) const DLPACK: &str = "dlpack";

/// On a field or a variant: it is ignored. On the struct: a list of such
/// fields.
pub(crate) const SKIP: &str = "skip";
/// On a field: the data, behind a raw pointer.
pub(crate) const UNSAFE: &str = "unsafe";
/// In `unsafe(...)`: the field is a pointer.
pub(crate) const PTR: &str = "ptr";
/// On a field: `offset(bytes)`, under the name that the standard uses.
pub(crate) const BYTE_OFFSET: &str = "byte_offset";

/// On the field `data`: the type of the elements of which another crate's owner lends a slice.
pub(crate) const SLICE: &str = "slice";
/// On the field `data`, beside `slice`: clones of the owner own the same memory.
pub(crate) const SHARED: &str = "shared";
/// On a field: the function that converts it.
pub(crate) const WITH: &str = "with";

/// On a field, for imports: it is filled with a copy of the elements.
pub(crate) const COPY: &str = "copy";
/// On a field, for imports: its value does not come from the tensor.
pub(crate) const DEFAULT: &str = "default";

/// On the struct: the path of `dlpack_traits`.
pub(crate) const CRATE: &str = "crate";
/// On the struct: the dimensions. On a field: a role.
pub(crate) const SHAPE: &str = "shape";
/// On the struct: the fastest axis. On a field: a role.
pub(crate) const ORDER: &str = "order";
/// On the struct: the strides, in elements. On a field: a role.
pub(crate) const STRIDES: &str = "strides";
/// On the struct: the strides, in bytes.
pub(crate) const BYTE_STRIDES: &str = "byte_strides";
/// On the struct: the element type. On a field: a role.
pub(crate) const DTYPE: &str = "dtype";
/// On the struct: elements narrower than a byte take one each.
pub(crate) const PADDED: &str = "padded";
/// On the struct: the storage may have spare capacity behind a contiguous tensor.
pub(crate) const SPARE_CAPACITY: &str = "spare_capacity";
/// On the struct: consumers may never write.
pub(crate) const READ_ONLY: &str = "read_only";
/// On the struct: the tensor is that of its field.
pub(crate) const TRANSPARENT: &str = "transparent";
/// On the struct: the bounds on its parameters.
pub(crate) const BOUND: &str = "bound";

/// On the struct, for imports: the function that makes it from its parts.
pub(crate) const CONSTRUCT: &str = "construct";
/// On the struct, for imports: the function that validates it.
pub(crate) const VALIDATE: &str = "validate";
/// On the struct, for imports: the requirements on the tensor.
pub(crate) const REQUIRE: &str = "require";
/// In `require(...)`: the kind of device. On a field: a role.
pub(crate) const DEVICE: &str = "device";
/// In `require(...)`: the number of dimensions.
pub(crate) const RANK: &str = "rank";
/// In `require(...)`: that the elements are contiguous.
pub(crate) const CONTIGUOUS: &str = "contiguous";

/// `order = row_major`.
pub(crate) const ROW_MAJOR: &str = "row_major";
/// `order = column_major`.
pub(crate) const COLUMN_MAJOR: &str = "column_major";

/// The words on a struct.
pub(crate) const ON_STRUCT: [&str; 20] = [
    SHAPE,
    STRIDES,
    BYTE_STRIDES,
    ORDER,
    Role::Pitch.word(),
    Role::Offset.word(),
    Role::Len.word(),
    Role::NDim.word(),
    DTYPE,
    DEVICE,
    PADDED,
    SPARE_CAPACITY,
    READ_ONLY,
    TRANSPARENT,
    SKIP,
    REQUIRE,
    CONSTRUCT,
    VALIDATE,
    BOUND,
    CRATE,
];
/// The words on a field.
pub(crate) const ON_FIELD: [&str; 21] = [
    Role::Data.word(),
    SLICE,
    SHARED,
    Role::Shape.word(),
    Role::Strides.word(),
    Role::Order.word(),
    Role::Pitch.word(),
    Role::Offset.word(),
    BYTE_OFFSET,
    Role::Len.word(),
    Role::NDim.word(),
    Role::Layout.word(),
    Role::DType.word(),
    Role::Device.word(),
    Role::Sync.word(),
    WITH,
    UNSAFE,
    Role::Owner.word(),
    COPY,
    DEFAULT,
    SKIP,
];

// The words of the derives for parts of a tensor, beside `CRATE`, `SKIP` and `DTYPE`.

/// Every bit pattern is a valid value.
pub(crate) const ANY_BITS: &str = "any_bits";
/// The entries of an array are lanes instead of an axis.
pub(crate) const LANES: &str = "lanes";

/// Stored with the most significant byte first.
pub(crate) const BIG_ENDIAN: &str = "big_endian";
/// Stored with the least significant byte first.
pub(crate) const LITTLE_ENDIAN: &str = "little_endian";
/// The type is also that of another variant.
pub(crate) const ALIAS: &str = "alias";

/// Elements narrower than a byte share bytes.
pub(crate) const PACKED: &str = "packed";
/// Tensors can be imported into it.
pub(crate) const IMPORT: &str = "import";

/// Words on an element.
pub(crate) const ON_ELEMENT: &[&str] = &[LANES, ANY_BITS, CRATE];
/// Words on a field of an element.
pub(crate) const ON_ELEMENT_FIELD: &[&str] = &[SKIP];
/// Words on a record.
pub(crate) const ON_RECORD: &[&str] = &[ANY_BITS, CRATE];
/// Words on a field of a record.
pub(crate) const ON_RECORD_FIELD: &[&str] = &[SKIP];
/// Words on a run-time element type.
pub(crate) const ON_DATA_TYPE: &[&str] = &[CRATE];
/// Words on a variant of a run-time element type.
pub(crate) const ON_DATA_TYPE_VARIANT: &[&str] = &[DTYPE, BIG_ENDIAN, LITTLE_ENDIAN, ALIAS, SKIP];
/// Words on a storage.
pub(crate) const ON_STORAGE: &[&str] = &[CRATE];
/// Words on a variant of a storage.
pub(crate) const ON_STORAGE_VARIANT: &[&str] = &[DTYPE, PACKED, PADDED, IMPORT, SKIP];
/// Words on a field of a variant.
pub(crate) const ON_STORAGE_VARIANT_FIELD: &[&str] = &[SKIP];
/// Words on a field of a storage struct.
pub(crate) const ON_STORAGE_FIELD: &[&str] = &[DTYPE, PACKED, PADDED, IMPORT, SKIP];

/// Whether a derive exports or imports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the struct to a consumer.
    Export,
    /// From a producer to the struct.
    Import,
}

/// The unit of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Elements,
    Bytes,
}

impl Unit {
    /// All units.
    pub(crate) const ALL: [Unit; 2] = [Unit::Elements, Unit::Bytes];

    /// The word in attributes.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Unit::Elements => "elements",
            Unit::Bytes => "bytes",
        }
    }
}

/// Whether a role has a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    /// It has no unit.
    None,
    /// The unit is optional, and is elements by default.
    Elements,
    /// The unit is required.
    Required,
}

/// The role of a field in the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Data,
    Shape,
    Strides,
    Order,
    Pitch,
    Offset,
    Len,
    NDim,
    Layout,
    DType,
    Device,
    Sync,
    Owner,
}

impl Role {
    /// All roles, in the order of the documentation.
    pub(crate) const ALL: [Role; 13] = [
        Role::Data,
        Role::Shape,
        Role::Strides,
        Role::Order,
        Role::Pitch,
        Role::Offset,
        Role::Len,
        Role::NDim,
        Role::Layout,
        Role::DType,
        Role::Device,
        Role::Sync,
        Role::Owner,
    ];

    /// The word in attributes.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Shape => SHAPE,
            Role::Strides => STRIDES,
            Role::Order => ORDER,
            Role::Pitch => "pitch",
            Role::Offset => "offset",
            Role::Len => "len",
            Role::NDim => "ndim",
            Role::Layout => "layout",
            Role::DType => DTYPE,
            Role::Device => DEVICE,
            Role::Sync => "sync",
            Role::Owner => "owner",
        }
    }

    /// The role with that word.
    pub(crate) fn of_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.word() == word)
    }

    /// The name that gives a field the role without an attribute, and the unit
    /// of such a field.
    pub(crate) const fn field_name(self) -> Option<(&'static str, Unit)> {
        match self {
            Role::Data | Role::Shape | Role::Strides | Role::DType | Role::Device => {
                Some((self.word(), Unit::Elements))
            }
            Role::Offset => Some((BYTE_OFFSET, Unit::Bytes)),
            _ => None,
        }
    }

    /// Whether it has a unit.
    pub(crate) const fn units(self) -> Units {
        match self {
            Role::Strides => Units::Elements,
            Role::Pitch | Role::Offset | Role::Len => Units::Required,
            _ => Units::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documentation of the derives.
    const DOCS: [&str; 3] = [
        include_str!("lib.rs"),
        include_str!("../docs/import.md"),
        include_str!("../docs/pointers.md"),
    ];

    /// The number of rows of the tables in the documentation that begin with
    /// `start`.
    fn rows(start: &str) -> usize {
        let start = format!("| `#[dlpack({start}");
        let lines = DOCS.iter().flat_map(|docs| docs.lines());
        lines.filter(|line| line.trim_start_matches("/// ").starts_with(&start)).count()
    }

    #[test]
    fn every_word_is_in_the_table_of_the_docs() {
        for word in ON_FIELD.iter().chain(&ON_STRUCT) {
            let ends = [")", "(", " ="].map(|end| rows(&format!("{word}{end}")));
            let places = [&ON_FIELD[..], &ON_STRUCT[..]].map(|words| words.contains(word));
            let expected = places.into_iter().filter(|place| *place).count();
            assert!(ends.iter().sum::<usize>() >= expected, "`{word}` is missing");
        }
        for role in Role::ALL {
            assert!(ON_FIELD.contains(&role.word()));
            for unit in Unit::ALL.iter().filter(|_| role.units() == Units::Required) {
                let (word, unit) = (role.word(), unit.word());
                assert!(rows(&format!("{word}({unit})")) > 0, "`{word}({unit})` is missing");
            }
        }
        let docs = DOCS.concat();
        for word in [PTR, ROW_MAJOR, COLUMN_MAJOR, RANK, CONTIGUOUS] {
            assert!(docs.contains(word), "`{word}` is missing");
        }
    }

    /// The test above does not cover a word that is not a constant in this
    /// file.
    #[test]
    fn words_are_written_here_only() {
        let sources = [include_str!("attr/container.rs"), include_str!("attr/field.rs")];
        for source in sources {
            assert!(!source.contains("=> \"") && !source.contains("\" =>"), "a word in {source}");
        }
    }

    /// The part of the documentation about one derive.
    fn docs(derive: &str) -> &'static str {
        if derive == "Record" {
            return include_str!("../docs/record.md");
        }
        let docs = DOCS[0];
        let (before, _) = docs.split_once(&format!("#[proc_macro_derive({derive},")).expect(derive);
        before.rsplit("\n}\n").next().expect("a part")
    }

    #[test]
    fn every_word_of_the_parts_is_in_a_table_of_the_docs() {
        for (derive, words) in [
            ("Element", [ON_ELEMENT, ON_ELEMENT_FIELD].concat()),
            ("Record", [ON_RECORD, ON_RECORD_FIELD].concat()),
            ("DataType", [ON_DATA_TYPE, ON_DATA_TYPE_VARIANT].concat()),
            ("Storage", [ON_STORAGE, ON_STORAGE_VARIANT].concat()),
        ] {
            let docs = docs(derive);
            for word in words {
                let lines = docs.lines().map(|line| line.trim_start_matches("/// "));
                let rows = lines.filter_map(|line| line.strip_prefix("| `#[dlpack("));
                let attributes = rows.filter_map(|row| row.split('`').next());
                let words: Vec<&str> = attributes
                    .flat_map(|row| row.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
                    .collect();
                assert!(words.contains(&word), "`{word}` is missing in the docs of {derive}");
            }
        }
    }
}
