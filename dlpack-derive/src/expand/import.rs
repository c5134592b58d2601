//! Structs and enums that are imported from a tensor.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::asserts;
use super::requirements::{
    order_of_copy, order_of_pitch, required, stride_unit, wants_beside_strides, wants_of_layout,
};
use super::tokens::{arms_by_index, computed, constant, filled, implementation, local, or_return};
use crate::ast::Field;
use crate::attributes::{Role, Unit};
use crate::bounds;
use crate::model::{Beside, Given, Import, ImportVariant, Layout, Make, Source};

/// The impl for a struct or an enum.
pub(crate) fn import(model: &Import<'_>) -> TokenStream {
    let name = Literal::string(&model.ident.unraw().to_string());
    let required = model.require.map(required).unwrap_or_default();
    let (bodies, required) = match &model.source {
        // Its own list of requirements begins with these.
        Source::Tensor { layout, data, copy, make } => {
            (tensor(&name, &required, layout, data, *copy, make), Vec::new())
        }
        Source::Transparent { inner, make } => (transparent(inner, make), required),
        Source::Enum(variants) => (enumerated(&name, variants), required),
    };
    let Bodies { mut accepts, mut first, value, copies } = bodies;
    let here = Span::mixed_site();
    if !required.is_empty() {
        let check = |tensor: TokenStream| {
            or_return(&quote_spanned!(here=> __dlpack::accepts(#tensor, #name, &[#(#required),*])))
        };
        let borrowed = check(quote_spanned!(here=> __tensor));
        let owned = check(quote_spanned!(here=> &__tensor));
        (accepts, first) = (quote!(#borrowed #accepts), quote!(#owned #first));
    }
    let value = match model.validate {
        None => value,
        Some(path) => {
            quote_spanned!(here.located_at(path.span())=> __dlpack::validated(#value, #path))
        }
    };
    let ident = model.ident;
    let unmarked = match &model.source {
        Source::Tensor { layout, .. } => asserts::unmarked_fields(ident, model.generics, layout),
        Source::Transparent { .. } | Source::Enum(_) => TokenStream::new(),
    };
    let where_clause = bounds::where_import(model);
    let items = quote_spanned! {here=>
        #copies
        #[doc(hidden)]
        fn accepts(
            __tensor: &__dlpack::ImportedTensor,
        ) -> __dlpack::Result<(), __dlpack::ImportError> { #accepts }
        #[doc(hidden)]
        fn from_dlpack(
            __tensor: __dlpack::ImportedTensor,
        ) -> __dlpack::Result<Self, __dlpack::ImportError> {
            #first
            #value
        }
    };
    let item = implementation("DLPackImport", ident, model.generics, &where_clause, &items);
    quote!(#unmarked #item)
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
    data: &Field<'_>,
    copy: bool,
    how: &Make<'_>,
) -> Bodies {
    let here = Span::mixed_site();
    let ty = data.ty;
    let function = local(match (copy, layout.dtype) {
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
    let stated = stated(layout, &quote_spanned!(here=> &__parts));
    let accepts = if parts.is_empty() && stated.is_empty() {
        quote_spanned!(here=> __dlpack::accepts(__tensor, #name, &[#(#wants),*]))
    } else {
        let begun = checked(&quote_spanned!(here=> __tensor));
        let made = parts.iter().map(|(_, made)| made);
        quote_spanned! {here=>
            let __parts = #begun;
            #stated
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
            #stated
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
) -> Vec<(&'a Field<'a>, TokenStream)> {
    let here = Span::mixed_site();
    let mut made: Vec<(&'a Field<'a>, TokenStream)> = Vec::new();
    let has_spare = layout.parts().iter().any(|part| part.role == Role::NDim);
    let room = local(if has_spare { "Spare" } else { "Filled" });
    let room = quote_spanned!(here=> __dlpack::Room::#room);
    for part in layout.parts() {
        let Some(field) = part.given.field() else { continue };
        // A field may be listed twice.
        if made.iter().any(|(other, _)| other.member == field.member) {
            continue;
        }
        let (ty, function) = (field.ty, local(&part.function()));
        let argument = match (part.role, part.axis.map(Literal::usize_unsuffixed)) {
            (Role::Shape, Some(axis)) => quote!(, #axis),
            (Role::Strides, Some(axis)) => {
                let order = order_of_copy(layout);
                quote_spanned!(here=> , (#axis, #order))
            }
            (Role::Strides, None) => quote!(, #room),
            (Role::Shape, None) if field.with().is_some() => quote!(, #room),
            (Role::Pitch, _) => {
                let order = order_of_pitch(layout);
                quote!(, #order)
            }
            _ => TokenStream::new(),
        };
        // The maker of these also has a requirement.
        let value = if let Some(path) = field.made_with() {
            let at = here.located_at(path.span());
            let mut function = if part.role == Role::Shape { local("dims") } else { function };
            function.set_span(at);
            let value = quote_spanned!(at=> __dlpack::#function(#tensor #argument));
            quote_spanned!(at=> __dlpack::made_with::<#ty, _, _>(#value, #path))
        } else if let (Role::Shape | Role::Layout, None) = (part.role, part.axis) {
            quote_spanned!(here=> (__dlpack::#function::<#ty>().make)(#tensor))
        } else {
            quote_spanned!(here=> __dlpack::#function::<#ty>(#tensor #argument))
        };
        made.push((field, or_return(&value)));
    }
    made
}

/// Statements that compare the constants of the layout, except those that are requirements, with
/// the tensor.
pub(super) fn stated(layout: &Layout<'_>, tensor: &TokenStream) -> TokenStream {
    let here = Span::mixed_site();
    let mut checks = TokenStream::new();
    for part in layout.parts().into_iter().filter(|part| part.axis.is_none()) {
        if !matches!(part.given, Given::Constant(_) | Given::Integer(..)) {
            continue;
        }
        let (value, unit) = (computed(part.given), stride_unit(part.unit));
        let (function, needed) = (local(&part.function()), constant(part.given));
        let in_bytes = part.unit == Unit::Bytes;
        // An error about the type points to the constant.
        let here = here.located_at(part.given.span());
        let number = |name| {
            let name = local(name);
            quote_spanned! {here=>
                __dlpack::stated(
                    #tensor,
                    (__dlpack::MetadataField::#name, #in_bytes),
                    __dlpack::#function(#tensor),
                    #needed,
                )
            }
        };
        let check = match part.role {
            Role::Shape => quote_spanned!(here=> __dlpack::stated_shape(#tensor, &#value)),
            Role::Strides => {
                let order = order_of_copy(layout);
                quote_spanned!(here=> __dlpack::stated_strides(#tensor, #unit, &#value, #order))
            }
            Role::Device => quote_spanned!(here=> __dlpack::stated_device(#tensor, #value)),
            Role::Pitch => {
                let order = order_of_pitch(layout);
                let found = quote_spanned!(here=> __dlpack::#function(#tensor, #order));
                quote_spanned! {here=>
                    __dlpack::stated_pitch(#tensor, #in_bytes, #order, #found, #needed)
                }
            }
            Role::Offset => number("Offset"),
            Role::Len => number("Len"),
            Role::NDim => number("Rank"),
            _ => continue,
        };
        let check = or_return(&check);
        checks.extend(quote_spanned!(here=> let () = #check;));
    }
    checks
}

/// The struct, made from its parts and the other fields: statements and a `Result`. The
/// last part is the one that moves the tensor.
pub(super) fn made_of(
    how: &Make<'_>,
    parts: &[(&Field<'_>, TokenStream)],
) -> (TokenStream, TokenStream) {
    let here = Span::mixed_site();
    match how {
        Make::Fields(others) => {
            let others = others.iter().map(|(field, beside)| {
                let (member, value) = (&field.member, beside_value(field.ty, beside));
                quote_spanned!(here=> #member: #value)
            });
            let parts = parts.iter().map(|(field, value)| {
                let member = &field.member;
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
                let name = name(&field.member);
                quote_spanned!(here=> let #name = #value;)
            });
            let arguments = order.iter().map(|field| name(&field.member));
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

fn transparent(inner: &Field<'_>, how: &Make<'_>) -> Bodies {
    let (here, ty) = (Span::mixed_site(), inner.ty);
    let value =
        or_return(&quote_spanned!(here=> <#ty as __dlpack::DLPackImport>::from_dlpack(__tensor)));
    let (first, value) = made_of(how, &[(inner, value)]);
    Bodies {
        accepts: quote_spanned!(here=> <#ty as __dlpack::DLPackImport>::accepts(__tensor)),
        first,
        value,
        copies: quote_spanned! {here=>
            const COPIES: __dlpack::Copies = <#ty as __dlpack::DLPackImport>::COPIES;
            #[doc(hidden)]
            fn copies(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
                <#ty as __dlpack::DLPackImport>::copies(__tensor)
            }
        },
    }
}

fn enumerated(name: &Literal, variants: &[ImportVariant<'_>]) -> Bodies {
    let here = Span::mixed_site();
    let rows = variants.iter().map(|variant| {
        let (ty, name) = (variant.inner.ty, variant.ident.unraw().to_string());
        quote_spanned!(here=> (#name, <#ty as __dlpack::DLPackImport>::accepts))
    });
    let rows = quote_spanned!(here=> &[#(#rows),*]);
    let values = variants.iter().map(|ImportVariant { ident, inner, beside }| {
        let (member, ty) = (&inner.member, inner.ty);
        let inner = or_return(
            &quote_spanned!(here=> <#ty as __dlpack::DLPackImport>::from_dlpack(__tensor)),
        );
        let mut fields = vec![(member, inner)];
        fields.extend(
            beside.iter().map(|(field, beside)| (&field.member, beside_value(field.ty, beside))),
        );
        filled(&quote_spanned!(here=> Self::#ident), fields)
    });
    let values: Vec<_> = values.collect();
    let arms = arms_by_index(&values);
    let types: Vec<_> = variants.iter().map(|variant| variant.inner.ty).collect();
    let copies = quote_spanned! {here=>
        const COPIES: __dlpack::Copies =
            __dlpack::copies_of_variants(&[#(<#types as __dlpack::DLPackImport>::COPIES),*]);
        #[doc(hidden)]
        fn copies(__tensor: &__dlpack::ImportedTensor) -> __dlpack::bool {
            __dlpack::copies_of_one(__tensor, &[#((
                <#types as __dlpack::DLPackImport>::accepts,
                <#types as __dlpack::DLPackImport>::copies,
            )),*])
        }
    };
    // For a single variant, its own error is reported.
    let (accepts, value) = if let [only] = variants {
        let ty = only.inner.ty;
        let accepts = quote_spanned!(here=> <#ty as __dlpack::DLPackImport>::accepts(__tensor));
        (accepts, quote!(#(#values)*))
    } else {
        let number = quote_spanned!(here=> __dlpack::variant(__tensor, #name, #rows));
        let chosen = or_return(&quote_spanned!(here=> __dlpack::variant(&__tensor, #name, #rows)));
        let value = quote_spanned! {here=>
            match #chosen {
                #arms
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
