//! The layout, from the fields that describe it.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ExprPath, Generics};

use super::{borrowed, local};
use crate::bounds::Params;
use crate::model::{DType, Dim, Layout, Order, Placement, RoleField, Shape, Steps};
use crate::symbol::Unit;

/// What makes a layout.
pub(super) struct Parts {
    /// Makes it from the fields of `self`, each borrowed on its own: an
    /// expression of type `Result<Layout<'_>, Error>`, with what comes before.
    ///
    /// `tensor` and `lend` each have a copy. That costs the compiler less than
    /// a function for both, and a type that does not fit is one error all the
    /// same: rustc says the same thing about the same place once.
    pub(super) body: TokenStream,
    /// Beside the impls: the shape, where it is constant.
    pub(super) constant: Option<TokenStream>,
}

impl Parts {
    /// The body as one expression, in braces where it has statements.
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

/// The shape of a compact tensor, written into the `room` that its consumer
/// reads it from, if it is not more than a shape.
pub(super) fn compact(
    ident: &Ident,
    generics: &Generics,
    shape: &Shape<'_>,
) -> Option<TokenStream> {
    let here = Span::mixed_site();
    match shape {
        Shape::Field { dims, ndim: None } => Some(field(*dims, &quote_spanned!(here=> __room))),
        Shape::Field { ndim: Some(_), .. } => None,
        Shape::List(dims) => {
            let parts = Parts { body: TokenStream::new(), constant: None };
            let (function, dims) = Writer { ident, generics, parts, layout: None }.list(dims);
            let function = local(&format!("compact_{function}"));
            Some(quote_spanned!(here=> __dlpack::#function(__room, #dims)))
        }
    }
}

/// The shape of a compact tensor as it is stored, if it is a field.
pub(super) fn stored(shape: &Shape<'_>) -> Option<TokenStream> {
    match shape {
        Shape::Field { dims, ndim: None } => Some(field(*dims, &quote!(()))),
        Shape::Field { ndim: Some(_), .. } | Shape::List(_) => None,
    }
}

/// The dimensions of a field, where they are needed.
fn field(dims: RoleField<'_>, to: &TokenStream) -> TokenStream {
    let (ty, field) = (dims.ty, borrowed(dims));
    quote_spanned!(Span::mixed_site()=> __dlpack::shape::<#ty, _>(#to, #field))
}

/// Writes the body, statement by statement.
struct Writer<'a> {
    ident: &'a Ident,
    generics: &'a Generics,
    parts: Parts,
    /// The layout so far, not yet said.
    layout: Option<TokenStream>,
}

pub(super) fn parts<'a>(ident: &'a Ident, generics: &'a Generics, layout: &Layout<'a>) -> Parts {
    let parts = Parts { body: TokenStream::new(), constant: None };
    let mut writer = Writer { ident, generics, parts, layout: None };
    let start = match &layout.placement {
        Placement::Nested(field) => Writer::call("layout", *field, None),
        Placement::Fields { shape, steps, .. } => writer.steps(shape, steps),
    };
    writer.set(start);
    if let Placement::Fields { shape, steps, offset } = &layout.placement {
        if let Shape::Field { ndim: Some(ndim), .. } = shape {
            writer.change("ndim", *ndim);
        }
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
        let device = Writer::call("device", device, Some("__layout"));
        writer.set(device);
    }
    if layout.padded {
        writer.set(quote_spanned!(here=> __dlpack::padded(__layout)));
    }
    let end = writer.layout.take();
    writer.parts.body.extend(end);
    writer.parts
}

fn by_unit(unit: Unit, elements: &'static str, bytes: &'static str) -> &'static str {
    match unit {
        Unit::Elements => elements,
        Unit::Bytes => bytes,
    }
}

impl<'a> Writer<'a> {
    fn say(&mut self, statement: TokenStream) {
        self.parts.body.extend(statement);
    }

    /// A call of a function of the runtime for a field. Its type is in the
    /// turbofish, where the caret goes if it does not fit.
    fn call(function: &str, field: RoleField<'a>, after: Option<&str>) -> TokenStream {
        let (ty, field) = (field.ty, borrowed(field));
        let function = local(function);
        let after = after.map(local).map(|after| quote!(#after,));
        quote_spanned!(Span::mixed_site()=> __dlpack::#function::<#ty>(#after #field))
    }

    /// Makes that the layout, which is made of what was the layout before.
    fn set(&mut self, layout: TokenStream) {
        if let Some(before) = self.layout.replace(layout) {
            self.say(quote_spanned!(Span::mixed_site()=> let __layout = #before;));
        }
    }

    /// Says one more thing about the layout.
    fn change(&mut self, function: &str, field: RoleField<'a>) {
        let changed = Self::call(function, field, Some("__layout"));
        self.set(changed);
    }

    fn steps(&mut self, shape: &Shape<'a>, steps: &Steps<'a>) -> TokenStream {
        let here = Span::mixed_site();
        let shape = match shape {
            Shape::Field { dims, .. } => field(*dims, &quote_spanned!(here=> ())),
            Shape::List(dims) => {
                let (function, dims) = self.list(dims);
                let function = local(function);
                quote_spanned!(here=> __dlpack::#function(#dims))
            }
        };
        match steps {
            Steps::Compact { order: Order::RowMajor, .. } => {
                quote_spanned!(here=> __dlpack::row_major(#shape))
            }
            Steps::Compact { order: Order::ColumnMajor, .. } => {
                quote_spanned!(here=> __dlpack::column_major(#shape))
            }
            Steps::Compact { order: Order::Field(order), .. } => {
                self.say(quote_spanned!(here=> let __shape = #shape;));
                Self::call("ordered", *order, Some("__shape"))
            }
            Steps::Strides(unit, strides) => {
                let strides = Self::call("strides", *strides, None);
                let function = local(by_unit(*unit, "strided", "byte_strided"));
                quote_spanned!(here=> __dlpack::#function(#shape, #strides))
            }
        }
    }

    /// A list of dimensions, and the function that takes it: borrowed from a
    /// constant, where all of them are.
    fn list(&mut self, dims: &[Dim<'a>]) -> (&'static str, TokenStream) {
        let here = Span::mixed_site();
        if dims.iter().any(|dim| matches!(dim, Dim::Field(..))) {
            let dims: Vec<_> = dims.iter().map(|dim| Self::extent(*dim)).collect();
            return ("extents", quote_spanned!(here=> [#(#dims),*]));
        }
        let generic = !self.generics.params.is_empty();
        let params = Params::of(self.generics);
        let reach = |dim: &Dim<'_>| matches!(dim, Dim::Constant(path) if params.reach(path));
        let values = dims.iter().map(|dim| self.constant(*dim));
        if generic && dims.iter().any(reach) {
            return ("constants", quote_spanned!(here=> const { &[#(#values),*] }));
        }
        // A constant of its own is evaluated whether the struct is exported or
        // not, so that a wrong one is an error where it stands.
        let rank = Literal::usize_unsuffixed(dims.len());
        self.parts.constant = Some(quote_spanned! {here=>
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
            Dim::Field(..) => TokenStream::new(),
        }
    }

    /// A dimension, as an `i64`, at run time.
    fn extent(dim: Dim<'a>) -> TokenStream {
        match dim {
            Dim::Integer(value, span) => {
                let value = integer(value, span);
                quote_spanned!(Span::mixed_site()=> __dlpack::Option::Some(#value))
            }
            Dim::Constant(path) => {
                let here = Span::mixed_site().located_at(path.span());
                quote_spanned!(here=> __dlpack::extent(&__dlpack::integer(#path)))
            }
            Dim::Field(field, _) => {
                let (ty, field) = (field.ty, borrowed(field));
                quote_spanned!(Span::mixed_site()=> __dlpack::extent::<#ty>(#field))
            }
        }
    }

    /// A path that means the same outside of the impl, of a struct that has no
    /// parameters.
    fn without_self(&self, path: &ExprPath) -> TokenStream {
        if self.generics.params.is_empty() {
            replace_self(path.to_token_stream(), self.ident)
        } else {
            path.to_token_stream()
        }
    }
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
