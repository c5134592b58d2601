//! The layout, from the fields that describe it.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ExprPath, Generics};

use super::tokens::{borrowed, local, value_of};
use crate::bounds::Params;
use crate::model::{DType, Dim, Layout, Order, Placement, RoleField, Shape, Steps};
use crate::symbol::Unit;

/// The code that describes a layout.
pub(super) struct LayoutCode {
    /// The layout, from the fields of `self`, each borrowed separately: an expression of type
    /// `Layout<'_>`, preceded by statements.
    ///
    /// `describe` and `describe_mut` each contain a copy. This compiles faster than a
    /// shared function, and a type that does not fit is still a single error, because rustc
    /// deduplicates equal errors.
    pub(super) body: TokenStream,
    /// An item beside the impls: the shape, if it is constant.
    pub(super) constant: Option<TokenStream>,
}

impl LayoutCode {
    /// The body as one expression, in braces if it has statements.
    pub(super) fn expression(&self) -> TokenStream {
        let body = &self.body;
        match body.clone().into_iter().next() {
            Some(TokenTree::Ident(word)) if word == "let" => {
                quote_spanned!(Span::mixed_site()=> { #body })
            }
            _ => body.clone(),
        }
    }
}

/// Builds the body, statement by statement.
struct Writer<'a> {
    ident: &'a Ident,
    generics: &'a Generics,
    code: LayoutCode,
    /// The expression for the layout so far, which no statement contains yet.
    layout: Option<TokenStream>,
}

pub(super) fn code<'a>(
    ident: &'a Ident,
    generics: &'a Generics,
    layout: &Layout<'a>,
) -> LayoutCode {
    let code = LayoutCode { body: TokenStream::new(), constant: None };
    let mut writer = Writer { ident, generics, code, layout: None };
    match &layout.placement {
        Placement::Nested(field) => writer.set(Writer::begin("layout", *field)),
        Placement::Fields { shape, steps, .. } => writer.steps(shape, steps),
    }
    if let Placement::Fields { steps, offset, .. } = &layout.placement {
        if let Steps::Compact { pitch: Some((unit, pitch)), .. } = steps {
            writer.change(by_unit(*unit, "pitch", "byte_pitch"), *pitch);
        }
        if let Some((unit, offset)) = offset {
            writer.change(by_unit(*unit, "offset", "byte_offset"), *offset);
        }
    }
    if let Some((unit, len)) = layout.len {
        writer.change(by_unit(unit, "len", "byte_len"), len);
    }
    let here = Span::mixed_site();
    match layout.dtype {
        None => {}
        Some(DType::Field(dtype)) => writer.change("dtype", dtype),
        Some(DType::Named(word)) => {
            writer
                .set(quote_spanned!(here=> __dlpack::dtype(__layout, &__dlpack::DataType::#word)));
        }
        Some(DType::Path(path)) => {
            let here = here.located_at(path.span());
            writer.set(quote_spanned!(here=> __dlpack::dtype(__layout, &#path)));
        }
    }
    if let Some(device) = layout.device {
        writer.change("device", device);
    }
    if layout.padded {
        writer.set(quote_spanned!(here=> __dlpack::padded(__layout)));
    }
    if layout.spare_capacity {
        writer.set(quote_spanned!(here=> __dlpack::spare_capacity(__layout)));
    }
    let end = writer.layout.take();
    writer.code.body.extend(end);
    writer.code
}

fn by_unit(unit: Unit, elements: &'static str, bytes: &'static str) -> &'static str {
    match unit {
        Unit::Elements => elements,
        Unit::Bytes => bytes,
    }
}

impl<'a> Writer<'a> {
    fn say(&mut self, statement: TokenStream) {
        self.code.body.extend(statement);
    }

    /// A call of a runtime function for a field. The turbofish contains the field's type,
    /// to which the error points if the type does not fit.
    fn call(function: &str, field: RoleField<'a>, before: &TokenStream) -> TokenStream {
        if field.with.is_some() {
            let (function, value) = (local(&format!("{function}_with")), value_of(field));
            return quote_spanned!(Span::mixed_site()=> __dlpack::#function(#before #value));
        }
        let (ty, field, function) = (field.ty, borrowed(field), local(function));
        quote_spanned!(Span::mixed_site()=> __dlpack::#function::<#ty>(#before #field))
    }

    /// A call that begins a layout.
    fn begin(function: &str, field: RoleField<'a>) -> TokenStream {
        Self::call(function, field, &TokenStream::new())
    }

    /// Replaces the expression. The previous one becomes a statement, whose variable the
    /// new one uses.
    fn set(&mut self, layout: TokenStream) {
        if let Some(before) = self.layout.replace(layout) {
            self.say(quote_spanned!(Span::mixed_site()=> let __layout = #before;));
        }
    }

    /// Adds a call that changes the layout.
    fn change(&mut self, function: &str, field: RoleField<'a>) {
        let before = quote_spanned!(Span::mixed_site()=> __layout,);
        self.set(Self::call(function, field, &before));
    }

    fn steps(&mut self, shape: &Shape<'a>, steps: &Steps<'a>) {
        let here = Span::mixed_site();
        let (tokens, rank) = match shape {
            Shape::Field { dims, ndim } => (Self::begin("shape", *dims), *ndim),
            Shape::List(dims) => {
                let (function, dims) = self.list(dims);
                let function = local(function);
                (quote_spanned!(here=> __dlpack::#function(#dims)), None)
            }
        };
        self.set(tokens);
        if let Some(rank) = rank {
            self.change("ndim", rank);
        }
        match steps {
            Steps::Compact { order: Order::Default | Order::RowMajor, .. } => {}
            Steps::Compact { order: Order::ColumnMajor, .. } => {
                self.set(quote_spanned!(here=> __dlpack::column_major(__layout)));
            }
            Steps::Compact { order: Order::Field(order), .. } => self.change("order", *order),
            Steps::Strides(unit, strides) => {
                self.change(by_unit(*unit, "strides", "byte_strides"), *strides);
            }
            Steps::Listed(unit, list) => {
                let list = list.iter().map(|stride| Self::number(*stride, "stride"));
                let function = local(by_unit(*unit, "listed_strides", "listed_byte_strides"));
                self.set(quote_spanned!(here=> __dlpack::#function(__layout, [#(#list),*])));
            }
        }
    }

    /// A list of dimensions, and the function that takes it. The list is a borrowed
    /// constant if all dimensions are constant.
    fn list(&mut self, dims: &[Dim<'a>]) -> (&'static str, TokenStream) {
        let here = Span::mixed_site();
        if dims.iter().any(|dim| matches!(dim, Dim::Field(..) | Dim::Method(_))) {
            let dims = dims.iter().map(|dim| Self::number(*dim, "extent"));
            return ("extents", quote_spanned!(here=> [#(#dims),*]));
        }
        let generic = !self.generics.params.is_empty();
        let params = Params::of(self.generics);
        let reach = |dim: &Dim<'_>| matches!(dim, Dim::Constant(path) if params.reach(path));
        let values = dims.iter().map(|dim| self.constant(*dim));
        if generic && dims.iter().any(reach) {
            return ("constants", quote_spanned!(here=> const { &[#(#values),*] }));
        }
        // A constant item is evaluated even if the struct is never exported, so an invalid
        // dimension is an error at its definition.
        let rank = Literal::usize_unsuffixed(dims.len());
        self.code.constant = Some(quote_spanned! {here=>
            const __SHAPE: [__dlpack::i64; #rank] = [#(#values),*];
        });
        ("constants", quote_spanned!(here=> &__SHAPE))
    }

    /// A constant dimension, as an `i64`, at compile time.
    fn constant(&self, dim: Dim<'_>) -> TokenStream {
        match dim {
            Dim::Integer(value, span) => integer(value, span),
            Dim::Constant(path) => {
                let here = Span::mixed_site().located_at(path.span());
                let path = self.without_self(path);
                quote_spanned!(here=> __dlpack::dim(__dlpack::integer(#path) as _))
            }
            // `check` rejects `_` in an export.
            Dim::Field(..) | Dim::Method(_) | Dim::Any => TokenStream::new(),
        }
    }

    /// A dimension or a stride, as an `Option<i64>`, at run time. `function` converts a field.
    fn number(dim: Dim<'a>, function: &str) -> TokenStream {
        match dim {
            Dim::Integer(value, span) => {
                let value = integer(value, span);
                quote_spanned!(Span::mixed_site()=> __dlpack::Option::Some(#value))
            }
            Dim::Constant(path) => {
                let here = Span::mixed_site().located_at(path.span());
                quote_spanned!(here=> __dlpack::extent(&__dlpack::integer(#path)))
            }
            Dim::Method(call) => {
                let here = Span::mixed_site().located_at(call.span());
                let call = with_own_self(call.to_token_stream());
                quote_spanned!(here=> __dlpack::extent(&__dlpack::integer(#call)))
            }
            Dim::Field(field, _) => {
                let (ty, field, function) = (field.ty, borrowed(field), local(function));
                quote_spanned!(Span::mixed_site()=> __dlpack::#function::<#ty>(#field))
            }
            // `check` rejects it in an export, and as a stride.
            Dim::Any => TokenStream::new(),
        }
    }

    /// The path for use outside of the impl, for a struct without parameters.
    fn without_self(&self, path: &ExprPath) -> TokenStream {
        if self.generics.params.is_empty() {
            replace_self(path.to_token_stream(), self.ident)
        } else {
            path.to_token_stream()
        }
    }
}

/// Replaces the user's `self` by that of the method that the expansion defines.
fn with_own_self(tokens: TokenStream) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(word) if word == "self" => {
            TokenTree::Ident(Ident::new("self", Span::mixed_site().located_at(word.span())))
        }
        TokenTree::Group(group) => {
            let inner = with_own_self(group.stream());
            let mut replaced = proc_macro2::Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            replaced.into()
        }
        other => other,
    });
    replaced.collect()
}

fn integer(value: i64, span: Span) -> TokenStream {
    let mut literal = Literal::i64_unsuffixed(value);
    literal.set_span(Span::mixed_site().located_at(span));
    literal.into_token_stream()
}

fn replace_self(tokens: TokenStream, ident: &Ident) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(word) if word == "Self" => {
            let mut ident = ident.clone();
            ident.set_span(ident.span().located_at(word.span()));
            TokenTree::Ident(ident)
        }
        TokenTree::Group(group) => {
            let inner = replace_self(group.stream(), ident);
            let mut replaced = proc_macro2::Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        other => other,
    });
    replaced.collect()
}
