//! Guesses from the type of a field.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{GenericArgument, Ident, Member, PathArguments, Type};

use super::roles::Roles;
use crate::ast::Field;
use crate::message::written;

/// The field that was probably meant to be `data`: the only field without a role whose type
/// looks like a buffer.
pub(super) fn likely_data(fields: &[Field<'_>], roles: &Roles<'_>) -> Option<String> {
    let mut buffers = fields.iter().filter(|field| {
        !roles.has(field) && field.attrs.skip.is_none() && looks_like_a_buffer(field.ty)
    });
    match (buffers.next(), buffers.next()) {
        (Some(field), None) => Some(field.name()),
        _ => None,
    }
}

/// The first field that may have been meant to be `data`, in the order of declaration.
/// Fields that own memory are preferred to arrays, which may be the shape.
pub(super) fn possible_data(fields: &[Field<'_>], roles: &Roles<'_>) -> Option<String> {
    let buffers = || {
        fields.iter().filter(|field| {
            !roles.has(field) && field.attrs.skip.is_none() && looks_like_a_buffer(field.ty)
        })
    };
    let field = buffers().find(|field| !matches!(field.ty, Type::Array(_))).or(buffers().next())?;
    let ty = written(field.ty);
    Some(match &field.member {
        Member::Named(name) => format!("{name}: {ty}"),
        Member::Unnamed(_) => ty,
    })
}

/// Whether the type looks like elements without a shape, possibly behind pointers.
pub(super) fn looks_like_a_buffer(ty: &Type) -> bool {
    match ty {
        Type::Array(_) | Type::Slice(_) => true,
        Type::Reference(reference) => looks_like_a_buffer(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            ["Vec", "Box", "Arc", "SharedBuffer"].iter().any(|buffer| last.ident == buffer)
        }),
        _ => false,
    }
}

/// Whether the type is a list of elements without a shape, possibly behind pointers, by its
/// name.
pub(super) fn is_list(ty: &Type) -> bool {
    match ty {
        Type::Array(_) | Type::Slice(_) => true,
        Type::Group(group) => is_list(&group.elem),
        Type::Reference(reference) => is_list(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            if ["Vec", "SharedBuffer"].iter().any(|list| last.ident == list) {
                return true;
            }
            let PathArguments::AngleBracketed(args) = &last.arguments else { return false };
            let pointer = ["Arc", "Box", "Cow"].iter().any(|pointer| last.ident == pointer);
            pointer
                && args
                    .args
                    .iter()
                    .any(|arg| matches!(arg, GenericArgument::Type(inner) if is_list(inner)))
        }),
        _ => false,
    }
}

/// Whether the type is a raw pointer.
pub(super) fn is_raw_pointer(ty: &Type) -> bool {
    match ty {
        Type::Ptr(_) => true,
        Type::Group(group) => is_raw_pointer(&group.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "NonNull"),
        _ => false,
    }
}

/// The lock or cell that contains the data, possibly behind pointers.
pub(super) fn lock(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Group(group) => lock(&group.elem),
        Type::Reference(reference) => lock(&reference.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let PathArguments::AngleBracketed(args) = &last.arguments else { return None };
            if ["Mutex", "RwLock", "RefCell", "Cell"].iter().any(|lock| last.ident == lock) {
                return Some(&last.ident);
            }
            let pointer = ["Arc", "Rc", "Box"].iter().any(|pointer| last.ident == pointer);
            args.args.iter().filter(|_| pointer).find_map(|arg| match arg {
                GenericArgument::Type(inner) => lock(inner),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Whether the type is memory of an imported tensor, by its name.
pub(super) fn is_foreign(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_foreign(&group.elem),
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| last.ident == "ImportedStorage")
        }
        _ => false,
    }
}

/// Whether a deleter may certainly drop the type: it consists only of the standard
/// library's owners and of numbers.
///
/// A type of the user may have the same name. Then only our error message is missing, not
/// the check: an export requires `Send` itself.
pub(super) fn is_surely_owned(ty: &Type) -> bool {
    only_of_known_words(ty.to_token_stream())
}

fn only_of_known_words(tokens: TokenStream) -> bool {
    tokens.into_iter().all(|token| match token {
        TokenTree::Ident(ident) => OWNED.iter().any(|word| ident == word),
        TokenTree::Group(group) => only_of_known_words(group.stream()),
        TokenTree::Literal(_) => true,
        // These cannot be part of a pointer, a reference or a path.
        TokenTree::Punct(punct) => ['<', '>', ',', ';'].contains(&punct.as_char()),
    })
}

const OWNED: [&str; 20] = [
    "Arc", "Box", "Option", "String", "Vec", "bool", "char", "f32", "f64", "i128", "i16", "i32",
    "i64", "i8", "isize", "u16", "u32", "u64", "u8", "usize",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_without_a_shape() {
        for ty in ["Vec<f32>", "std::vec::Vec<T>", "[u8; 3]", "Arc<[f32]>", "Box<Vec<u8>>"] {
            assert!(is_list(&syn::parse_str(ty).unwrap()), "{ty}");
        }
        for ty in ["Tensor", "Box<Tensor>", "Arc<Image<[u8; 3]>>", "Option<Vec<u8>>", "Vec2"] {
            assert!(!is_list(&syn::parse_str(ty).unwrap()), "{ty}");
        }
    }

    #[test]
    fn types_that_need_no_assertion() {
        for ty in ["Vec<f32>", "[usize; 3]", "Option<Box<[u8]>>", "(u8, String)"] {
            assert!(is_surely_owned(&syn::parse_str(ty).unwrap()), "{ty}");
        }
        for ty in ["Rc<u8>", "*const u8", "&'static u8", "Vec<Rc<u8>>", "[u8; N]", "core::u8"] {
            assert!(!is_surely_owned(&syn::parse_str(ty).unwrap()), "{ty}");
        }
    }
}
