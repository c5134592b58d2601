//! The requirements of an imported struct on a tensor.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::tokens::local;
use crate::attr::{ConstDType, ConstOrder, Require};
use crate::model::{DType, Dim, Layout, Order, Placement, Shape, Steps};
use crate::symbol::Unit;

/// The requirements of the roles.
pub(super) fn wants_of_layout(layout: &Layout<'_>, copy: bool) -> Vec<TokenStream> {
    let here = Span::mixed_site();
    let mut wants = wants_beside_strides(layout, copy);
    wants.extend(listed_strides(layout, copy));
    if copy {
        return wants;
    }
    let offset_known = match &layout.placement {
        Placement::Nested(_) => true,
        Placement::Fields { steps, offset, .. } => {
            if let Steps::Compact { order, pitch } = steps {
                let order = order_of(order);
                let word = local(if pitch.is_some() { "Pitched" } else { "Compact" });
                wants.push(quote_spanned!(here=> __dlpack::Requirement::#word(#order)));
            }
            offset.is_some()
        }
    };
    if !offset_known || layout.len.is_some() {
        wants.push(quote_spanned!(here=> __dlpack::Requirement::NothingBefore));
    }
    wants
}

/// The constants in a list of strides, which a tensor or a copy of it must have.
pub(super) fn listed_strides(layout: &Layout<'_>, copy: bool) -> Vec<TokenStream> {
    let here = Span::mixed_site();
    let Placement::Fields { shape, steps: Steps::Listed(unit, list), .. } = &layout.placement
    else {
        return Vec::new();
    };
    let mut wants = Vec::new();
    if let Shape::Field { .. } = shape {
        let rank = Literal::usize_unsuffixed(list.len());
        wants.push(quote_spanned!(here=> __dlpack::Requirement::Rank(&[#rank])));
    }
    let place = if copy {
        let order = order_of_copy(layout);
        quote_spanned!(here=> __dlpack::Option::Some(#order))
    } else {
        quote_spanned!(here=> __dlpack::Option::None)
    };
    let unit = stride_unit(*unit);
    let constants = list.iter().enumerate().filter_map(|(axis, stride)| {
        let axis = Literal::usize_unsuffixed(axis);
        let needed = match stride {
            Dim::Integer(value, span) => {
                let mut value = Literal::i64_unsuffixed(*value);
                value.set_span(here.located_at(*span));
                quote_spanned!(here=> __dlpack::Option::Some(#value))
            }
            Dim::Constant(path) => {
                let at = here.located_at(path.span());
                quote_spanned!(at=> __dlpack::constant(&__dlpack::integer(#path)))
            }
            // `check` rejects the last two.
            Dim::Field(..) | Dim::Method(_) | Dim::Any => return None,
        };
        Some(quote_spanned!(here=> (#axis, #needed)))
    });
    let constants: Vec<_> = constants.collect();
    if !constants.is_empty() {
        wants.push(quote_spanned! {here=>
            __dlpack::Requirement::Strides(#unit, &[#(#constants),*], #place)
        });
    }
    wants
}

fn stride_unit(unit: Unit) -> TokenStream {
    let unit = local(match unit {
        Unit::Elements => "Elements",
        Unit::Bytes => "Bytes",
    });
    quote_spanned!(Span::mixed_site()=> __dlpack::StrideUnit::#unit)
}

/// The requirements of all roles but those of strides and offset.
pub(super) fn wants_beside_strides(layout: &Layout<'_>, copy: bool) -> Vec<TokenStream> {
    let here = Span::mixed_site();
    let mut wants = Vec::new();
    let mut want = |what: TokenStream| wants.push(what);
    match &layout.dtype {
        Some(DType::Named(word)) => {
            want(quote_spanned!(here=> __dlpack::Requirement::DType(&[__dlpack::DataType::#word])));
        }
        Some(DType::Path(path)) => {
            let at = here.located_at(path.span());
            want(quote_spanned!(at=> __dlpack::Requirement::DType(&[#path])));
        }
        Some(DType::Field(_)) | None => {}
    }
    if layout.padded {
        want(quote_spanned!(here=> __dlpack::Requirement::Padded(true)));
    } else if copy && layout.dtype.is_some() {
        let order = order_of_copy(layout);
        want(quote_spanned!(here=> __dlpack::Requirement::Packed(#order)));
    }
    match &layout.placement {
        Placement::Nested(field) => {
            let ty = field.ty;
            let place = local(if copy { "copied" } else { "held" });
            want(quote_spanned!(here=> __dlpack::layout::<#ty>().#place()));
        }
        Placement::Fields { shape, .. } => shape_wants(shape, &mut want),
    }
    wants
}

/// The order in which a copy is made for that layout.
pub(super) fn order_of_copy(layout: &Layout<'_>) -> TokenStream {
    let here = Span::mixed_site();
    match &layout.placement {
        Placement::Nested(field) => {
            let ty = field.ty;
            quote_spanned!(here=> __dlpack::layout::<#ty>().order())
        }
        Placement::Fields { steps: Steps::Compact { order: Order::ColumnMajor, .. }, .. } => {
            quote_spanned!(here=> __dlpack::Order::ColumnMajor)
        }
        Placement::Fields { steps: Steps::Listed(unit, list), .. } => {
            let (unit, ends) = (stride_unit(*unit), [list.first(), list.last()].map(wide));
            quote_spanned!(here=> __dlpack::order_of_strides(#unit, #(#ends),*))
        }
        Placement::Fields { .. } => quote_spanned!(here=> __dlpack::Order::RowMajor),
    }
}

/// A listed stride as a constant `Option<i128>`, `None` for a field.
fn wide(stride: Option<&Dim<'_>>) -> TokenStream {
    match stride {
        Some(Dim::Integer(value, _)) => {
            let value = Literal::i64_unsuffixed(*value);
            quote_spanned!(Span::mixed_site()=> __dlpack::Option::Some(#value))
        }
        Some(Dim::Constant(path)) => {
            let at = Span::mixed_site().located_at(path.span());
            quote_spanned!(at=> __dlpack::Option::Some(__dlpack::integer(#path) as _))
        }
        Some(Dim::Field(..) | Dim::Method(_) | Dim::Any) | None => {
            quote_spanned!(Span::mixed_site()=> __dlpack::Option::None)
        }
    }
}

fn shape_wants(shape: &Shape<'_>, want: &mut impl FnMut(TokenStream)) {
    let here = Span::mixed_site();
    match shape {
        Shape::Field { dims, ndim } => {
            let ty = dims.ty;
            match ndim {
                None => want(
                    quote_spanned!(here=> __dlpack::Requirement::Filled(__dlpack::shape::<#ty>().capacity)),
                ),
                Some(_) => want(
                    quote_spanned!(here=> __dlpack::Requirement::Room(__dlpack::shape::<#ty>().capacity)),
                ),
            }
        }
        Shape::List(dims) => {
            let rank = Literal::usize_unsuffixed(dims.len());
            want(quote_spanned!(here=> __dlpack::Requirement::Rank(&[#rank])));
            for (axis, dim) in dims.iter().enumerate() {
                let number = Literal::usize_unsuffixed(axis);
                match dim {
                    Dim::Integer(value, span) => {
                        let mut value = Literal::i64_unsuffixed(*value);
                        value.set_span(here.located_at(*span));
                        want(
                            quote_spanned!(here=> __dlpack::Requirement::Dimension(#number, __dlpack::Option::Some(#value))),
                        );
                    }
                    Dim::Constant(path) => {
                        let at = here.located_at(path.span());
                        let path = quote_spanned!(at=> __dlpack::integer(#path));
                        want(
                            quote_spanned!(at=> __dlpack::Requirement::Dimension(#number, __dlpack::constant(&#path))),
                        );
                    }
                    // `check` rejects a method in an import.
                    Dim::Method(_) | Dim::Any => {}
                    Dim::Field(field, _) => {
                        let same = |dim: &Dim<'_>| matches!(dim, Dim::Field(other, _) if other.member == field.member);
                        let first = dims.iter().position(same).filter(|first| *first < axis);
                        if let Some(first) = first.map(Literal::usize_unsuffixed) {
                            want(
                                quote_spanned!(here=> __dlpack::Requirement::Equal(#first, #number)),
                            );
                        }
                    }
                }
            }
        }
    }
}

/// The constant of `dlpack_traits` for an order.
pub(super) fn order_of(order: &Order<'_>) -> TokenStream {
    let order = local(match order {
        Order::Default | Order::RowMajor => "ROW_MAJOR",
        Order::ColumnMajor => "COLUMN_MAJOR",
        Order::Field(_) => "ANY_ORDER",
    });
    quote!(__dlpack::#order)
}

/// The requirements of `require(...)`.
pub(super) fn required(require: &Require) -> Vec<TokenStream> {
    let here = Span::mixed_site();
    let Require { devices, dtypes, ranks, contiguous } = require;
    let mut wants = Vec::new();
    if !devices.is_empty() {
        wants.push(quote_spanned!(here=> __dlpack::Requirement::Device(&[#(#devices),*])));
    }
    if !dtypes.is_empty() {
        let dtypes = dtypes.iter().map(|dtype| match dtype {
            ConstDType::Named(word) => quote_spanned!(here=> __dlpack::DataType::#word),
            ConstDType::Path(path) => quote!(#path),
        });
        wants.push(quote_spanned!(here=> __dlpack::Requirement::DType(&[#(#dtypes),*])));
    }
    if !ranks.is_empty() {
        wants.push(quote_spanned!(here=> __dlpack::Requirement::Rank(&[#(#ranks),*])));
    }
    if let Some(order) = contiguous {
        let order = order_of(match order {
            ConstOrder::RowMajor => &Order::RowMajor,
            ConstOrder::ColumnMajor => &Order::ColumnMajor,
        });
        wants.push(quote_spanned!(here=> __dlpack::Requirement::Contiguous(#order)));
    }
    wants
}
