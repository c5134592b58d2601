//! Guesses from the type of a field.

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::{GenericArgument, Ident, Member, PathArguments, Type};

use super::roles::Roles;
use crate::ast::{Field, is_named};
use crate::message::written;

/// The fields without a role whose type looks like a buffer.
fn buffers<'f, 'a>(
    fields: &'f [Field<'a>],
    roles: &Roles<'_>,
) -> impl Iterator<Item = &'f Field<'a>> {
    fields.iter().filter(|field| {
        !roles.has(field) && field.attrs.skip.is_none() && looks_like_a_buffer(field.ty)
    })
}

/// The field that was probably meant to be `data`, if there is only one.
pub(super) fn likely_data(fields: &[Field<'_>], roles: &Roles<'_>) -> Option<String> {
    let mut buffers = buffers(fields, roles);
    let first = buffers.next()?;
    buffers.next().is_none().then(|| first.name())
}

/// The first field that may have been meant to be `data`, in the order of declaration.
/// Fields that own memory are preferred to arrays, which may be the shape.
pub(super) fn possible_data(fields: &[Field<'_>], roles: &Roles<'_>) -> Option<String> {
    let owns = |field: &&Field<'_>| !matches!(field.ty, Type::Array(_));
    let field = buffers(fields, roles).find(owns).or(buffers(fields, roles).next())?;
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
        Type::Path(_) => is_named(ty, &["Vec", "Box", "Arc", "SharedBuffer"]),
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

/// Whether the type is an `ImportedStorage` of elements with a type, which are in memory of the host.
pub(super) fn is_on_host(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_on_host(&group.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            let PathArguments::AngleBracketed(args) = &last.arguments else { return false };
            let element = args.args.first();
            last.ident == "ImportedStorage"
                && matches!(element, Some(GenericArgument::Type(ty)) if !is_named(ty, &["AnyElement"]))
        }),
        _ => false,
    }
}

/// Whether the type is a raw pointer.
pub(super) fn is_raw_pointer(ty: &Type) -> bool {
    match ty {
        Type::Ptr(_) => true,
        Type::Group(group) => is_raw_pointer(&group.elem),
        _ => is_named(ty, &["NonNull"]),
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

/// Whether a deleter may certainly drop the type: it consists only of the standard
/// library's owners and of numbers.
///
/// A type of the user may have the same name. Then only our error message is missing, not
/// the check: an export requires `Send` itself.
pub(super) fn is_surely_owned(ty: &impl ToTokens) -> bool {
    ty.to_token_stream().into_iter().all(|token| match token {
        TokenTree::Ident(ident) => OWNED.iter().any(|word| ident == word),
        TokenTree::Group(group) => is_surely_owned(&group.stream()),
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
            assert!(is_surely_owned(&syn::parse_str::<Type>(ty).unwrap()), "{ty}");
        }
        for ty in ["Rc<u8>", "*const u8", "&'static u8", "Vec<Rc<u8>>", "[u8; N]", "core::u8"] {
            assert!(!is_surely_owned(&syn::parse_str::<Type>(ty).unwrap()), "{ty}");
        }
    }
}
