//! What the type of a field gives away.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{GenericArgument, Ident, Member, PathArguments, Type};

use super::roles::Roles;
use crate::ast::Field;
use crate::message::written;

/// The field that was probably meant to be `data`: the only one without a role
/// that looks like a buffer.
pub(super) fn likely_data(fields: &[Field<'_>], roles: &Roles<'_>) -> Option<String> {
    let mut buffers = fields.iter().filter(|field| {
        !roles.has(field) && field.attrs.skip.is_none() && looks_like_a_buffer(field.ty)
    });
    match (buffers.next(), buffers.next()) {
        (Some(field), None) => Some(field.name()),
        _ => None,
    }
}

/// The first field that can be meant to be `data`, as it is declared: rather one that
/// owns memory than an array, which may be the shape.
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

/// Whether that is elements without a shape, behind pointers or not.
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

/// Whether that is the type of a raw pointer.
pub(super) fn is_raw_pointer(ty: &Type) -> bool {
    match ty {
        Type::Ptr(_) => true,
        Type::Group(group) => is_raw_pointer(&group.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "NonNull"),
        _ => false,
    }
}

/// The lock or cell that the data is in, behind pointers or not.
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

/// Whether that is memory of an imported tensor, by the name of the type.
pub(super) fn is_foreign(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_foreign(&group.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Foreign"),
        _ => false,
    }
}

/// Whether a deleter may surely drop it: it is made of the standard library's
/// owners and numbers alone.
///
/// A type of the user's may have such a name. What is missed then is our
/// sentence, and not the check: an export asks for `Send` itself.
pub(super) fn is_surely_owned(ty: &Type) -> bool {
    only_of_known_words(ty.to_token_stream())
}

fn only_of_known_words(tokens: TokenStream) -> bool {
    tokens.into_iter().all(|token| match token {
        TokenTree::Ident(ident) => OWNED.iter().any(|word| ident == word),
        TokenTree::Group(group) => only_of_known_words(group.stream()),
        TokenTree::Literal(_) => true,
        // Neither a pointer nor a reference, nor a path.
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
    fn types_that_need_no_assertion() {
        for ty in ["Vec<f32>", "[usize; 3]", "Option<Box<[u8]>>", "(u8, String)"] {
            assert!(is_surely_owned(&syn::parse_str(ty).unwrap()), "{ty}");
        }
        for ty in ["Rc<u8>", "*const u8", "&'static u8", "Vec<Rc<u8>>", "[u8; N]", "core::u8"] {
            assert!(!is_surely_owned(&syn::parse_str(ty).unwrap()), "{ty}");
        }
    }
}
