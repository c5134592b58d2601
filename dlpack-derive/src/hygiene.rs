//! Renames items and variables of an expansion that collide with names in the user's item.
//!
//! An expansion defines a few items in a block around its impls, and variables in its functions,
//! all of whose names begin with two underscores. Rust has no hygiene for items, so a struct, a
//! parameter or a path with the same name would resolve to the item of the expansion there, and a
//! variable would be a pattern of a constant with the same name. If the tokens of an item contain
//! such a name, the names of the expansion get a suffix. Nothing of the user's is changed.

use proc_macro2::{Group, Ident, Literal, TokenStream, TokenTree};
use syn::DeriveInput;
use syn::ext::IdentExt as _;

/// Names in `dlpack_traits` that expansions use. They do not collide: the first is part of a path, and
/// the others are methods of traits that only expansions import.
const FIXED: [&str; 3] = ["__private", "__dlpack_share", "__dlpack_slice"];

/// Whether an expansion may define this name.
fn is_ours(name: &str) -> bool {
    name.starts_with("__")
}

/// Runs a derive on the tokens of an item, with names that do not collide.
pub(crate) fn apart(input: TokenStream, derive: fn(&DeriveInput) -> TokenStream) -> TokenStream {
    if !contains(&input, &is_ours, &|_| false) {
        return derived(input, derive);
    }
    let (mut suffix, mut aside) = (String::from("_"), String::from("_aside_"));
    // Also not in the user's literals, which are compared with the names below.
    while contains(&input, &|name| name.ends_with(&suffix), &|text| text.contains(&aside)) {
        suffix.push('_');
        aside.push('_');
    }
    // While the derive runs, the user's names are replaced by other names.
    let put_aside = |name: &str| is_ours(name).then(|| format!("{name}{aside}"));
    let suffixed = |name: &str| {
        let ours = is_ours(name) && !name.ends_with(&aside) && !FIXED.contains(&name);
        ours.then(|| format!("{name}{suffix}"))
    };
    let put_back = |name: &str| name.strip_suffix(&aside).map(str::to_owned);
    let output = derived(renamed(input, &put_aside), derive);
    unquoted(renamed(renamed(output, &suffixed), &put_back), &aside)
}

fn derived(input: TokenStream, derive: fn(&DeriveInput) -> TokenStream) -> TokenStream {
    match syn::parse2(input) {
        Ok(input) => derive(&input),
        Err(error) => error.to_compile_error(),
    }
}

/// Whether an identifier or a literal among the tokens satisfies its test.
fn contains(
    tokens: &TokenStream,
    ident: &impl Fn(&str) -> bool,
    literal: &impl Fn(&str) -> bool,
) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(name) => ident(&name.unraw().to_string()),
        TokenTree::Literal(text) => literal(&text.to_string()),
        TokenTree::Group(group) => contains(&group.stream(), ident, literal),
        TokenTree::Punct(_) => false,
    })
}

/// Replaces the identifiers for which `new` returns a name.
fn renamed(tokens: TokenStream, new: &impl Fn(&str) -> Option<String>) -> TokenStream {
    mapped(tokens, &|token| match token {
        TokenTree::Ident(ident) => match new(&ident.unraw().to_string()) {
            Some(name) => Ident::new(&name, ident.span()).into(),
            None => ident.into(),
        },
        other => other,
    })
}

/// Restores the user's names in string literals of the expansion.
fn unquoted(tokens: TokenStream, aside: &str) -> TokenStream {
    mapped(tokens, &|token| match &token {
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            let put_back = text.contains(aside).then(|| text.replace(aside, ""));
            match put_back.and_then(|text| text.parse::<Literal>().ok()) {
                Some(mut put_back) => {
                    put_back.set_span(literal.span());
                    put_back.into()
                }
                None => token,
            }
        }
        _ => token,
    })
}

/// Applies a function to each token that is not a group.
fn mapped(tokens: TokenStream, change: &impl Fn(TokenTree) -> TokenTree) -> TokenStream {
    let changed = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let mut changed = Group::new(group.delimiter(), mapped(group.stream(), change));
            changed.set_span(group.span());
            changed.into()
        }
        other => change(other),
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Emits an impl with a name of the expansion and a name of the user, which
    /// is also in a string, and the first attribute of the user.
    fn derive(input: &DeriveInput) -> TokenStream {
        let (ident, name) = (&input.ident, input.ident.to_string());
        let attr = input.attrs.first();
        quote! {
            use krate::__private as __dlpack;
            #attr
            impl __dlpack::Trait for #ident { type Other = #name; }
        }
    }

    #[test]
    fn names_stay_as_they_are_without_a_collision() {
        let expected = derive(&syn::parse_quote!(
            struct Tensor;
        ))
        .to_string();
        assert_eq!(
            apart(
                quote!(
                    struct Tensor;
                ),
                derive
            )
            .to_string(),
            expected
        );
        let invalid = apart(
            quote!(
                fn f() {}
            ),
            derive,
        )
        .to_string();
        assert!(invalid.contains("compile_error"), "{invalid}");
    }

    #[test]
    fn our_names_get_a_suffix_beside_the_same_names() {
        let apart = |input| apart(input, derive).to_string();
        let one = quote! {
            use krate::__private as __dlpack_;
            impl __dlpack_::Trait for __dlpack { type Other = "__dlpack"; }
        };
        assert_eq!(
            apart(quote!(
                struct __dlpack;
            )),
            one.to_string()
        );
        assert_eq!(
            apart(quote!(
                struct r#__dlpack;
            )),
            one.to_string()
        );
        let two = quote! {
            use krate::__private as __dlpack__;
            impl __dlpack__::Trait for Tensor_ { type Other = "Tensor_"; }
        };
        assert_eq!(
            apart(quote!(
                struct Tensor_<'__dlpack>(&'__dlpack u8);
            )),
            two.to_string()
        );
    }
    #[test]
    fn literals_of_the_user_stay_as_they_are() {
        let input = quote! {
            #[is("rows_aside_", "_aside__", b"x_aside___", "__dlpack")]
            struct __value;
        };
        let expected = quote! {
            use krate::__private as __dlpack____;
            #[is("rows_aside_", "_aside__", b"x_aside___", "__dlpack")]
            impl __dlpack____::Trait for __value { type Other = "__value"; }
        };
        assert_eq!(apart(input, derive).to_string(), expected.to_string());
    }
}
