//! What the derive says when it refuses, one function for each mistake. The
//! house style is in `docs/ERRORS.md`; `ui-tests` shows each text in its place.

use proc_macro2::{Delimiter, Ident, Span, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Error, FieldsUnnamed, Lit, LitInt, Path};

use crate::similar::similar;
use crate::symbol::{self, Role};

/// A sentence and a way out.
fn refusal(span: Span, sentence: impl AsRef<str>, help: impl AsRef<str>) -> Error {
    Error::new(span, format!("{}\n= help: {}", sentence.as_ref(), help.as_ref()))
}

// ---- the item ----

pub(crate) fn not_a_struct(keyword: Span, ident: &Ident, kind: &str) -> Error {
    refusal(
        keyword,
        format!("`DLPackExport` can only be derived for structs, but `{ident}` is {kind}"),
        format!(
            "derive it on the struct that owns the buffer, or write `impl DLPackExport for {ident}`"
        ),
    )
}

pub(crate) fn tuple_struct(ident: &Ident, fields: &FieldsUnnamed) -> Error {
    refusal(
        fields.paren_token.span.join(),
        format!(
            "`DLPackExport` can only be derived for structs with named fields, \
             but `{ident}` is a tuple struct"
        ),
        format!("name the fields: `struct {ident} {{ data: Vec<f32>, shape: [usize; 2] }}`"),
    )
}

pub(crate) fn unit_struct(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("`{ident}` has no fields, so it owns no elements to export"),
        format!("add them: `struct {ident} {{ data: Vec<f32>, shape: [usize; 2] }}`"),
    )
}

pub(crate) fn packed(word: Span) -> Error {
    refusal(
        word,
        "`DLPackExport` cannot be derived for a `#[repr(packed)]` struct\n\
         = note: the fields of a packed struct cannot be borrowed",
        "remove `packed`, or move the fields of the tensor to a struct of their own",
    )
}

// ---- roles ----

pub(crate) fn no_data(ident: &Ident, candidate: Option<&Ident>) -> Error {
    let help = match candidate {
        Some(field) => format!("write `#[dlpack(data)]` above `{field}` if it owns the elements"),
        None => {
            "mark the field that owns the elements: `#[dlpack(data)] pixels: Vec<u8>`".to_owned()
        }
    };
    refusal(ident.span(), format!("`{ident}` has no field marked `#[dlpack(data)]`"), help)
}

pub(crate) fn no_shape(ident: &Ident) -> Error {
    refusal(
        ident.span(),
        format!("`{ident}` has no shape"),
        "mark a field `#[dlpack(shape)]`, or give a constant one: \
         `#[dlpack(shape = [3, 224, 224])]` on the struct",
    )
}

pub(crate) fn two_shapes(key: &Ident, field: &Ident) -> Error {
    refusal(
        key.span(),
        format!("field `{field}` is already the `shape`"),
        format!(
            "a DLPack tensor has one `shape`; remove this one, or write `#[dlpack(skip)]` \
             above `{field}`"
        ),
    )
}

pub(crate) fn role_taken(key: &Ident, by: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` is already the role of field `{by}`"),
        format!("a DLPack tensor has one `{key}`; remove one of the two attributes"),
    )
}

pub(crate) fn two_roles(field: &Ident, first: Role, second: &Ident) -> Error {
    refusal(
        second.span(),
        format!("field `{field}` cannot be both `{}` and `{second}`", first.word()),
        "keep one role per field",
    )
}

pub(crate) fn role_and_skip(field: &Ident, role: Role, skip: &Ident) -> Error {
    refusal(
        skip.span(),
        format!("field `{field}` cannot be both `{}` and skipped", role.word()),
        "keep one of the two attributes",
    )
}

// ---- keys ----

pub(crate) fn unknown_field_attribute(key: &Ident) -> Error {
    let help = suggestion(key, "field", &symbol::ON_FIELD);
    refusal(key.span(), format!("unknown dlpack field attribute `{key}`"), help)
}

pub(crate) fn unknown_struct_attribute(key: &Ident) -> Error {
    let help = suggestion(key, "struct", &symbol::ON_STRUCT);
    refusal(key.span(), format!("unknown dlpack struct attribute `{key}`"), help)
}

/// The attributes that there are, the nearest one first.
fn suggestion(key: &Ident, kind: &str, words: &[&str]) -> String {
    let all: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let all = format!("{kind} attributes are {}", all.join(", "));
    match similar(&key.to_string(), words) {
        Some(word) => format!("did you mean `{word}`? {all}"),
        None => all,
    }
}

pub(crate) fn belongs_on_the_struct(key: &Ident, owner: &Ident) -> Error {
    let word = key.to_string();
    let example = example(&word);
    refusal(
        key.span(),
        format!("not expected here; `{key}` belongs on the struct"),
        format!("write `#[dlpack({example})]` above `struct {owner}`"),
    )
}

pub(crate) fn belongs_on_a_field(key: &Ident) -> Error {
    refusal(
        key.span(),
        format!("not expected here; `{key}` belongs on a field"),
        format!("write `#[dlpack({key})]` above the field that it is about"),
    )
}

/// How an attribute of the struct is written.
fn example(word: &str) -> &str {
    match word {
        symbol::CRATE => "crate = my::dlpack_traits",
        symbol::SHAPE => "shape = [3, 224, 224]",
        other => other,
    }
}

pub(crate) fn duplicate_attribute(key: &Ident, owner: &Ident) -> Error {
    refusal(
        key.span(),
        format!("`{key}` is already given for `{owner}`"),
        "remove one of the two attributes",
    )
}

// ---- values ----

pub(crate) fn takes_no_value(key: &Ident, value: Span) -> Error {
    refusal(value, format!("`{key}` takes no value here"), format!("write `#[dlpack({key})]`"))
}

pub(crate) fn constant_shape_on_a_field(value: Span, owner: &Ident) -> Error {
    refusal(
        value,
        "`shape` takes no value on a field",
        format!(
            "write `#[dlpack(shape)]` if the field holds the shape; a constant shape belongs \
             above `struct {owner}`"
        ),
    )
}

pub(crate) fn expected_path(found: Option<&TokenTree>, eq: Span, meant: Option<&Path>) -> Error {
    let path = match meant {
        Some(path) => path.to_token_stream().to_string().replace(' ', ""),
        None => "my::dlpack_traits".to_owned(),
    };
    refusal(
        found.map_or(eq, TokenTree::span),
        format!("expected a path, found {}", describe(found)),
        format!("write `#[dlpack(crate = {path})]`"),
    )
}

pub(crate) fn expected_dims(found: Option<&TokenTree>, eq: Span) -> Error {
    refusal(
        found.map_or(eq, TokenTree::span),
        format!("expected a list of dimensions, found {}", describe(found)),
        "write `#[dlpack(shape = [3, 224, 224])]`",
    )
}

pub(crate) fn expected_dims_after_equals(list: Span) -> Error {
    refusal(
        list,
        "expected `=` and a list of dimensions after `shape`",
        "write `#[dlpack(shape = [3, 224, 224])]`",
    )
}

pub(crate) fn shape_of_struct_without_dims(key: &Ident) -> Error {
    refusal(
        key.span(),
        "`shape` on the struct needs the dimensions",
        "write `#[dlpack(shape = [3, 224, 224])]`, or mark a field `#[dlpack(shape)]`",
    )
}

pub(crate) fn expected_dim(found: Span) -> Error {
    refusal(
        found,
        "expected an integer or a named constant as a dimension",
        "compute it in a constant and name that: `#[dlpack(shape = [3, Self::WIDTH])]`",
    )
}

pub(crate) fn negative_dim(found: Span) -> Error {
    refusal(
        found,
        "a dimension cannot be negative",
        "write how many elements there are along each axis: `#[dlpack(shape = [3, 224, 224])]`",
    )
}

pub(crate) fn dim_too_large(found: &LitInt) -> Error {
    refusal(
        found.span(),
        format!("dimension `{found}` does not fit in the `i64` that DLPack stores"),
        format!("use at most `{}`", i64::MAX),
    )
}

// ---- syntax ----

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
        "separate attributes by commas: `#[dlpack(read_only, shape = [3, 224, 224])]`",
    )
}

/// What a token is, in words.
fn describe(found: Option<&TokenTree>) -> String {
    let words = match found {
        None => "nothing",
        Some(TokenTree::Ident(ident)) => return format!("`{ident}`"),
        Some(TokenTree::Punct(punct)) => return format!("`{}`", punct.as_char()),
        Some(TokenTree::Group(group)) => match group.delimiter() {
            Delimiter::Parenthesis => "a list in parentheses",
            Delimiter::Brace => "a block",
            Delimiter::Bracket => "a list",
            Delimiter::None => return describe(group.stream().into_iter().next().as_ref()),
        },
        Some(TokenTree::Literal(literal)) => match Lit::new(literal.clone()) {
            Lit::Str(_) => "a string literal",
            Lit::Int(_) => "an integer literal",
            Lit::Float(_) => "a float literal",
            _ => "a literal",
        },
    };
    words.to_owned()
}
