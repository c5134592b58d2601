//! Errors about the words in `#[dlpack(...)]`, and their combinations.

use proc_macro2::{Group, Ident, Span, TokenTree};
use syn::spanned::Spanned as _;
use syn::{Error, Path};

use super::parts::unknown_attribute;
use super::{expected, refusal};
use crate::attr::{Item, Value};
use crate::attributes::{self, Unit};

pub(crate) fn unknown_field_attribute(key: &Ident) -> Error {
    if key != attributes::PTR {
        return unknown_attribute(key, "field", &attributes::ON_FIELD);
    }
    refusal(
        key.span(),
        format!("unknown dlpack field attribute `{key}`"),
        "a pointer is believed, so it says `unsafe`: \
         `#[dlpack(unsafe(ptr, len(elements) = size))]`, beside a field marked `#[dlpack(owner)]`",
    )
}

pub(crate) fn unknown_struct_attribute(key: &Ident) -> Error {
    unknown_attribute(key, "struct", &attributes::ON_STRUCT)
}

pub(crate) fn unknown_variant_attribute(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("unknown dlpack variant attribute `{key}`"),
        "the only one is `#[dlpack(skip)]`, for variants that cannot be exported",
    )
}

pub(crate) fn belongs_on_the_struct(key: &Ident, owner: &Ident) -> Error {
    let word = key.to_string();
    refusal(
        key.span(),
        format!("not expected here; `{key}` belongs on the struct"),
        format!(
            "{}write `#[dlpack({})]` above `struct {owner}`",
            if word == attributes::BYTE_STRIDES {
                "write `#[dlpack(strides(bytes))]` above a field with all strides in bytes; or list \
                 numbers: "
            } else {
                ""
            },
            on_the_struct(&word)
        ),
    )
}

pub(crate) fn belongs_on_a_field(item: &Item) -> Error {
    let (key, word) = (&item.key, item.word());
    let example = match (attributes::Role::of_word(&word), &item.value) {
        (Some(role), Value::List(list)) if role.units() != attributes::Units::None => {
            let unit_word = list.stream().to_string();
            let unit = Unit::ALL.into_iter().find(|unit| unit.word() == unit_word);
            format!("{word}({})", unit.unwrap_or(Unit::Bytes).word())
        }
        (Some(role), _) if role.units() == attributes::Units::Required => format!("{word}(bytes)"),
        _ if word == attributes::UNSAFE => "unsafe(ptr, len(elements) = size)".to_owned(),
        _ => word.clone(),
    };
    let field = match item.assigned_word() {
        Some(field) => format!("field `{field}`"),
        None => "the field that it is about".to_owned(),
    };
    refusal(
        key.span(),
        format!("not expected here; `{key}` belongs on a field"),
        format!("write `#[dlpack({example})]` above {field}"),
    )
}

/// An example of an attribute on the struct.
pub(super) fn on_the_struct(word: &str) -> &str {
    match word {
        attributes::CRATE => "crate = my::dlpack_traits",
        attributes::SHAPE => "shape(3, 224, 224)",
        attributes::STRIDES => "strides(row_stride, 1)",
        attributes::BYTE_STRIDES => "byte_strides(row_bytes, 4)",
        attributes::ORDER => "order = column_major",
        attributes::DTYPE => "dtype = BF16",
        attributes::DEVICE => "device = self.device()",
        "ndim" => "ndim = 2",
        attributes::BOUND => "bound(T: Element)",
        attributes::SKIP => "skip(id, timestamp)",
        attributes::REQUIRE => "require(rank = 3)",
        attributes::CONSTRUCT => "construct = Self::new",
        attributes::VALIDATE => "validate = Self::check",
        other => other,
    }
}

pub(crate) fn duplicate_attribute(key: &Ident, owner: &str) -> Error {
    refusal(
        key.span(),
        format!("`{key}` is already given for `{owner}`"),
        "remove one of the two attributes",
    )
}

pub(crate) fn attribute_without_list(path: &Path) -> Error {
    refusal(
        path.span(),
        "expected attributes in parentheses after `dlpack`",
        "write `#[dlpack(data)]` above the field that owns the elements",
    )
}

pub(crate) fn not_a_key(found: &TokenTree) -> Error {
    let help = "write `#[dlpack(data)]`, without quotes";
    expected("the name of an attribute", Some(found), found.span(), help)
}

pub(crate) fn value_after_a_list(key: &Ident, list: &Group, eq: Span) -> Error {
    refusal(
        eq,
        format!("`{key}` has its value in parentheses, and takes none after `=`"),
        format!("write `#[dlpack({key}({}))]`", list.stream()),
    )
}

pub(crate) fn comma_missing(key: &Ident, found: &TokenTree) -> Error {
    let help = "separate attributes by commas: `#[dlpack(read_only, shape(3, 224, 224))]`";
    expected(&format!("`,` after `{key}`"), Some(found), found.span(), help)
}
