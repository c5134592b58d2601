//! Mistakes about the words in `#[dlpack(...)]`, and between them.

use proc_macro2::{Ident, TokenTree};
use syn::spanned::Spanned as _;
use syn::{Error, Path};

use super::{describe, listed, refusal};
use crate::similar::similar;
use crate::symbol;

pub(crate) fn unknown_field_attribute(key: &Ident) -> Error {
    let help = if key == symbol::PTR {
        "a pointer is believed, so it says `unsafe`: \
         `#[dlpack(unsafe(ptr, len(elements) = size))]`, beside a field marked `#[dlpack(owner)]`"
            .to_owned()
    } else {
        suggestion(key, "field", &symbol::ON_FIELD)
    };
    refusal(key.span(), format!("unknown dlpack field attribute `{key}`"), help)
}

pub(crate) fn unknown_struct_attribute(key: &Ident) -> Error {
    let help = suggestion(key, "struct", &symbol::ON_STRUCT);
    refusal(key.span(), format!("unknown dlpack struct attribute `{key}`"), help)
}

pub(crate) fn unknown_variant_attribute(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("unknown dlpack variant attribute `{key}`"),
        "the only one is `#[dlpack(skip)]`, for variants that cannot be exported",
    )
}

/// The attributes that there are, the nearest one first.
fn suggestion(key: &Ident, kind: &str, words: &[&str]) -> String {
    let all = format!("{kind} attributes are {}", listed(words));
    match similar(&key.to_string(), words) {
        Some(word) => format!("did you mean `{word}`? {all}"),
        None => all,
    }
}

pub(crate) fn belongs_on_the_struct(key: &Ident, owner: &Ident) -> Error {
    let word = key.to_string();
    refusal(
        key.span(),
        format!("not expected here; `{key}` belongs on the struct"),
        format!("write `#[dlpack({})]` above `struct {owner}`", on_the_struct(&word)),
    )
}

pub(crate) fn belongs_on_a_field(key: &Ident) -> Error {
    let word = key.to_string();
    let example = match symbol::Role::of_word(&word) {
        Some(role) if role.units() == symbol::Units::Said => format!("{word}(bytes)"),
        _ if word == symbol::UNSAFE => "unsafe(ptr, len(elements) = size)".to_owned(),
        _ => word,
    };
    refusal(
        key.span(),
        format!("not expected here; `{key}` belongs on a field"),
        format!("write `#[dlpack({example})]` above the field that it is about"),
    )
}

/// How an attribute of the struct is written.
pub(super) fn on_the_struct(word: &str) -> &str {
    match word {
        symbol::CRATE => "crate = my::dlpack_traits",
        symbol::SHAPE => "shape(3, 224, 224)",
        symbol::ORDER => "order = column_major",
        symbol::DTYPE => "dtype = BF16",
        symbol::BOUND => "bound(T: Element)",
        symbol::REQUIRE => "require(rank = 3)",
        symbol::CONSTRUCT => "construct = Self::new",
        symbol::VALIDATE => "validate = Self::check",
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
    refusal(
        found.span(),
        format!("expected the name of an attribute, found {}", describe(Some(found))),
        "write `#[dlpack(data)]`, without quotes",
    )
}

pub(crate) fn comma_missing(key: &Ident, found: &TokenTree) -> Error {
    refusal(
        found.span(),
        format!("expected `,` after `{key}`, found {}", describe(Some(found))),
        "separate attributes by commas: `#[dlpack(read_only, shape(3, 224, 224))]`",
    )
}
