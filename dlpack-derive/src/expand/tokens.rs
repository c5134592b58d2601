//! Tokens that several expansions share: borrows, identifiers, struct expressions, patterns.

use proc_macro2::{Group, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Generics, Ident, Member};

use crate::ast::Field;
use crate::attr::ConstDType;
use crate::model::Given;

/// The impl of a trait of `dlpack_traits`.
pub(crate) fn implementation(
    name: &str,
    ident: &Ident,
    generics: &Generics,
    where_clause: &impl ToTokens,
    items: &TokenStream,
) -> TokenStream {
    let (params, args, _) = generics.split_for_impl();
    let name = local(name);
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #params __dlpack::#name for #ident #args #where_clause { #items }
    }
}

/// A borrow of a field, or the result of the function that converts it.
pub(super) fn value_of(field: &Field<'_>) -> TokenStream {
    let borrowed = borrowed(field);
    match field.with() {
        None => borrowed,
        Some(path) => {
            let here = Span::mixed_site().located_at(path.span());
            quote_spanned!(here=> #path(#borrowed))
        }
    }
}

/// A borrow of a field.
pub(super) fn borrowed(field: &Field<'_>) -> TokenStream {
    let member = &field.member;
    quote_spanned!(Span::mixed_site()=> &self.#member)
}

/// A body as one expression, in braces if it has statements.
pub(super) fn expression(body: &TokenStream) -> TokenStream {
    match body.clone().into_iter().next() {
        Some(TokenTree::Ident(word)) if word == "let" => {
            quote_spanned!(Span::mixed_site()=> { #body })
        }
        _ => body.clone(),
    }
}

/// A constant or a call. Its `self` is shared in every method, so that rustc prints an error in it
/// once.
pub(super) fn computed(given: Given<'_>) -> TokenStream {
    let here = Span::mixed_site();
    match given {
        Given::Integer(value, span) => {
            let mut literal = Literal::i64_suffixed(value);
            literal.set_span(here.located_at(span));
            literal.into_token_stream()
        }
        Given::Constant(path) => path.to_token_stream(),
        Given::Call(call) => replaced(call.to_token_stream(), "self", &|word| {
            let at = here.located_at(word.span());
            quote_spanned!(at=> __dlpack::this::<Self>(self))
        }),
        Given::Field(field, span) => {
            let member = &field.member;
            quote_spanned!(here.located_at(span)=> self.#member)
        }
        Given::Any => TokenStream::new(),
    }
}

/// Replaces each identifier `word`.
pub(super) fn replaced(
    tokens: TokenStream,
    word: &str,
    new: &impl Fn(&Ident) -> TokenStream,
) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(found) if found == word => new(&found),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), replaced(group.stream(), word, new));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        other => other.into(),
    });
    replaced.collect()
}

/// A constant number, as an `Option<i64>`; `None` if the number is not constant.
pub(super) fn constant(number: Given<'_>) -> Option<TokenStream> {
    let here = Span::mixed_site();
    match number {
        Given::Integer(value, span) => {
            let value = integer(value, span);
            Some(quote_spanned!(here=> __dlpack::Option::Some(#value)))
        }
        Given::Constant(path) => {
            let at = here.located_at(path.span());
            Some(quote_spanned!(at=> __dlpack::number(&__dlpack::integer(#path))))
        }
        Given::Field(..) | Given::Call(_) | Given::Any => None,
    }
}

/// The path of a constant element type.
pub(crate) fn dtype(constant: &ConstDType) -> TokenStream {
    let here = Span::mixed_site();
    match constant {
        ConstDType::Named(word) => quote_spanned!(here=> __dlpack::DataType::#word),
        ConstDType::Path(path) => path.to_token_stream(),
    }
}

/// A literal without a suffix, where the user wrote it.
pub(super) fn integer(value: i64, span: Span) -> TokenStream {
    let mut literal = Literal::i64_unsuffixed(value);
    literal.set_span(Span::mixed_site().located_at(span));
    literal.into_token_stream()
}

/// The match arms that select one of several values by an index, which is that of one of them.
pub(crate) fn arms_by_index(values: &[TokenStream]) -> TokenStream {
    let here = Span::mixed_site();
    let last = values.len().saturating_sub(1);
    let arms = values.iter().enumerate().map(|(number, value)| {
        let number = (number != last).then(|| Literal::usize_unsuffixed(number));
        let pattern = number.map_or_else(|| quote_spanned!(here=> _), ToTokens::into_token_stream);
        quote_spanned!(here=> #pattern => #value,)
    });
    arms.collect()
}

/// An identifier that the user's code cannot name.
pub(super) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Unwraps a `Result`. An error is returned from the function, which has the same type of errors.
///
/// It is a `match`, because the compiler resolves two traits for each `?` (measured: 8 % of `cargo
/// check` of 200 derived imports).
pub(super) fn or_return(result: &TokenStream) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        match #result {
            __dlpack::Ok(__value) => __value,
            __dlpack::Err(__error) => return __dlpack::Err(__error),
        }
    }
}

/// A struct expression for a variant or a struct with those values. The order of evaluation
/// is unspecified.
pub(crate) fn filled(path: &TokenStream, mut fields: Vec<(&Member, TokenStream)>) -> TokenStream {
    let here = Span::mixed_site();
    let index = |member: &Member| match member {
        Member::Named(_) => None,
        Member::Unnamed(index) => Some(index.index),
    };
    if fields.iter().all(|(member, _)| index(member).is_some()) {
        fields.sort_by_key(|(member, _)| index(member));
        let values = fields.iter().map(|(_, value)| value);
        return quote_spanned!(here=> #path(#(#values),*));
    }
    let fields = fields.iter().map(|(member, value)| quote_spanned!(here=> #member: #value));
    quote_spanned!(here=> #path { #(#fields),* })
}

/// A member in a pattern.
pub(super) fn in_pattern(member: &Member) -> TokenStream {
    match member {
        Member::Named(ident) => ident.to_token_stream(),
        Member::Unnamed(index) => index.to_token_stream(),
    }
}
