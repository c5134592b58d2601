//! Every word of the attribute `#[dlpack(...)]`, once.

/// The attribute itself.
pub(crate) const DLPACK: &str = "dlpack";

/// On a field: it plays no part.
pub(crate) const SKIP: &str = "skip";

/// On the struct: where the runtime is.
pub(crate) const CRATE: &str = "crate";
/// On the struct: the constant shape. On a field it is a role.
pub(crate) const SHAPE: &str = "shape";
/// On the struct: consumers may never write.
pub(crate) const READ_ONLY: &str = "read_only";

/// What stands on the struct.
pub(crate) const ON_STRUCT: [&str; 3] = [SHAPE, READ_ONLY, CRATE];
/// What stands on a field.
pub(crate) const ON_FIELD: [&str; 7] = [
    Role::Data.word(),
    Role::Shape.word(),
    Role::Strides.word(),
    Role::ByteOffset.word(),
    Role::DType.word(),
    Role::Device.word(),
    SKIP,
];

/// What a field is to the tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Data,
    Shape,
    Strides,
    ByteOffset,
    DType,
    Device,
}

impl Role {
    /// In the order in which they are explained.
    pub(crate) const ALL: [Role; 6] =
        [Role::Data, Role::Shape, Role::Strides, Role::ByteOffset, Role::DType, Role::Device];

    /// The word for it, in attributes and as the name of a field.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Shape => SHAPE,
            Role::Strides => "strides",
            Role::ByteOffset => "byte_offset",
            Role::DType => "dtype",
            Role::Device => "device",
        }
    }

    /// The role of that name.
    pub(crate) fn named(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_in_the_table_of_the_docs() {
        let docs = include_str!("lib.rs");
        for word in ON_FIELD {
            assert!(docs.contains(&format!("/// | `#[dlpack({word})]` | ")), "`{word}` is missing");
        }
        for word in ON_STRUCT {
            let row = format!("/// | `#[dlpack({word}");
            let row =
                docs.lines().find(|line| line.starts_with(&row) && line.matches('|').count() == 3);
            assert!(row.is_some(), "`{word}` is missing");
        }
    }
}
