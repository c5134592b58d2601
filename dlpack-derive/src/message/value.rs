//! Errors about the values after a word in `#[dlpack(...)]`.

use proc_macro2::{Ident, Span, TokenTree};
use quote::ToTokens as _;
use syn::{Error, LitInt, Path};

use super::attribute::on_the_struct;
use super::{counted, describe, expected, refusal};
use crate::{attributes, dtype_names};

pub(crate) fn takes_no_value(key: &Ident, value: Span) -> Error {
    refusal(value, format!("`{key}` takes no value here"), format!("write `#[dlpack({key})]`"))
}

pub(crate) fn constant_on_a_field(key: &Ident, value: Span, owner: &Ident) -> Error {
    let word = key.to_string();
    refusal(
        value,
        format!("`{key}` takes no value on a field"),
        format!(
            "write `#[dlpack({key})]` if the field holds it; a constant one is \
             `#[dlpack({})]` above `struct {owner}`",
            on_the_struct(&word)
        ),
    )
}

pub(crate) fn expected_path(found: Option<&TokenTree>, eq: Span, meant: Option<&Path>) -> Error {
    let path = match meant {
        Some(path) => path.to_token_stream().to_string().replace(' ', ""),
        None => "my::dlpack_traits".to_owned(),
    };
    expected("the path of `dlpack-traits`", found, eq, format!("write `#[dlpack(crate = {path})]`"))
}

pub(crate) fn expected_order(found: Option<&TokenTree>, place: Span) -> Error {
    expected(
        "`row_major` or `column_major`",
        found,
        place,
        "write `#[dlpack(order = column_major)]` for the order of Fortran, where the first axis \
         is the fastest",
    )
}

pub(crate) fn expected_dtype(found: Option<&TokenTree>, place: Span) -> Error {
    let meant = dtype_names::quoted(found).unwrap_or("BF16");
    expected(
        "a constant of `DataType`",
        found,
        place,
        format!(
            "write `#[dlpack(dtype = {meant})]`, or the path of a constant of your own: \
             `#[dlpack(dtype = Self::DTYPE)]`"
        ),
    )
}

pub(crate) fn expected_fields(found: Option<&TokenTree>, place: Span) -> Error {
    expected(
        "the names of fields, separated by commas, in parentheses after `skip`",
        found,
        place,
        "write `#[dlpack(skip(id, timestamp))]`, or `#[dlpack(skip)]` above each field",
    )
}

pub(crate) fn expected_bounds(place: Span) -> Error {
    refusal(
        place,
        "expected the predicates of a `where` clause in parentheses after `bound`",
        "write `#[dlpack(bound(T: Element, D: AsDims))]`",
    )
}

// ---- units ----

pub(crate) fn unit_missing(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` does not say what it counts"),
        format!("write `{key}(elements)` or `{key}(bytes)`"),
    )
}

pub(crate) fn expected_unit(key: &Ident, found: Option<&TokenTree>, place: Span) -> Error {
    refusal(
        found.map_or(place, TokenTree::span),
        match found {
            Some(_) => format!("expected `elements` or `bytes`, found {}", describe(found)),
            None => "expected `elements` or `bytes` in parentheses".to_owned(),
        },
        format!(
            "write `{key}(elements)` or `{key}(bytes)`{}",
            if is_strides(key) { "; a list of the strides belongs above the struct" } else { "" }
        ),
    )
}

// ---- numbers ----

/// Whether the list has the strides instead of the dimensions.
fn is_strides(key: &Ident) -> bool {
    key == attributes::STRIDES || key == attributes::BYTE_STRIDES
}

/// An example of the numbers in a list of strides.
fn strides_example(key: &Ident) -> &'static str {
    if key == attributes::BYTE_STRIDES { "row_bytes, 4" } else { "row_stride, 1" }
}

pub(crate) fn expected_dims(key: &Ident, found: Option<&TokenTree>, eq: Span) -> Error {
    let (numbers, example) = if is_strides(key) {
        ("strides", strides_example(key))
    } else {
        ("dimensions", "3, 224, 224")
    };
    let help = format!("write `#[dlpack({key}({example}))]`, without `=`");
    expected(&format!("{numbers} in parentheses after `{key}`"), found, eq, help)
}

pub(crate) fn list_missing(key: &Ident) -> Error {
    let (numbers, example, field) = if is_strides(key) {
        let field = if key == attributes::BYTE_STRIDES { "strides(bytes)" } else { "strides" };
        ("stride of each axis", strides_example(key), field)
    } else {
        ("size of each dimension", "height, width, 3", "shape")
    };
    refusal(
        key.span(),
        format!("`{key}` on the struct needs the {numbers}"),
        format!(
            "list fields and constants: `#[dlpack({key}({example}))]`; or mark a field \
             `#[dlpack({field})]`"
        ),
    )
}

pub(crate) fn expected_dim(key: &Ident, found: Span) -> Error {
    let (what, field, call) = match key.to_string().as_str() {
        attributes::STRIDES | attributes::BYTE_STRIDES => {
            ("the stride", "(row_stride, Self::STEP)", "(self.row_stride(), 1)")
        }
        attributes::SHAPE => {
            ("the dimension", "(height, Self::WIDTH)", "(self.height(), self.pixels.width())")
        }
        "pitch" | "offset" | "len" => ("it", "(elements) = Self::SIZE", "(elements) = self.size()"),
        _ => ("it", " = Self::VALUE", " = self.value()"),
    };
    refusal(
        found,
        "expected an integer, the name of a field, a named constant, or a call of a method",
        format!(
            "name the field that holds {what}, or a constant: `#[dlpack({key}{field})]`; \
             one that is computed is the result of a method: `#[dlpack({key}{call})]`"
        ),
    )
}

pub(crate) fn expected_element(found: Option<&TokenTree>, place: Span) -> Error {
    expected(
        "the type of the elements after `slice`",
        found,
        place,
        "write `#[dlpack(data, slice = f32)]`, with the type of which the field lends a slice",
    )
}

pub(crate) fn negative_dim(found: Span) -> Error {
    refusal(
        found,
        "a dimension cannot be negative",
        "write how many elements there are along each axis: `#[dlpack(shape(3, 224, 224))]`",
    )
}

pub(crate) fn dim_too_large(key: &Ident, found: &LitInt) -> Error {
    let (number, least) = if is_strides(key) {
        ("stride", format!("at least `{}` and ", i64::MIN))
    } else {
        ("dimension", String::new())
    };
    refusal(
        found.span(),
        format!("{number} `{found}` does not fit in the `i64` that DLPack stores"),
        format!("use {least}at most `{}`", i64::MAX),
    )
}

pub(crate) fn too_many_dims(first_beyond: Span, dims: usize, most: usize) -> Error {
    refusal(
        first_beyond,
        format!("`shape` lists {dims} dimensions, but at most {most} can be listed"),
        "keep the dimensions in an array, and mark that field `#[dlpack(shape)]`",
    )
}

pub(crate) fn any_stride(underscore: Span) -> Error {
    refusal(
        underscore,
        "`_` accepts any size in `shape`, but a stride has to be known to read the elements",
        "name a field that holds the stride, as in `#[dlpack(strides(row_stride, 1))]`; without \
         `strides(..)`, an `ImportedStorage` keeps any strides",
    )
}

/// `unit` is the only word in the list, and not the name of a field.
pub(crate) fn unit_of_listed_strides(unit: &Ident) -> Error {
    refusal(
        unit.span(),
        format!("`{unit}` is the unit of a field, but above the struct `strides` lists numbers"),
        format!(
            "list the stride of each axis, in elements, as in `#[dlpack(strides(row_stride, 1))]`, \
             or in bytes with `byte_strides(..)`; strides in an array are a field marked \
             `#[dlpack(strides({unit}))]`"
        ),
    )
}

pub(crate) fn other_rank(key: &Ident, strides: usize, dims: usize) -> Error {
    refusal(
        key.span(),
        format!(
            "`{key}` lists {}, but `shape` lists {}",
            counted(strides, "stride"),
            counted(dims, "dimension")
        ),
        "list one stride for each dimension, in the same order",
    )
}

// ---- pointers ----

pub(crate) fn expected_pointer(found: Span) -> Error {
    refusal(
        found,
        "expected `ptr` and the length of the memory after `unsafe`",
        "write `#[dlpack(unsafe(ptr, len(elements) = size))]`, where `size` is a field or a constant",
    )
}

pub(crate) fn pointer_without_length(key: &Ident) -> Error {
    refusal(
        key.span(),
        "a raw pointer does not say how much memory it points to",
        "write `#[dlpack(unsafe(ptr, len(elements) = size))]`, where `size` is a field or a constant",
    )
}
