//! Errors about imports.

use proc_macro2::{Ident, Span, TokenTree};
use syn::Error;

use super::{expected, refusal, useless};
use crate::attributes;

pub(crate) fn no_default(place: Span, field: &str, owner: &Ident) -> Error {
    refusal(
        place,
        format!("nothing says what `{field}` is in a struct that is imported"),
        format!(
            "write `#[dlpack(default)]` or `#[dlpack(default = path)]` above it, or name what makes \
             the struct: `#[dlpack(construct = Self::new)]` above `struct {owner}`"
        ),
    )
}

pub(crate) fn default_of_a_role(key: &Ident, field: &str, word: &str) -> Error {
    useless(key, format!("field `{field}` gets its value from the tensor, whose `{word}` it is"))
}

pub(crate) fn default_beside_construct(key: &Ident, field: &str) -> Error {
    refusal(
        key.span(),
        format!(
            "`construct` names what makes every field, so nothing is done with that of `{field}`"
        ),
        format!("remove `{key}`, or remove `construct`"),
    )
}

pub(crate) fn copy_of_no_data(key: &Ident, field: &str) -> Error {
    useless(
        key,
        format!("only the `data` can be a copy of the elements, and field `{field}` is not"),
    )
}

pub(crate) fn host_elements_elsewhere(key: &Ident, field: &str) -> Error {
    refusal(
        key.span(),
        format!(
            "no tensor meets this: `{field}` has elements with a type, which are in memory of the host"
        ),
        "for memory of a device, use a `DeviceBuffer<B>` of its backend, or an `ImportedStorage` without \
         a type",
    )
}

pub(crate) fn pointer_in_an_import(place: Span, owner: &Ident) -> Error {
    refusal(
        place,
        "a raw pointer cannot keep the memory of an imported tensor alive",
        format!("hold it in an `ImportedStorage<T>`, or write `impl DLPackImport for {owner}`"),
    )
}

pub(crate) fn slice_in_an_import(key: &Ident, field: &str) -> Error {
    refusal(
        key.span(),
        format!("an import cannot fill `{field}`, whose type is another crate's"),
        format!(
            "`{key}` is for exports: import a struct with `#[dlpack(copy)] {field}: Vec<T>` or an \
             `ImportedStorage<T>`, and make this one from it"
        ),
    )
}

pub(crate) fn with_in_an_import(key: &Ident, field: &str) -> Error {
    refusal(
        key.span(),
        format!("`{key}` converts field `{field}` for an export, not back"),
        format!(
            "name both functions: `{key}(to_dims, from_dims)`; the second makes the field from a list \
             such as `Vec<usize>`, an `Order`, a `DataType` or a `Device`"
        ),
    )
}

pub(crate) fn two_functions(key: &Ident, found: Span) -> Error {
    refusal(
        found,
        "expected the paths of two functions: for exports, and for imports",
        format!("write `#[dlpack(shape, {key}(to_dims, from_dims))]`, or `{key} = to_dims`"),
    )
}

pub(crate) fn method_in_an_import(call: Span) -> Error {
    refusal(
        call,
        "an import cannot fill what a method computes",
        "import a struct with this number in a field, and make this one from it",
    )
}

/// `field` is two parts of the layout.
pub(crate) fn stride_listed_twice(place: Span, field: &str) -> Error {
    refusal(
        place,
        format!("an import fills `{field}` with one number of the tensor, but it is listed twice"),
        "name a field of its own here; leave `strides(..)` out if the elements are contiguous",
    )
}

pub(crate) fn any_size_in_an_export(underscore: Span) -> Error {
    refusal(
        underscore,
        "`_` accepts any size in an import, but an export has to state the size",
        "name a field that contains the size: `#[dlpack(shape(rows, 3))]`; a struct that is only \
         imported derives only `DLPackImport`",
    )
}

pub(crate) fn import_borrows(lifetime: Span, owner: &Ident) -> Error {
    refusal(
        lifetime,
        format!(
            "`{owner}` borrows, but nothing else would own the tensor that it is imported from"
        ),
        "own the memory: `ImportedStorage<T>` holds it without a copy",
    )
}

pub(crate) fn construct_on_an_enum(key: &Ident, owner: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` has no meaning on enum `{owner}`, which is made of one of its variants"),
        format!("move `{key}` to the struct that the variant holds"),
    )
}

// ---- values ----

pub(crate) fn expected_function(key: &Ident, found: Option<&TokenTree>, place: Span) -> Error {
    let example = match key {
        key if key == attributes::DEFAULT => "default = Self::no_name",
        key if key == attributes::VALIDATE => "validate = Self::check",
        key if key == attributes::WITH => "dtype, with = Self::to_dtype",
        _ => "construct = Self::new",
    };
    expected("the path of a function", found, place, format!("write `#[dlpack({example})]`"))
}

pub(crate) fn expected_requirements(place: Span) -> Error {
    refusal(
        place,
        "expected the requirements of a tensor in parentheses after `require`",
        "write `#[dlpack(require(device = cpu, rank = 3, dtype = U8, contiguous))]`, or some of it",
    )
}

pub(crate) fn unknown_requirement(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` is nothing that can be asked of a tensor"),
        "what can be asked is `device`, `rank`, `dtype` and `contiguous`",
    )
}

pub(crate) fn expected_requirement(key: &Ident, found: Option<&TokenTree>, place: Span) -> Error {
    let (what, help) = match key {
        key if key == attributes::RANK => {
            ("a number of dimensions", "write `rank = 3`, or `rank(2, 3)` where both will do")
        }
        key if key == attributes::DEVICE => (
            "a kind of device",
            "write `device = cpu` or `device(cuda, cuda_managed)`, in the words of the standard: \
             `cpu`, `cuda`, `cuda_host`, `cuda_managed`, `rocm`, `oneapi`, `metal`, ...",
        ),
        _ => (
            "a constant of `DataType`",
            "write `dtype = U8`, or `dtype(F32, F64)` where both will do",
        ),
    };
    expected(what, found, place, help)
}
