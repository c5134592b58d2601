//! Renames items of an expansion that collide with names in the user's item.
//!
//! An expansion defines a few items in a block around its impls. Rust has no
//! hygiene for items, so a struct, a parameter or a path with the same name
//! would resolve to the item of the expansion there. If the tokens of an item
//! contain such a name, the names of the expansion get a suffix.

use proc_macro2::{Group, Ident, Literal, TokenStream, TokenTree};
use syn::DeriveInput;
use syn::ext::IdentExt as _;

/// The names that expansions define.
const NAMES: [&str; 4] = ["__dlpack", "__Here", "__Roles", "__SHAPE"];

/// Runs a derive on the tokens of an item, with names that do not collide.
pub(crate) fn apart(input: TokenStream, derive: fn(&DeriveInput) -> TokenStream) -> TokenStream {
    if !contains(&input, &|name| NAMES.contains(&name)) {
        return derived(input, derive);
    }
    let mut suffix = String::from("_");
    while contains(&input, &|name| name.ends_with(&suffix)) {
        suffix.push('_');
    }
    // While the derive runs, the user's names are replaced by other names.
    let aside = format!("_aside{suffix}");
    let ours = |name: &str| NAMES.contains(&name);
    let put_aside = |name: &str| ours(name).then(|| format!("{name}{aside}"));
    let suffixed = |name: &str| ours(name).then(|| format!("{name}{suffix}"));
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

/// Whether an identifier among the tokens satisfies the test.
fn contains(tokens: &TokenStream, test: &impl Fn(&str) -> bool) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => test(&ident.unraw().to_string()),
        TokenTree::Group(group) => contains(&group.stream(), test),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
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
    /// is also in a string.
    fn derive(input: &DeriveInput) -> TokenStream {
        let (ident, name) = (&input.ident, input.ident.to_string());
        quote!(use krate as __dlpack; impl __dlpack::Trait for #ident { type __Other = #name; })
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
            use krate as __dlpack_; impl __dlpack_::Trait for __dlpack { type __Other = "__dlpack"; }
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
            use krate as __dlpack__; impl __dlpack__::Trait for Tensor_ { type __Other = "Tensor_"; }
        };
        assert_eq!(
            apart(quote!(
                struct Tensor_<'__dlpack>(&'__dlpack u8);
            )),
            two.to_string()
        );
    }
}
