//! The requirements of an imported struct on a tensor.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::tokens::{constant, dtype, local};
use crate::attr::{ConstOrder, Require};
use crate::attributes::Unit;
use crate::model::{Given, Layout, Placement, Shape, Steps};

/// A requirement, by the name of its variant.
fn requirement(name: &str, argument: &TokenStream) -> TokenStream {
    let name = local(name);
    quote_spanned!(Span::mixed_site()=> __dlpack::Requirement::#name(#argument))
}

/// The requirements of the roles.
pub(super) fn wants_of_layout(layout: &Layout<'_>, copy: bool) -> Vec<TokenStream> {
    let mut wants = wants_beside_strides(layout, copy);
    wants.extend(listed_strides(layout, copy));
    if copy {
        return wants;
    }
    let offset_known = match &layout.placement {
        Placement::Nested(_) => true,
        Placement::Fields { steps, offset, .. } => {
            if let Steps::Compact { order, pitch } = steps {
                let name = if pitch.is_some() { "Pitched" } else { "Compact" };
                wants.push(requirement(name, &order_of(*order)));
            }
            offset.is_some()
        }
    };
    if !offset_known || layout.len.is_some() {
        let here = Span::mixed_site();
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
    if let Shape::Whole { .. } = shape {
        let rank = Literal::usize_unsuffixed(list.len());
        wants.push(requirement("Rank", &quote!(&[#rank])));
    }
    let place = if copy {
        let order = order_of_copy(layout);
        quote_spanned!(here=> __dlpack::Option::Some(#order))
    } else {
        quote_spanned!(here=> __dlpack::Option::None)
    };
    let unit = stride_unit(*unit);
    let constants = list.iter().enumerate().filter_map(|(axis, stride)| {
        let (axis, needed) = (Literal::usize_unsuffixed(axis), constant(*stride)?);
        Some(quote_spanned!(here=> (#axis, #needed)))
    });
    let constants: Vec<_> = constants.collect();
    if !constants.is_empty() {
        wants.push(requirement("Strides", &quote!(#unit, &[#(#constants),*], #place)));
    }
    wants
}

pub(super) fn stride_unit(unit: Unit) -> TokenStream {
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
    if let Some(Given::Constant(dtype)) = layout.dtype {
        wants.push(requirement("DType", &quote!(&[#dtype])));
    }
    if layout.padded {
        wants.push(requirement("Padded", &quote!(true)));
    } else if copy && layout.dtype.is_some() {
        wants.push(requirement("Packed", &order_of_copy(layout)));
    }
    match &layout.placement {
        Placement::Nested(field) => {
            let ty = field.ty;
            let accepts = quote_spanned!(here=> __dlpack::layout::<#ty>().accepts);
            wants.push(requirement("Layout", &quote!(#accepts, #copy)));
        }
        Placement::Fields { shape: Shape::Whole { dims, ndim }, .. } => {
            // A constant list is compared when the fields are made, and a converted one is made.
            let dims = dims.field().filter(|dims| dims.with().is_none());
            let Some(dims) = dims else { return wants };
            let (ty, name) = (dims.ty, if ndim.is_some() { "Room" } else { "Filled" });
            let capacity = quote_spanned!(here=> __dlpack::shape::<#ty>().capacity);
            wants.push(requirement(name, &capacity));
        }
        Placement::Fields { shape: Shape::List(dims), .. } => {
            let rank = Literal::usize_unsuffixed(dims.len());
            wants.push(requirement("Rank", &quote!(&[#rank])));
            let dims = dims.iter().enumerate();
            wants.extend(dims.clone().filter_map(|(axis, dim)| {
                let number = Literal::usize_unsuffixed(axis);
                let Some(field) = dim.field() else {
                    let needed = constant(*dim)?;
                    return Some(requirement("Dimension", &quote!(#number, #needed)));
                };
                // A field may be listed twice.
                let is_same =
                    |dim: &Given<'_>| dim.field().is_some_and(|other| other.member == field.member);
                let first = dims.clone().find(|(_, dim)| is_same(dim)).map(|(first, _)| first);
                let first = Literal::usize_unsuffixed(first.filter(|first| *first < axis)?);
                Some(requirement("Equal", &quote!(#first, #number)))
            }));
        }
    }
    wants
}

/// The order in which a copy is made for that layout.
pub(super) fn order_of_copy(layout: &Layout<'_>) -> TokenStream {
    let here = Span::mixed_site();
    match &layout.placement {
        Placement::Nested(field) => {
            let ty = field.ty;
            quote_spanned!(here=> __dlpack::layout::<#ty>().order)
        }
        Placement::Fields {
            steps: Steps::Compact { order: Some(Given::Constant(order)), .. },
            ..
        } => order.to_token_stream(),
        Placement::Fields { steps: Steps::Strides(unit, Given::Constant(list)), .. } => {
            let unit = stride_unit(*unit);
            quote_spanned!(here=> __dlpack::order_of_list(#unit, &#list))
        }
        Placement::Fields { steps: Steps::Listed(unit, list), .. } => {
            let (unit, ends) = (stride_unit(*unit), [list.first(), list.last()].map(wide));
            quote_spanned!(here=> __dlpack::order_of_strides(#unit, #(#ends),*))
        }
        Placement::Fields { .. } => quote_spanned!(here=> __dlpack::Order::RowMajor),
    }
}

/// A listed stride as a constant `Option<i128>`, `None` for a field.
fn wide(stride: Option<&Given<'_>>) -> TokenStream {
    match stride {
        Some(Given::Integer(value, _)) => {
            let value = Literal::i64_unsuffixed(*value);
            quote_spanned!(Span::mixed_site()=> __dlpack::Option::Some(#value))
        }
        Some(Given::Constant(path)) => {
            let at = Span::mixed_site().located_at(path.span());
            quote_spanned!(at=> __dlpack::Option::Some(__dlpack::integer(#path) as _))
        }
        Some(Given::Field(..) | Given::Call(_) | Given::Any) | None => {
            quote_spanned!(Span::mixed_site()=> __dlpack::Option::None)
        }
    }
}

/// The order of the axes beside a pitch.
pub(super) fn order_of_pitch(layout: &Layout<'_>) -> TokenStream {
    match &layout.placement {
        Placement::Fields { steps: Steps::Compact { order, .. }, .. } => order_of(*order),
        Placement::Fields { .. } | Placement::Nested(_) => order_of(None),
    }
}

/// An order as an `Option`, which is `None` if either will do.
fn order_of(order: Option<Given<'_>>) -> TokenStream {
    match order {
        None => quote!(__dlpack::ROW_MAJOR),
        Some(Given::Constant(order)) => quote!(__dlpack::Option::Some(#order)),
        Some(_) => quote!(__dlpack::ANY_ORDER),
    }
}

/// The requirements of `require(...)`.
pub(super) fn required(require: &Require) -> Vec<TokenStream> {
    let Require { devices, dtypes, ranks, contiguous } = require;
    let mut wants = Vec::new();
    if !devices.is_empty() {
        wants.push(requirement("Device", &quote!(&[#(#devices),*])));
    }
    if !dtypes.is_empty() {
        let dtypes = dtypes.iter().map(dtype);
        wants.push(requirement("DType", &quote!(&[#(#dtypes),*])));
    }
    if !ranks.is_empty() {
        wants.push(requirement("Rank", &quote!(&[#(#ranks),*])));
    }
    if let Some(order) = contiguous {
        let order = local(match order {
            ConstOrder::RowMajor => "ROW_MAJOR",
            ConstOrder::ColumnMajor => "COLUMN_MAJOR",
        });
        wants.push(requirement("Contiguous", &quote!(__dlpack::#order)));
    }
    wants
}
