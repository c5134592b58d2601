//! Errors about the roles of fields.

use proc_macro2::{Ident, Span};
use syn::{Error, Type};

use super::{counted, listed, refusal, useless};
use crate::attributes::{Role, Units};
use crate::ctxt::first_token;
use crate::did_you_mean::similar;
use crate::numbers::Holds;

/// `likely` is the only field that may have been meant, `example` one of several.
pub(crate) fn no_data(ident: &Ident, likely: Option<&str>, example: Option<&str>) -> Error {
    let help = match (likely, example) {
        (Some(field), _) => {
            format!("write `#[dlpack(data)]` above `{field}` if it owns the elements")
        }
        (None, Some(field)) => {
            format!("mark the field that owns the elements, as in `#[dlpack(data)] {field}`")
        }
        (None, None) => "add the field that owns the elements: `#[dlpack(data)] pixels: Vec<u8>`, \
                         or a `data: Vec<u8>`, which needs no attribute"
            .to_owned(),
    };
    refusal(ident.span(), format!("`{ident}` has no field marked `#[dlpack(data)]`"), help)
}

/// `data` is a field whose type may contain a shape, as an array of `ndarray` does.
pub(crate) fn no_shape(ident: &Ident, data: Option<&str>) -> Error {
    let help = "mark a field `#[dlpack(shape)]`, or list fields and constants on the struct: \
                `#[dlpack(shape(height, width, 3))]`";
    let help = match data {
        None => help.to_owned(),
        Some(data) => format!(
            "{help}; if `{data}` has a shape itself, write `#[dlpack(transparent)]` above \
             `struct {ident}` and `#[dlpack(skip)]` above every other field"
        ),
    };
    refusal(ident.span(), format!("`{ident}` has no shape"), help)
}

pub(crate) fn given_twice(key: &Ident, role: Role, field: &str) -> Error {
    refusal(
        key.span(),
        format!("field `{field}` already says the `{}`", role.word()),
        format!(
            "remove `{key}` here if it differs from value to value; otherwise write \
             `#[dlpack(skip)]` above `{field}`"
        ),
    )
}

pub(crate) fn role_taken(key: &Ident, role: Role, by: &str) -> Error {
    let word = role.word();
    refusal(
        key.span(),
        format!("`{word}` is already the role of field `{by}`"),
        format!("a DLPack tensor has one `{word}`; remove one of the two attributes"),
    )
}

pub(crate) fn two_roles(field: &str, first: Role, second: &Ident) -> Error {
    refusal(
        second.span(),
        format!("field `{field}` cannot be both `{}` and `{second}`", first.word()),
        "keep one role per field",
    )
}

pub(crate) fn role_and_skip(field: &str, role: &str, skip: Span) -> Error {
    refusal(
        skip,
        format!("field `{field}` cannot be both `{role}` and skipped"),
        "keep one of the two attributes",
    )
}

// ---- roles that exclude each other ----

/// `strides` is the field that holds them, if they are not listed above the struct.
pub(crate) fn beside_strides(key: &Ident, role: Role, strides: Option<&str>) -> Error {
    let word = role.word();
    let either = match role {
        Role::Pitch => "a pitch",
        _ => "an order",
    };
    refusal(
        key.span(),
        match strides {
            Some(field) => format!(
                "a tensor has either strides or {either}, but field `{field}` is the `strides`"
            ),
            None => format!(
                "a tensor has either strides or {either}, but the strides are given above the \
                 struct"
            ),
        },
        format!("remove one of the two: strides already say what `{word}` would say"),
    )
}

pub(crate) fn beside_layout(key: &Ident, role: Role, layout: &str) -> Error {
    refusal(
        key.span(),
        format!("field `{layout}`, the `layout`, already says the `{}`", role.word()),
        "remove one of the two, or write `#[dlpack(skip)]` above a field that only repeats it",
    )
}

pub(crate) fn ndim_of_a_list(key: &Ident, dims: usize) -> Error {
    refusal(
        key.span(),
        format!(
            "`shape` on the struct lists {}, so there is no `ndim` to choose",
            counted(dims, "dimension")
        ),
        "remove `ndim`, or keep the dimensions in an array and mark it `#[dlpack(shape)]`",
    )
}

// ---- data behind a pointer or a lock ----

pub(crate) fn pointer_as_data(ty: &Type, field: &str) -> Error {
    refusal(
        first_token(ty),
        format!("a raw pointer does not say how much memory `{field}` points to, or who frees it"),
        format!(
            "write `#[dlpack(unsafe(ptr, len(elements) = size))]` above `{field}`, and \
             `#[dlpack(owner)]` above the field that frees the memory"
        ),
    )
}

pub(crate) fn pointer_without_owner(place: &Ident, field: &str) -> Error {
    refusal(
        place.span(),
        format!("nothing says what keeps the memory behind `{field}` alive"),
        "write `#[dlpack(owner)]` above the field that frees the memory when it is dropped; if that \
         field also returns the pointer, mark it alone: \
         `#[dlpack(unsafe(ptr, len(elements) = size), with = Handle::data)]`",
    )
}

pub(crate) fn owner_without_pointer(key: &Ident) -> Error {
    useless(
        key,
        "`owner` is for memory behind a raw pointer, but the `data` of this struct owns its elements",
    )
}

pub(crate) fn locked_data(lock: &Ident, field: &str) -> Error {
    let advice = "hold the elements in an `Arc<[T]>` if nobody writes to them, or in a `SharedBuffer<T>` \
                  if anybody may";
    // Locks outside of `std` have guards that own them.
    let guard = match lock.to_string().as_str() {
        "Mutex" => Some("`lock_arc` of parking_lot, `lock_owned` of tokio"),
        "RwLock" => Some("`read_arc` of parking_lot, `read_owned` of tokio"),
        _ => None,
    };
    let help = match guard {
        Some(guard) => format!(
            "{advice}; or mark a field that holds an owned guard ({guard}) `#[dlpack(data, slice = T)]`: \
             writers then wait for the consumer"
        ),
        None => advice.to_owned(),
    };
    refusal(
        lock.span(),
        format!(
            "field `{field}` is behind a `{lock}`, which lends its contents for a moment only, \
             but a consumer keeps the tensor as long as it likes"
        ),
        help,
    )
}

// ---- slices and conversions ----

pub(crate) fn slice_beside_pointer(key: &Ident, field: &str) -> Error {
    refusal(
        key.span(),
        format!("field `{field}` is behind a pointer, which lends no slice"),
        format!("remove `{key}`, or `unsafe(ptr, ..)` if the type of `{field}` lends a slice"),
    )
}

/// `is_pointer`: the field is a pointer, which another field owns.
pub(crate) fn shared_without_slice(key: &Ident, field: &str, is_pointer: bool) -> Error {
    if is_pointer {
        return refusal(
            key.span(),
            format!("a copy of the pointer `{field}` owns nothing"),
            format!("write `#[dlpack(owner, {key})]` above the field whose clones own the memory"),
        );
    }
    refusal(
        key.span(),
        format!("`{key}` needs the type of the elements that `{field}` lends"),
        format!(
            "write `#[dlpack(data, slice = f32, {key})]` above the owner of the elements; a type \
             with an `impl Storage` says by its `share` whether it has several owners"
        ),
    )
}

pub(crate) fn with_without_role(key: &Ident, field: &str) -> Error {
    refusal(
        key.span(),
        format!("nothing says what field `{field}` is converted into"),
        format!(
            "write the role beside it: `shape`, `strides`, `order`, `dtype`, `device`, or \
             `data, slice = f32`, as in `#[dlpack(dtype, {key} = to_dtype)]`"
        ),
    )
}

// ---- names ----

/// `or_constant`: a constant may have been meant as well.
pub(crate) fn no_such_field(
    place: Span,
    name: &str,
    owner: &Ident,
    fields: &[String],
    or_constant: bool,
) -> Error {
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let help = match (similar(name, &fields), &fields[..]) {
        (Some(field), _) => format!("did you mean `{field}`?"),
        (None, []) => "name a constant, as in `Self::WIDTH`".to_owned(),
        (None, fields) if or_constant => {
            format!("name a constant, as in `Self::WIDTH`, or a field: {}", listed(fields))
        }
        (None, fields) => format!("fields are {}", listed(fields)),
    };
    refusal(place, format!("`{owner}` has no field `{name}`"), help)
}

/// `skip` is the attribute for this field, `names` are all fields with this error.
pub(crate) fn unmarked_field(
    place: Span,
    field: &str,
    holds: Holds,
    skip: &str,
    names: &[String],
    owner: &Ident,
) -> Error {
    let (holds, roles) = match holds {
        Holds::Integer => (
            "an integer",
            "mark it with what it counts, such as `#[dlpack(pitch(elements))]` or \
             `#[dlpack(offset(bytes))]`, or list it in `#[dlpack(shape(..))]` or \
             `#[dlpack(strides(..))]`",
        ),
        Holds::Integers => {
            ("integers", "mark it `#[dlpack(shape)]`, `#[dlpack(strides)]` or `#[dlpack(data)]`")
        }
        _ => (
            "a `bool`",
            "hold what it says in a field with a role: an `Order` marked `#[dlpack(order)]`, or \
             the strides of all axes, negative where an axis runs backwards in memory, marked \
             `#[dlpack(strides)]`",
        ),
    };
    let several = match names {
        [_, _, ..] => {
            format!(" (or `#[dlpack(skip({}))]` above `struct {owner}`)", names.join(", "))
        }
        _ => String::new(),
    };
    refusal(
        place,
        format!("field `{field}` holds {holds}, and nothing says whether it is part of the layout"),
        format!("write `{skip}` above it{several} if it is not; if it is, {roles}"),
    )
}

/// `skip` is the attribute for this field.
pub(crate) fn lookalike(field: &Ident, role: Role, skip: &str) -> Error {
    let word = role.word();
    let attribute = match role.units() {
        Units::None => format!("`#[dlpack({word})]`"),
        Units::Elements | Units::Required => {
            format!("`#[dlpack({word}(elements))]` or `#[dlpack({word}(bytes))]`")
        }
    };
    refusal(
        field.span(),
        format!("field `{field}` looks like the `{word}`, but has no attribute that says so"),
        format!("write {attribute} above it, or `{skip}` if it is not part of the tensor"),
    )
}

/// There is no role for the stride of a single axis: a list contains it.
pub(crate) fn lookalike_step(field: &Ident, skip: &str) -> Error {
    refusal(
        field.span(),
        format!("field `{field}` looks like a stride, but has no attribute that says so"),
        format!(
            "list the stride of each axis above the struct, as in `#[dlpack(strides({field}, 1))]` \
             or, in bytes, `#[dlpack(byte_strides({field}, 4))]`; the distance of rows that do not \
             overlap can be marked `#[dlpack(pitch(elements))]` or `#[dlpack(pitch(bytes))]`; \
             write `{skip}` if it is not part of the tensor"
        ),
    )
}

/// There is no role for padding alone: the padded row need not be that of the shape.
pub(crate) fn lookalike_padding(field: &Ident, skip: &str) -> Error {
    refusal(
        field.span(),
        format!("field `{field}` looks like the padding between two rows, which no role counts"),
        format!(
            "hold how far one row is behind the one before it, padding included, in a field \
             marked `#[dlpack(pitch(elements))]` or `#[dlpack(pitch(bytes))]`; write `{skip}` \
             above `{field}` if it is not part of the tensor"
        ),
    )
}

pub(crate) fn lookalike_read_only(field: &Ident, skip: &str, owner: &Ident) -> Error {
    refusal(
        field.span(),
        format!("field `{field}` looks as if it kept consumers from writing, which no field can"),
        format!(
            "write `{skip}` above it; to let no consumer write, \
             write `#[dlpack(read_only)]` above `struct {owner}`"
        ),
    )
}
