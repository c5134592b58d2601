//! `#[derive(DLPackExport)]`: the macro behind `dlpack_traits::DLPackExport`.
//!
//! Depend on `dlpack-traits` with its feature `derive`, not on this crate.
//!
//! The way of a struct through this crate: `attr` reads its attributes, `ast`
//! its fields, `check` makes a `Model` of them or says what is wrong, and
//! `expand` writes the model down. `expand` cannot fail.

#![forbid(unsafe_code)]

mod ast;
mod attr;
mod bounds;
mod check;
mod ctxt;
mod expand;
mod fallback;
#[cfg(test)]
mod golden;
mod message;
mod meta;
mod model;
mod similar;
mod symbol;

use proc_macro::TokenStream;
use syn::DeriveInput;

/// Makes a struct with named fields a tensor that DLPack can export.
///
/// ```
/// use dlpack_traits::DLPackExport;
///
/// #[derive(DLPackExport)]
/// struct Image {
///     data: Vec<u8>,
///     shape: [usize; 3],
/// }
///
/// let image = Image { data: vec![0; 12], shape: [2, 2, 3] };
/// assert_eq!(image.tensor()?.shape(), [2, 2, 3]);
/// let tensor = image.into_dlpack()?; // moved, not copied
/// assert_eq!(tensor.ndim(), 3);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// # Roles
///
/// A field has the role that its attribute names; without an attribute it has
/// the role that it is named after. Where one field has a role by attribute
/// and another one by name, the attribute wins.
///
/// | on a field | what the field holds | type |
/// |---|---|---|
/// | `#[dlpack(data)]` | the elements; required | any `Storage`: `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[T; N]`, `&[T]`, `SharedBuffer<T>`, ... |
/// | `#[dlpack(shape)]` | the size of each dimension; required, here or on the struct | a list of integers: `[usize; 3]`, `Vec<i64>`, ... |
/// | `#[dlpack(strides)]` | the step of each dimension, in **elements**; absent means row-major | a list of integers |
/// | `#[dlpack(byte_offset)]` | **bytes** between the start of `data` and the first element | an integer |
/// | `#[dlpack(dtype)]` | the element type of byte storage (`u8`); checked | `DataType`, or `Into<DataType>` and `Clone` |
/// | `#[dlpack(device)]` | the device, which must be that of `data`; checked | `Device`, or `Into<Device>` and `Clone` |
/// | `#[dlpack(skip)]` | nothing that concerns DLPack, whatever the field's name and type | any |
///
/// | on the struct | meaning |
/// |---|---|
/// | `#[dlpack(shape = [3, 224, Self::WIDTH])]` | the shape of every value: integers and named constants |
/// | `#[dlpack(read_only)]` | consumers may never write, whatever the storage allows |
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// Whether a consumer may write otherwise depends on the storage alone; see
/// the trait.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, Element};
///
/// /// Every second row of a matrix that others hold too.
/// #[derive(DLPackExport)]
/// struct EvenRows<T: Element> {
///     #[dlpack(data)]
///     matrix: Arc<[T]>,
///     shape: [usize; 2],
///     strides: [isize; 2],
/// }
///
/// let rows = EvenRows { matrix: Arc::from([1, 2, 3, 4, 5, 6]), shape: [2, 2], strides: [4, 1] };
/// let tensor = rows.to_dlpack()?; // shared, not copied
/// assert_eq!(tensor.strides(), [4, 1]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// # What it refuses
///
/// Each field must be `Send + 'static`, because the consumer drops the struct
/// on a thread of its choice. Where that is so by an `unsafe impl Send` of
/// yours, mark the field `#[dlpack(skip)]`. A struct with lifetimes gets the
/// trait too, and can be viewed but not exported.
///
/// Shapes, strides, offsets, types and devices are values that are checked
/// against the storage at each export. A wrong one is an `Error`.
#[proc_macro_derive(DLPackExport, attributes(dlpack))]
pub fn derive_dlpack_export(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

/// The derive on the tokens of `proc_macro2`, which exist outside of rustc too.
fn derive(input: &DeriveInput) -> proc_macro2::TokenStream {
    let cx = ctxt::Ctxt::new();
    let attrs = attr::StructAttrs::from_syn(&cx, input);
    let model = ast::Input::from_syn(&cx, input).and_then(|ast| check::check(&cx, &ast, &attrs));
    match cx.finish(model) {
        Ok(model) => expand::expand(&model),
        Err(errors) => fallback::expand(input, attrs.krate(), &errors),
    }
}
