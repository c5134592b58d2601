//! Structs and enums that are imported from a tensor.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Type;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::asserts;
use super::requirements::{
    order_of, order_of_copy, required, wants_beside_strides, wants_of_layout,
};
use super::tokens::{filled, local, or_return};
use crate::bounds;
use crate::model::{
    Beside, DType, Import, ImportVariant, Layout, Make, Order, Placement, RoleField, Shape, Source,
    Steps,
};
use crate::symbol::Unit;

/// The impl for a struct or an enum, in its own scope.
pub(crate) fn import(model: &Import<'_>) -> TokenStream {
    let private = super::private(model.krate);
    let name = Literal::string(&model.ident.unraw().to_string());
    let required = model.require.map(required).unwrap_or_default();
    let Bodies { accepts, first, value, copies } = match &model.source {
        Source::Tensor { layout, data, copy, make } => {
            tensor(&name, &required, layout, *data, *copy, make)
        }
        Source::Transparent { inner, make } => transparent(*inner, make),
        Source::Enum(variants) => enumerated(&name, variants),
    };
    let here = Span::mixed_site();
    let (accepts, first) = match &model.source {
        // In the list of its own requirements these are the first ones.
        Source::Tensor { .. } => (accepts, first),
        _ if required.is_empty() => (accepts, first),
        _ => {
            let required = quote_spanned!(here=> &[#(#required),*]);
            let check = |tensor: TokenStream| {
                or_return(&quote_spanned!(here=> __dlpack::accepts(#tensor, #name, #required)))
            };
            let borrowed = check(quote_spanned!(here=> __tensor));
            let owned = check(quote_spanned!(here=> &__tensor));
            (quote!(#borrowed #accepts), quote!(#owned #first))
        }
    };
    let value = match model.validate {
        None => value,
        Some(path) => {
            quote_spanned!(here.located_at(path.span())=> __dlpack::validated(#value, #path))
        }
    };
    let (ident, allowed) = (model.ident, &model.allowed);
    let unmarked = match &model.source {
        Source::Tensor { layout, .. } => asserts::unmarked_fields(ident, model.generics, layout),
        Source::Transparent { .. } | Source::Enum(_) => TokenStream::new(),
    };
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_import(model);
    let item = quote_spanned! {here=>
        #[automatically_derived]
        impl #params __dlpack::DLPackImport for #ident #args #where_clause {
            #copies
            fn accepts(
                __tensor: &__dlpack::ImportedTensor,
            ) -> __dlpack::Result<(), __dlpack::ImportError> {
                #accepts
            }
            fn from_dlpack(
                __tensor: __dlpack::ImportedTensor,
            ) -> __dlpack::Result<Self, __dlpack::ImportError> {
                #first
                #value
            }
        }
    };
    quote! {
        #(#[allow(#allowed)])*
        const _: () = {
            use #private::import as __dlpack;
            #unmarked
            #item
        };
    }
}

/// The bodies of the two methods. The second body is statements and a `Result`.
struct Bodies {
    accepts: TokenStream,
    first: TokenStream,
    value: TokenStream,
    /// The constant and the method that tell whether elements are copied; empty if they are
    /// not.
    copies: TokenStream,
}

/// Both methods check the same requirements, and then make the same fields of the layout: a number
/// may not fit in its field. `accepts` drops these fields.
fn tensor(
    name: &Literal,
    required: &[TokenStream],
    layout: &Layout<'_>,
    data: RoleField<'_>,
    copy: bool,
    how: &Make<'_>,
) -> Bodies {
    let here = Span::mixed_site();
    let ty = data.ty;
    let function = local(match (copy, &layout.dtype) {
        (false, _) => "held",
        (true, None) => "copied",
        (true, Some(_)) => "copied_as",
    });
    let data_of = quote_spanned!(here=> __dlpack::#function::<#ty>());
    let mut wants = required.to_vec();
    wants.push(quote!(#data_of.want));
    if copy || !layout.is_only_a_shape() {
        wants.extend(wants_of_layout(layout, copy));
    } else {
        wants.extend(wants_beside_strides(layout, copy));
        wants.push(quote!(#data_of.kept));
    }
    let order = copy.then(|| order_of_copy(layout));
    let checked = |tensor: &TokenStream| {
        let place = if let Some(order) = &order {
            quote_spanned!(here=> #data_of.place(#tensor, #order))
        } else {
            quote_spanned!(here=> #data_of.in_place(#tensor))
        };
        or_return(&quote_spanned! {here=>
            __dlpack::begin(#tensor, #name, #place, &[#(#wants),*])
        })
    };
    let begun = checked(&quote_spanned!(here=> &__tensor));
    let mut parts = parts(layout, &quote_spanned!(here=> &__parts));
    let accepts = if parts.is_empty() {
        quote_spanned!(here=> __dlpack::accepts(__tensor, #name, &[#(#wants),*]))
    } else {
        let begun = checked(&quote_spanned!(here=> __tensor));
        let made = parts.iter().map(|(_, made)| made);
        quote_spanned! {here=>
            let __parts = #begun;
            #(let _ = #made;)*
            __dlpack::Ok(())
        }
    };
    // The other fields borrow the tensor, the data may move it.
    let held = or_return(&quote_spanned!(here=> (#data_of.make)(__parts.place, __tensor)));
    parts.push((data, held));
    let (lets, value) = made_of(how, &parts);
    Bodies {
        accepts,
        first: quote_spanned! {here=>
            let __parts = #begun;
            #lets
        },
        value,
        copies: if copy {
            quote_spanned!(here=> const COPIES: __dlpack::Copies = __dlpack::Copies::Always;)
        } else {
            TokenStream::new()
        },
    }
}

/// The fields of the layout, each with an expression for its value, made from a reference
/// to the parts of the tensor.
pub(super) fn parts<'a>(
    layout: &Layout<'a>,
    tensor: &TokenStream,
) -> Vec<(RoleField<'a>, TokenStream)> {
    let here = Span::mixed_site();
    let mut parts: Vec<(RoleField<'a>, TokenStream)> = Vec::new();
    // The fields whose maker also has a requirement.
    let needy = match &layout.placement {
        Placement::Nested(field) => Some((*field, local("layout"))),
        Placement::Fields { shape: Shape::Field { dims, .. }, .. } => Some((*dims, local("shape"))),
        Placement::Fields { shape: Shape::List(_), .. } => None,
    };
    parts.extend(needy.map(|(field, function)| {
        let ty = field.ty;
        (field, or_return(&quote_spanned!(here=> (__dlpack::#function::<#ty>().make)(#tensor))))
    }));
    let mut add = |field: RoleField<'a>, function: &str, argument: Option<TokenStream>| {
        // A field may be listed twice.
        if parts.iter().all(|(part, _)| part.member != field.member) {
            let (ty, function) = (field.ty, local(function));
            let argument = argument.map(|argument| quote!(, #argument));
            parts.push((
                field,
                or_return(&quote_spanned!(here=> __dlpack::#function::<#ty>(#tensor #argument))),
            ));
        }
    };
    let by_unit = |unit, elements, bytes| match unit {
        Unit::Elements => elements,
        Unit::Bytes => bytes,
    };
    match &layout.placement {
        Placement::Nested(_) => {}
        Placement::Fields { shape, steps, offset } => {
            match shape {
                Shape::Field { ndim, .. } => {
                    if let Some(ndim) = ndim {
                        add(*ndim, "ndim", None);
                    }
                }
                Shape::List(dims) => {
                    for (axis, dim) in dims.iter().enumerate() {
                        if let Some(field) = dim.field() {
                            let axis = Literal::usize_unsuffixed(axis);
                            add(field, "extent", Some(axis.into_token_stream()));
                        }
                    }
                }
            }
            match steps {
                Steps::Strides(unit, field) => {
                    let spare = matches!(shape, Shape::Field { ndim: Some(_), .. });
                    let room = local(if spare { "SPARE" } else { "FILLED" });
                    let room = quote_spanned!(here=> __dlpack::#room);
                    add(*field, by_unit(*unit, "strides", "byte_strides"), Some(room));
                }
                Steps::Listed(unit, list) => {
                    let function = by_unit(*unit, "stride", "byte_stride");
                    let order = order_of_copy(layout);
                    for (axis, stride) in list.iter().enumerate() {
                        if let Some(field) = stride.field() {
                            let axis = Literal::usize_unsuffixed(axis);
                            add(field, function, Some(quote_spanned!(here=> (#axis, #order))));
                        }
                    }
                }
                Steps::Compact { order, pitch } => {
                    if let Order::Field(field) = order {
                        add(*field, "order", None);
                    }
                    if let Some((unit, field)) = pitch {
                        add(*field, by_unit(*unit, "pitch", "byte_pitch"), Some(order_of(order)));
                    }
                }
            }
            if let Some((unit, field)) = offset {
                add(*field, by_unit(*unit, "offset", "byte_offset"), None);
            }
        }
    }
    if let Some((unit, field)) = layout.len {
        add(field, by_unit(unit, "len", "byte_len"), None);
    }
    if let Some(DType::Field(field)) = layout.dtype {
        add(field, "dtype", None);
    }
    if let Some(field) = layout.device {
        add(field, "device", None);
    }
    parts
}

/// The struct, made from its parts and the other fields: statements and a `Result`. The
/// last part is the one that moves the tensor.
pub(super) fn made_of(
    how: &Make<'_>,
    parts: &[(RoleField<'_>, TokenStream)],
) -> (TokenStream, TokenStream) {
    let here = Span::mixed_site();
    match how {
        Make::Fields(others) => {
            let others = others.iter().map(|(field, beside)| {
                let (member, value) = (field.member, beside_value(field.ty, beside));
                quote_spanned!(here=> #member: #value)
            });
            let parts = parts.iter().map(|(field, value)| {
                let member = field.member;
                quote_spanned!(here=> #member: #value)
            });
            let fields = parts.chain(others);
            let value = quote_spanned!(here=> __dlpack::Ok(Self { #(#fields),* }));
            (TokenStream::new(), value)
        }
        Make::Call(path, order) => {
            let name = |member: &syn::Member| match member {
                syn::Member::Named(ident) => {
                    Ident::new(&format!("__field_{}", ident.unraw()), Span::mixed_site())
                }
                syn::Member::Unnamed(index) => local(&format!("__field_{}", index.index)),
            };
            let lets = parts.iter().map(|(field, value)| {
                let name = name(field.member);
                quote_spanned!(here=> let #name = #value;)
            });
            let arguments = order.iter().map(|field| name(field.member));
            let at = here.located_at(path.span());
            let called = quote_spanned!(at=> #path(#(#arguments),*));
            (quote!(#(#lets)*), quote_spanned!(here=> __dlpack::constructed(#called)))
        }
    }
}

fn beside_value(ty: &Type, beside: &Beside<'_>) -> TokenStream {
    match beside {
        Beside::Default => {
            quote_spanned!(Span::mixed_site()=> <#ty as __dlpack::Default>::default())
        }
        Beside::Call(path) => {
            quote_spanned!(Span::mixed_site().located_at(path.span())=> #path())
        }
    }
}

fn transparent(inner: RoleField<'_>, how: &Make<'_>) -> Bodies {
    let (here, ty) = (Span::mixed_site(), inner.ty);
    let value = or_return(&quote_spanned!(here=> __dlpack::inner::<#ty>().of(__tensor)));
    let (first, value) = made_of(how, &[(inner, value)]);
    Bodies {
        accepts: quote_spanned!(here=> (__dlpack::inner::<#ty>().accepts)(__tensor)),
        first,
        value,
        copies: quote_spanned! {here=>
            const COPIES: __dlpack::Copies = __dlpack::inner::<#ty>().copies;
            fn copies(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
                (__dlpack::inner::<#ty>().copies_of)(__tensor)
            }
        },
    }
}

fn enumerated(name: &Literal, variants: &[ImportVariant<'_>]) -> Bodies {
    let here = Span::mixed_site();
    let rows = variants.iter().map(|variant| {
        let (ty, name) = (variant.inner.ty, variant.ident.unraw().to_string());
        quote_spanned!(here=> (#name, __dlpack::inner::<#ty>().accepts))
    });
    let rows = quote_spanned!(here=> &[#(#rows),*]);
    let values = variants.iter().map(|ImportVariant { ident, inner, beside }| {
        let (member, ty) = (inner.member, inner.ty);
        let inner = or_return(&quote_spanned!(here=> __dlpack::inner::<#ty>().of(__tensor)));
        let mut fields = vec![(member, inner)];
        fields.extend(
            beside.iter().map(|(field, beside)| (field.member, beside_value(field.ty, beside))),
        );
        filled(&quote_spanned!(here=> Self::#ident), fields)
    });
    let values: Vec<_> = values.collect();
    let last = values.len().saturating_sub(1);
    let arms = values.iter().enumerate().map(|(number, value)| match number {
        // The index is one of these, so the last arm is `_`.
        number if number == last => quote_spanned!(here=> _ => #value,),
        number => {
            let number = Literal::usize_unsuffixed(number);
            quote_spanned!(here=> #number => #value,)
        }
    });
    let types: Vec<_> = variants.iter().map(|variant| variant.inner.ty).collect();
    let copies = quote_spanned! {here=>
        const COPIES: __dlpack::Copies =
            __dlpack::copies_of_variants(&[#(__dlpack::inner::<#types>().copies),*]);
        fn copies(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
            __dlpack::copies_of_one(__tensor, &[#((
                __dlpack::inner::<#types>().accepts,
                __dlpack::inner::<#types>().copies_of,
            )),*])
        }
    };
    // For a single variant, its own error is reported.
    let (accepts, value) = if let [only] = variants {
        let ty = only.inner.ty;
        let accepts = quote_spanned!(here=> (__dlpack::inner::<#ty>().accepts)(__tensor));
        (accepts, quote!(#(#values)*))
    } else {
        let number = quote_spanned!(here=> __dlpack::variant(__tensor, #name, #rows));
        let chosen = or_return(&quote_spanned!(here=> __dlpack::variant(&__tensor, #name, #rows)));
        let value = quote_spanned! {here=>
            match #chosen {
                #(#arms)*
            }
        };
        (quote_spanned!(here=> #number.map(|_| ())), value)
    };
    Bodies {
        accepts,
        first: TokenStream::new(),
        value: quote_spanned!(here=> __dlpack::Ok(#value)),
        copies,
    }
}
