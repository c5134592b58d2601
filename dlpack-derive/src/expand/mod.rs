//! Writes a `Model` down as Rust.
//!
//! The tokens wear spans of their own, so that lints leave them alone; only
//! field names and types keep the user's spans, for errors to point at. No
//! token is `unsafe`.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Path, Type};

use crate::bounds::{self, Params};
use crate::model::{Access, ConstDim, Model, RoleField, Shape};

/// The impls for a struct, in a scope of their own.
pub(crate) fn expand(model: &Model<'_>) -> TokenStream {
    let private = private(model.krate);
    let roles = roles(model);
    let constant_shape = constant_shape(model);
    let export = export(model);
    let asserts = asserts(model);
    let allowed = &model.allowed;
    quote! {
        #(#[allow(#allowed)])*
        const _: () = {
            use #private as __dlpack;
            enum __Roles {}
            #roles
            #constant_shape
            #export
            #asserts
        };
    }
}

/// The module that expansions use.
pub(crate) fn private(krate: Option<&Path>) -> TokenStream {
    let krate = krate.map_or_else(|| quote!(::dlpack_traits), |path| quote!(#path));
    quote!(#krate::__private)
}

/// The types of the roles. Their bounds are checked here, once for each role.
fn roles(model: &Model<'_>) -> TokenStream {
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let data = model.data.ty;
    let shape = match &model.shape {
        Shape::Field(field) => field.ty.to_token_stream(),
        Shape::Constant(dims) => {
            let rank = Literal::usize_unsuffixed(dims.len());
            quote!([__dlpack::i64; #rank])
        }
    };
    let absent = quote!(__dlpack::Absent);
    let optional = |field: Option<RoleField<'_>>| {
        field.map_or(absent.clone(), |field| field.ty.to_token_stream())
    };
    let strides = optional(model.strides);
    let byte_offset = optional(model.byte_offset);
    let dtype = optional(model.dtype);
    let device = optional(model.device);
    quote! {
        #[automatically_derived]
        impl #params __dlpack::Roles<__Roles> for #ident #args #where_clause {
            type Data = #data;
            type Shape = #shape;
            type Strides = #strides;
            type ByteOffset = #byte_offset;
            type DType = #dtype;
            type Device = #device;
        }
    }
}

/// A shape that is constant, computed once.
fn constant_shape(model: &Model<'_>) -> Option<TokenStream> {
    let Shape::Constant(dims) = &model.shape else { return None };
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let rank = Literal::usize_unsuffixed(dims.len());
    let dims = dims.iter().map(dim);
    Some(quote! {
        #[automatically_derived]
        impl #params __dlpack::ConstantShape<__Roles> for #ident #args #where_clause {
            const SHAPE: [__dlpack::i64; #rank] = [#(#dims),*];
        }
    })
}

/// One dimension of a constant shape, as an `i64`.
fn dim(dim: &ConstDim) -> TokenStream {
    match dim {
        ConstDim::Integer(value, span) => {
            let mut literal = Literal::i64_unsuffixed(*value);
            literal.set_span(Span::mixed_site().located_at(*span));
            literal.into_token_stream()
        }
        ConstDim::Constant(path) => {
            let here = Span::mixed_site().located_at(path.span());
            quote_spanned!(here=> __dlpack::dim(__dlpack::integer(#path) as _))
        }
    }
}

/// The trait. Each method borrows the fields that it uses and nothing else.
fn export(model: &Model<'_>) -> TokenStream {
    let ident = model.ident;
    let (params, args, _) = model.generics.split_for_impl();
    let where_clause = bounds::where_clause(model);
    let data = model.data.ident;
    let layout = layout(model);
    let (tensor, lend) = match model.access {
        Access::AsStorage => {
            let lend = quote_spanned! {Span::mixed_site()=>
                #[inline]
                fn lend(&mut self) -> __dlpack::Result<__dlpack::Lend<'_>, __dlpack::Error> {
                    __dlpack::lend::<__Roles, Self>(&mut self.#data, #layout)
                }
            };
            (quote!(tensor), Some(lend))
        }
        Access::ReadOnly => (quote!(read_only_tensor), None),
    };
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl #params __dlpack::DLPackExport for #ident #args #where_clause {
            #[inline]
            fn tensor(&self) -> __dlpack::Result<__dlpack::TensorView<'_>, __dlpack::Error> {
                __dlpack::#tensor::<__Roles, Self>(&self.#data, #layout)
            }
            #lend
            #[inline]
            fn hand_off(
                &self,
                consumer: __dlpack::StreamArg<'_>,
            ) -> __dlpack::Result<(), __dlpack::Error> {
                __dlpack::hand_off::<__Roles, Self>(&self.#data, consumer)
            }
            #[inline]
            fn share(&self) -> __dlpack::Option<__dlpack::SharedOwner> {
                __dlpack::share::<__Roles, Self>(&self.#data)
            }
        }
    }
}

/// The fields that describe the layout, each borrowed on its own.
fn layout(model: &Model<'_>) -> TokenStream {
    let here = Span::mixed_site();
    let field = |field: RoleField<'_>| {
        let ident = field.ident;
        quote_spanned!(here=> &self.#ident)
    };
    let absent = quote_spanned!(here=> &__dlpack::Absent);
    let optional = |role: Option<RoleField<'_>>| role.map_or(absent.clone(), field);
    let shape = match &model.shape {
        Shape::Field(role) => field(*role),
        Shape::Constant(_) => quote_spanned! {here=>
            const { &<Self as __dlpack::ConstantShape<__Roles>>::SHAPE }
        },
    };
    let strides = optional(model.strides);
    let byte_offset = optional(model.byte_offset);
    let dtype = optional(model.dtype);
    let device = optional(model.device);
    quote_spanned! {here=>
        __dlpack::LayoutFields {
            shape: #shape,
            strides: #strides,
            byte_offset: #byte_offset,
            dtype: #dtype,
            device: #device,
        }
    }
}

/// What can be asked of the struct without knowing its parameters.
fn asserts(model: &Model<'_>) -> TokenStream {
    let owned =
        model.owned.iter().map(|ty| quote_spanned!(ty.span()=> __dlpack::assert_owner::<#ty>();));
    let same_rank = same_rank(model);
    quote!(#(#owned)* #same_rank)
}

/// As many strides as dimensions, where the types say how many there are.
fn same_rank(model: &Model<'_>) -> Option<TokenStream> {
    let strides = model.strides?;
    // Errors point at the first argument, and the strides are to blame.
    let here = strides.ty.span();
    let params = Params::of(model.generics);
    let shape_rank = match &model.shape {
        Shape::Field(field) => rank(field.ty, &params, here)?,
        Shape::Constant(dims) => {
            let mut rank = Literal::usize_unsuffixed(dims.len());
            rank.set_span(here);
            rank.into_token_stream()
        }
    };
    let strides_rank = rank(strides.ty, &params, here)?;
    Some(quote_spanned!(here=> __dlpack::assert_same_rank::<#shape_rank, #strides_rank>();))
}

/// The length of an array type as a generic argument, if it depends on no
/// parameter.
fn rank(ty: &Type, params: &Params<'_>, here: Span) -> Option<TokenStream> {
    match ty {
        Type::Array(array) if !params.reach(&array.len) => Some(match &array.len {
            Expr::Lit(len) => {
                let mut len = len.lit.clone();
                len.set_span(here);
                len.into_token_stream()
            }
            len => quote_spanned!(Span::mixed_site().located_at(here)=> { #len }),
        }),
        Type::Group(group) => rank(&group.elem, params, here),
        _ => None,
    }
}
