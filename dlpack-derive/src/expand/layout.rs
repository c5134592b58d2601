//! The layout, from the fields that describe it.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprPath, Generics};

use super::tokens::{self, borrowed, computed, integer, local, replaced, value_of};
use crate::attributes::{Role, Unit};
use crate::bounds::Params;
use crate::model::{Given, Layout, Part, Placement, Shape, Steps};

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
    if let Placement::Fields { shape: Shape::List(dims), .. } = &layout.placement {
        let dims = writer.list(dims);
        writer.set(dims);
    }
    for part in layout.parts().iter().filter(|part| part.axis.is_none()) {
        writer.apply(part);
    }
    let here = Span::mixed_site();
    if let Placement::Fields { steps: Steps::Listed(unit, list), .. } = &layout.placement {
        let list = list.iter().map(|stride| Writer::number(*stride));
        let function = local(match unit {
            Unit::Elements => "listed_strides",
            Unit::Bytes => "listed_byte_strides",
        });
        writer.set(quote_spanned!(here=> __dlpack::#function(__layout, [#(#list),*])));
    }
    if layout.padded {
        writer.set(quote_spanned!(here=> __layout.padded()));
    }
    if layout.spare_capacity {
        writer.set(quote_spanned!(here=> __layout.spare_capacity()));
    }
    let end = writer.layout.take();
    writer.code.body.extend(end);
    writer.code
}

impl<'a> Writer<'a> {
    /// Replaces the expression. The previous one becomes a statement, whose variable the
    /// new one uses.
    fn set(&mut self, layout: TokenStream) {
        if let Some(before) = self.layout.replace(layout) {
            let here = Span::mixed_site();
            self.code.body.extend(quote_spanned!(here=> let __layout = #before;));
        }
    }

    /// Adds the call of a runtime function for a part, which begins the layout or changes it. The
    /// turbofish contains the field's type, to which the error points if the type does not fit.
    fn apply(&mut self, part: &Part<'a>) {
        let here = Span::mixed_site();
        let before = self.layout.is_some().then(|| quote_spanned!(here=> __layout,));
        let function = part.function();
        let with = local(&format!("{function}_with"));
        let function = local(&function);
        let is_number = matches!(part.role, Role::NDim | Role::Pitch | Role::Offset | Role::Len);
        self.set(match part.given {
            Given::Field(field, _) if field.with().is_some() => {
                let value = value_of(field);
                quote_spanned!(here=> __dlpack::#with(#before #value))
            }
            Given::Field(field, _) => {
                let (ty, field) = (field.ty, borrowed(field));
                quote_spanned!(here=> __dlpack::#function::<#ty>(#before #field))
            }
            // An error points to the value.
            given if is_number => {
                let (at, value) = (here.located_at(given.span()), computed(given));
                quote_spanned!(at=> __dlpack::#function(#before &__dlpack::integer(#value)))
            }
            // Any constant that converts, as a field does.
            Given::Constant(path) if !matches!(part.role, Role::Shape | Role::Strides) => {
                let at = here.located_at(path.span());
                quote_spanned!(at=> __dlpack::#function(#before &#path))
            }
            given => {
                let (at, value) = (here.located_at(given.span()), computed(given));
                let result = match given {
                    Given::Call(call) => converted(call, part.role),
                    _ => None,
                };
                quote_spanned!(at=> __dlpack::#with #result(#before #value))
            }
        });
    }

    /// The layout of a list of dimensions. The list is a borrowed constant if all dimensions are
    /// constant.
    fn list(&mut self, dims: &[Given<'a>]) -> TokenStream {
        let here = Span::mixed_site();
        if dims.iter().any(|dim| matches!(dim, Given::Field(..) | Given::Call(_))) {
            let dims = dims.iter().map(|dim| Self::number(*dim));
            return quote_spanned!(here=> __dlpack::extents([#(#dims),*]));
        }
        let generic = !self.generics.params.is_empty();
        let params = Params::of(self.generics);
        let reach = |dim: &Given<'_>| matches!(dim, Given::Constant(path) if params.reach(path));
        let values = dims.iter().map(|dim| self.constant(*dim));
        if generic && dims.iter().any(reach) {
            return quote_spanned!(here=> __dlpack::Layout::new(const { &[#(#values),*] }));
        }
        // A constant item is evaluated even if the struct is never exported, so an invalid
        // dimension is an error at its definition.
        let rank = Literal::usize_unsuffixed(dims.len());
        self.code.constant = Some(quote_spanned! {here=>
            const __SHAPE: [__dlpack::i64; #rank] = [#(#values),*];
        });
        quote_spanned!(here=> __dlpack::Layout::new(&__SHAPE))
    }

    /// A constant dimension, as an `i64`, at compile time.
    fn constant(&self, dim: Given<'_>) -> TokenStream {
        match dim {
            Given::Integer(value, span) => integer(value, span),
            Given::Constant(path) => {
                let here = Span::mixed_site().located_at(path.span());
                let path = self.without_self(path);
                quote_spanned!(here=> __dlpack::dim(__dlpack::integer(#path) as _))
            }
            // `check` rejects `_` in an export.
            Given::Field(..) | Given::Call(_) | Given::Any => TokenStream::new(),
        }
    }

    /// A dimension or a stride, as an `Option<i64>`, at run time.
    fn number(dim: Given<'a>) -> TokenStream {
        match dim {
            Given::Call(call) => {
                let (here, call) = (Span::mixed_site().located_at(call.span()), computed(dim));
                quote_spanned!(here=> __dlpack::number(&__dlpack::integer(#call)))
            }
            Given::Field(field, _) => {
                let (ty, field) = (field.ty, borrowed(field));
                quote_spanned!(Span::mixed_site()=> __dlpack::number::<#ty>(#field))
            }
            // `check` rejects `_` in an export, and as a stride.
            constant => tokens::constant(constant).unwrap_or_default(),
        }
    }

    /// The path for use outside of the impl, for a struct without parameters.
    fn without_self(&self, path: &ExprPath) -> TokenStream {
        if self.generics.params.is_empty() {
            replaced(path.to_token_stream(), "Self", &|word| {
                let span = self.ident.span().located_at(word.span());
                Ident::new(&self.ident.to_string(), span).into_token_stream()
            })
        } else {
            path.to_token_stream()
        }
    }
}

/// The type of a value that ends with `.into()` or `.try_into()`, as a turbofish: what it is
/// converted into.
fn converted(call: &Expr, role: Role) -> Option<TokenStream> {
    let here = Span::mixed_site();
    let ty = match role {
        Role::DType => local("DataType"),
        Role::Order => local("Order"),
        Role::Device => local("Device"),
        _ => return None,
    };
    match call {
        Expr::Group(group) => converted(&group.expr, role),
        Expr::MethodCall(last) if last.method == "into" => {
            Some(quote_spanned!(here=> ::<__dlpack::#ty>))
        }
        Expr::MethodCall(last) if last.method == "try_into" => {
            Some(quote_spanned!(here=> ::<__dlpack::Result<__dlpack::#ty, _>>))
        }
        _ => None,
    }
}
