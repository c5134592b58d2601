//! The derive macros of `dlpack_traits`: `#[derive(DLPackExport)]`,
//! `#[derive(DLPackImport)]`, and the derives for element types, storages and layouts.
//!
//! Depend on `dlpack-traits` with its feature `derive`, not on this crate.
//!
//! Stages: `attr` parses the attributes of a struct and `ast` its fields, `check` validates
//! them and builds a `Model` or reports the errors of `message`, and `expand` generates code from the
//! model. `expand` cannot fail. `derive` calls the stages, and `parts` contains the derives for
//! parts of a tensor.

#![forbid(unsafe_code)]

mod ast;
mod attr;
mod attributes;
mod bounds;
mod check;
mod ctxt;
mod derive;
mod did_you_mean;
mod dtype_names;
mod expand;
mod fallback;
mod hygiene;
mod manifest;
mod message;
mod model;
mod numbers;
mod parts;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Implements `DLPackExport`: the struct becomes a tensor that DLPack can export.
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
/// An attribute on a field sets the role of the field. A field without an attribute has a
/// role if it is named `data`, `shape`, `strides`, `byte_offset`, `dtype` or `device`. If a role
/// is given by an attribute, a second field that merely has the role's name (`shape`) has no role;
/// if it holds integers or `bool`s, mark it `#[dlpack(skip)]`.
///
/// | on a field | what the field holds | type |
/// |---|---|---|
/// | `#[dlpack(data)]` | the elements; required | any `Storage`: `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[T; N]`, `&[T]`, `SharedBuffer<T>`, ... |
/// | `#[dlpack(slice = f32)]` | with `data` or instead of it: the field is borrowed as `&[f32]` (by `AsRef`, `Deref` or `with`); READ_ONLY | any type that is `AsRef<[f32]>` or `Deref<Target = [f32]>`, another crate's too; with `with = path`, any type |
/// | `#[dlpack(shared)]` | with `slice`, or beside the owner of a pointer: a clone owns the same memory, so that `to_dlpack` can export it; each export checks the address of a slice | a type that is `Clone` |
/// | `#[dlpack(shape)]` | the size of each dimension; required, here or on the struct | a list of integers: `[usize; 3]`, `Vec<i64>`, ... |
/// | `#[dlpack(strides)]`, `#[dlpack(strides(elements))]` | the stride of each dimension, in elements; without strides the tensor is contiguous, or has the strides of an `ImportedStorage` | a list of integers |
/// | `#[dlpack(strides(bytes))]` | the stride of each dimension, in bytes | a list of integers |
/// | `#[dlpack(order)]` | which axis of a contiguous tensor is the fastest | `Order`, or `TryInto<Order>` and `Clone` |
/// | `#[dlpack(pitch(elements))]` | the stride of the slowest axis, in elements (the leading dimension), at least the length of a row; the rest is contiguous. An export rejects a smaller pitch: list the strides of rows that overlap above the struct, `strides(hop, 1)` | an integer |
/// | `#[dlpack(pitch(bytes))]` | the same in bytes: a row pitch | an integer |
/// | `#[dlpack(offset(elements))]` | number of elements between the start of `data` and the first element of the tensor | an integer |
/// | `#[dlpack(offset(bytes))]` | the same in bytes | an integer |
/// | `#[dlpack(byte_offset)]` | the same as `offset(bytes)` | an integer |
/// | `#[dlpack(len(elements))]` | number of elements, from the offset on, that belong to the tensor; without it, all of them | an integer |
/// | `#[dlpack(len(bytes))]` | the same in bytes | an integer |
/// | `#[dlpack(ndim)]` | how many entries of `shape` and `strides` are in use | an integer |
/// | `#[dlpack(layout)]` | shape, strides and offset in one field | `AsLayout` |
/// | `#[dlpack(dtype)]` | the element type of byte storage (`u8`); checked | `DataType`, or `TryInto<DataType>` and `Clone` |
/// | `#[dlpack(device)]` | the device, which must be that of `data`; checked | `Device`, or `TryInto<Device>` and `Clone` |
/// | `#[dlpack(with = path)]` | beside `shape`, `strides`, `order`, `dtype`, `device` `slice` or `unsafe(ptr, ..)`: a function that takes a reference to the field and returns the list, the `Order`, `DataType` or `Device` (or a `Result`), the slice, or the pointer | any |
/// | `#[dlpack(sync)]` | the work that fills the data: it is synchronized with the consumer before the tensor is exported | `Synchronize` |
/// | `#[dlpack(unsafe(ptr, len(elements) = size))]` | `data` behind a raw pointer, see [below](#raw-pointers); `size` is a value; or `len(bytes) = size`; `unsafe(mut ptr, ..)` is writable | `*const T`, `*mut T`, `NonNull<T>`; with `with = path`, any owner |
/// | `#[dlpack(owner)]` | the owner that keeps that memory alive | any type that is `Send + 'static` |
/// | `#[dlpack(skip)]` | nothing that concerns DLPack; the derive ignores the name and type of the field | any |
///
/// Every field that holds integers or `bool`s, also in lists, arrays, tuples or options,
/// must have a role or be skipped: a tensor whose layout misses one of its parts would have
/// wrong values. The compiler rejects such a field without a role, and any field whose name
/// denotes part of a layout, such as `row_stride`, whatever its type. It does not look into type
/// parameters, into structs, enums and newtypes, or into aliases and associated types that depend
/// on a parameter of the struct.
///
/// | on the struct | meaning |
/// |---|---|
/// | `#[dlpack(shape(height, Self::WIDTH, 3))]` | the dimensions, each a value: a field, a named constant, an integer, or a call, `shape(self.rows(), self.pixels.width())` |
/// | `#[dlpack(shape = self.0.shape())]` | the list of all dimensions, a value that is a list of integers |
/// | `#[dlpack(strides(hop, 1))]` | the stride of each axis, in elements, each a value as in `shape(..)`; also a negative integer or 0 |
/// | `#[dlpack(strides = self.0.strides())]` | the list of all strides, in elements |
/// | `#[dlpack(byte_strides(row_pitch, 4))]`, `#[dlpack(byte_strides = self.steps())]` | the same in bytes |
/// | `#[dlpack(order = column_major)]` | the first axis is the fastest; with `row_major`, the default, the last axis is; or a value |
/// | `#[dlpack(pitch(bytes) = Self::PITCH)]` | the stride of the slowest axis, a value |
/// | `#[dlpack(offset(elements) = 12)]` | the distance of the first element, a value |
/// | `#[dlpack(len(bytes) = self.size())]` | the length from there on, a value |
/// | `#[dlpack(ndim = self.0.rank())]` | how many entries of the lists are in use, a value |
/// | `#[dlpack(dtype = BF16)]` | the element type of byte storage: a constant of `DataType`, or a value, `dtype = self.0.kind().into()` |
/// | `#[dlpack(device = self.0.device())]` | the device, a value; checked |
/// | `#[dlpack(padded)]` | each element narrower than a byte occupies one byte; without this, such elements are packed |
/// | `#[dlpack(spare_capacity)]` | the storage may have more elements than a contiguous tensor, behind it; without this, that is an error |
/// | `#[dlpack(read_only)]` | the tensor is READ_ONLY, even if the storage allows writing |
/// | `#[dlpack(transparent)]` | exports the tensor of the only field without `skip`, whose type must implement `DLPackExport` |
/// | `#[dlpack(skip(id, timestamp))]` | the same as `skip` on each of these fields; in a tuple struct, field numbers |
/// | `#[dlpack(bound(T: Element))]` | the bounds on type parameters, instead of those that the roles require |
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// A value is a field, a constant by its path, or a call: of methods of `self` and its fields, or of
/// a function, `dtype = to_dtype(&self.0)`. A call for `order`, `dtype` or `device` may return
/// a `Result`. In an import a constant is a requirement, and a call is an error.
///
/// Numbers can be integers of any type. `offset`, `pitch` and `len` must state their unit,
/// `elements` or `bytes`; `strides` without a unit count elements.
///
/// The storage decides whether a consumer may write; see the trait. The tensor is READ_ONLY in any
/// case with `read_only`, with `slice`, over a raw pointer without `mut`, and if elements may overlap. An
/// export makes one allocation, and a second one for more than 8 dimensions; `to_dlpack` makes one more
/// over a raw pointer, and if the storage in the `data` field (of an enum that derives `Storage`: in its
/// variant) is larger than four words.
///
/// If the element type is a type parameter, declare the bound on the struct (`T: Element`).
/// The compiler then names any type that does not satisfy it. Without the bound, it reports at
/// `into_dlpack` that `Vec<T>: Storage` was not satisfied.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, Element};
///
/// /// Every second row of a shared matrix.
/// #[derive(DLPackExport)]
/// #[dlpack(shape(rows, 2))]
/// struct EvenRows<T: Element> {
///     #[dlpack(data)]
///     matrix: Arc<[T]>,
///     rows: u32,
///     #[dlpack(pitch(elements))]
///     step: usize,
/// }
///
/// let rows = EvenRows { matrix: Arc::from([1, 2, 3, 4, 5, 6]), rows: 2, step: 4 };
/// let tensor = rows.to_dlpack()?; // shared, not copied
/// assert_eq!(tensor.strides(), [4, 1]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// # Tuple structs, newtypes, enums
///
/// The fields of a tuple struct have no names, so they need attributes. A newtype around an
/// exportable type is `transparent`. An enum exports the tensor of its current variant.
/// Each variant holds one exportable value, or is marked `#[dlpack(skip)]`: exporting such
/// a variant returns an error that names it.
///
/// ```
/// use dlpack_traits::{DLPackExport, Error};
///
/// #[derive(DLPackExport)]
/// struct Line<T: dlpack_traits::Element>(#[dlpack(data)] Vec<T>, #[dlpack(shape)] [usize; 1]);
///
/// #[derive(DLPackExport)]
/// #[dlpack(transparent)]
/// struct Samples(Line<f32>);
///
/// #[derive(DLPackExport)]
/// enum Column {
///     Float(Samples),
///     Int(Line<i64>),
///     #[dlpack(skip)]
///     Text(Vec<String>),
/// }
///
/// let column = Column::Float(Samples(Line(vec![0.5, 1.5], [2])));
/// assert_eq!(column.tensor()?.shape(), [2]);
/// let text = Column::Text(Vec::new());
/// assert_eq!(text.tensor().unwrap_err(), Error::NoStorage { variant: "Text" });
/// # Ok::<(), Error>(())
/// ```
///
#[doc = include_str!("../docs/pointers.md")]
///
/// # Rejected structs
///
/// `into_dlpack` requires that each field is `Send + 'static`, because the consumer may drop
/// the struct on any thread. If a field is not `Send`, but you wrote an `unsafe impl Send` for the
/// struct, mark the field `#[dlpack(skip)]`. A struct with lifetimes implements the trait too:
/// `tensor` and `copy_to_dlpack` accept it, `into_dlpack` does not. Data behind a lock is rejected,
/// because a consumer may keep the tensor for longer than a lock may be held.
///
/// Shapes, strides, offsets, dtypes and devices are checked against the storage at each
/// export. A wrong value is an `Error`.
#[proc_macro_derive(DLPackExport, attributes(dlpack))]
pub fn derive_dlpack_export(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), derive::export).into()
}

#[doc = include_str!("../docs/import.md")]
#[proc_macro_derive(DLPackImport, attributes(dlpack))]
pub fn derive_dlpack_import(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), derive::import).into()
}

/// Implements `Element` for a newtype: of a number, of a small array, or of several fields
/// of one type.
///
/// ```
/// use dlpack_traits::{DLPackExport, DataType, Element};
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(transparent)]
/// struct Meters(f32);
///
/// #[derive(Clone, Copy, Element)]
/// #[dlpack(any_bits)]
/// #[repr(C)]
/// struct Rgb {
///     r: u8,
///     g: u8,
///     b: u8,
/// }
///
/// #[derive(DLPackExport)]
/// struct Image {
///     data: Vec<Rgb>,
///     shape: [usize; 2],
/// }
///
/// assert_eq!(Meters::DTYPE, DataType::F32);
/// let image = Image { data: vec![Rgb { r: 1, g: 2, b: 3 }; 6], shape: [2, 3] };
/// assert_eq!(image.into_dlpack()?.shape(), [2, 3, 3]); // the last axis is the pixel's
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// The type must be `Copy`, and one of
///
/// | struct | its `DTYPE` and `AXES` |
/// |---|---|
/// | `#[repr(transparent)]` over an element | those of the element |
/// | `#[repr(transparent)]` over an array of elements, also nested | the element's, with the lengths of the arrays in front of its axes |
/// | `#[repr(C)]` with several fields of one type | those of an array of that type, with as many entries as there are fields |
///
/// | on the struct | meaning |
/// |---|---|
/// | `#[dlpack(lanes)]` | the entries of the array are lanes of one element instead of an axis; NumPy rejects more than one lane |
/// | `#[dlpack(any_bits)]` | every bit pattern is a valid value of this type: consumers may write it, and Rust may read what they wrote |
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// | on a field | meaning |
/// |---|---|
/// | `#[dlpack(skip)]` | the field is a `PhantomData`, a `()`, or a `[T; 0]` for its alignment; a field whose type is written `PhantomData` does not need the attribute |
///
/// `any_bits` is not inherited, because a newtype may have a stricter invariant than its
/// field: foreign code could write a negative value to a `NonNegative(f32)`. Without
/// `any_bits`, an export of a `Vec` of these elements is READ_ONLY.
///
/// | with | what the type can be used for |
/// |---|---|
/// | this derive alone | exports |
/// | `any_bits` | imported memory is read (`elements`, `as_slice`), written (`as_mut_slice`) and shared (`SharedBuffer`) as this type: it is `Readable` and `AnyBits` |
/// | an implementation of `bytemuck::CheckedBitPattern`, with `Bits` that are `NoUninit` | imported memory is read as this type, and each value is checked: it is `Readable` |
///
/// # The `unsafe impl`
///
/// The expansion contains an `unsafe impl`, also under `#![forbid(unsafe_code)]`, because
/// safe code cannot state the memory layout of a type. It implements a hidden trait;
/// `dlpack_traits` implements `Element` for every type with that trait. The compiler proves what
/// the impl promises:
///
/// | promise | proof |
/// |---|---|
/// | each field that occupies memory has the type of an element, or of an array of elements, and all have the same type | a function destructures `&mut self` with a pattern without `..`, and returns raw pointers to the fields. The compiler infers their types, so nothing depends on how they are written. Unions, packed structs and fields that another macro added do not match |
/// | any other field is a `PhantomData`, `()` or `[T; 0]` | the same pattern, and a trait that only `dlpack_traits` implements |
/// | there is no padding | `dlpack_traits` compares the size of the struct with the sizes of the fields, in the constant `DTYPE` |
/// | every bit pattern is a valid value | you promise it for the struct with `any_bits`; `dlpack_traits` requires it of the fields, in the constant `ANY_BITS`, which every use of the promise evaluates |
/// | `DTYPE` and `AXES` describe the struct | `dlpack_traits` computes them from the types that the function returns |
///
/// The proof does not depend on what `::dlpack_traits`, `crate = path`, `::core` or a macro
/// of your crate refers to: if the path resolves to another trait, the expansion implements
/// that trait, and the struct is not an element.
#[proc_macro_derive(Element, attributes(dlpack))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), parts::element).into()
}

#[doc = include_str!("../docs/record.md")]
#[proc_macro_derive(Record, attributes(dlpack))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), parts::record).into()
}

/// Implements the conversions between an enum of element types and `DataType`.
///
/// ```
/// use dlpack_traits::{DataType, Error};
///
/// #[derive(Clone, Copy, Debug, PartialEq, DataType)]
/// enum Kind {
///     U8,
///     Float32,
///     BF16,
///     #[dlpack(dtype = FLOAT8_E4M3FN)]
///     F8E4M3,
///     #[dlpack(dtype = F32, big_endian)]
///     F32Be,
///     #[dlpack(skip)]
///     Text,
/// }
///
/// assert_eq!(DataType::try_from(Kind::F8E4M3), Ok(DataType::FLOAT8_E4M3FN));
/// assert_eq!(Kind::try_from(DataType::F32), Ok(Kind::Float32));
/// assert_eq!(DataType::try_from(Kind::Text), Err(Error::NoDType { variant: "Text" }));
/// assert_eq!(Kind::try_from(DataType::I8), Err(Error::NoVariant { dtype: DataType::I8 }));
/// ```
///
/// If the enum is `Clone`, it can be the type of a `dtype` field.
///
/// | on a variant | meaning |
/// |---|---|
/// | no attribute | the name of the variant selects the type: see below |
/// | `#[dlpack(dtype = FLOAT8_E4M3FN)]` | a constant of `DataType` |
/// | `#[dlpack(dtype = Self::INT4)]` | any constant of type `DataType`, as a path of two or more segments |
/// | `#[dlpack(big_endian)]` | stored with the most significant byte first: `Error::NotNativeEndian` on little-endian machines |
/// | `#[dlpack(little_endian)]` | stored with the least significant byte first: `Error::NotNativeEndian` on big-endian machines |
/// | `#[dlpack(alias)]` | another variant has the same type; converting from `DataType` returns that variant |
/// | `#[dlpack(skip)]` | DLPack has no such type: the conversion fails with `Error::NoDType`, which names the variant |
///
/// | on the enum | meaning |
/// |---|---|
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// Names that have the same meaning in every library are recognized, in upper, lower or mixed
/// case, with or without underscores: `I8` to `I64`, `Int8` to `Int64` and `S8` to `S64`; `U8` to
/// `U64` and `UInt8` to `UInt64`; `F16` to `F64`, `Float16` to `Float64` and `FP16` to `FP64`;
/// `Half`, `Double`, `BF16`, `BFloat16`, `Bool`, `Boolean`, `C128`, `Complex128`. Any other variant
/// needs an attribute. This includes every float of 8 bits and fewer, since libraries use `F8_E4M3`
/// for different formats, and `Complex64`, which is 64 bits wide in NumPy and 128 in
/// `num-complex`.
#[proc_macro_derive(DataType, attributes(dlpack))]
pub fn derive_data_type(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), parts::data_type).into()
}

/// Implements `Storage` for an enum of storages, or for a struct around one storage.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, DataType, Error, Storage};
///
/// #[derive(Storage)]
/// enum Buffer {
///     F32(Vec<f32>),
///     Shared(Arc<[u8]>),
///     /// Four numbers in three bytes.
///     #[dlpack(dtype = FLOAT6_E2M3FN, packed)]
///     F6(Vec<u8>),
///     #[dlpack(skip)]
///     Text(Vec<String>),
/// }
///
/// #[derive(DLPackExport)]
/// struct Column {
///     data: Buffer,
///     shape: [usize; 1],
/// }
///
/// let column = Column { data: Buffer::F6(vec![0; 3]), shape: [4] };
/// assert_eq!(column.into_dlpack()?.dtype(), DataType::FLOAT6_E2M3FN);
/// let column = Column { data: Buffer::Text(Vec::new()), shape: [0] };
/// assert_eq!(column.tensor().unwrap_err(), Error::NoStorage { variant: "Text" });
/// # Ok::<(), Error>(())
/// ```
///
/// Each variant holds one storage. The storages can differ in element type and in device, and can
/// be owned or borrowed. The enum can do what the storage of its current variant can do: lend
/// memory for writing, be shared, wait for a stream.
///
/// | on a variant, or on the field of a struct | meaning |
/// |---|---|
/// | `#[dlpack(dtype = BF16)]` | the bytes (`u8`) that it holds are read as this type: a constant of `DataType`, or the path of another constant |
/// | `#[dlpack(dtype = FLOAT4_E2M1FN, packed)]` | likewise, for elements narrower than a byte that share bytes; `packed` or `padded` is required |
/// | `#[dlpack(dtype = FLOAT4_E2M1FN, padded)]` | likewise, if each element occupies a byte |
/// | `#[dlpack(import)]` | it can hold imported memory (`ImportedStorage<T>`); an import selects the first such variant that accepts the tensor |
/// | `#[dlpack(skip)]` on a variant | it holds nothing that DLPack can describe: an export returns an error that names it |
/// | `#[dlpack(skip)]` on a field | the field is not the storage; `PhantomData` does not need the attribute |
///
/// | on the enum or struct | meaning |
/// |---|---|
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// If at least one variant has `import`, the enum is an `ImportStorage` too, and can be the
/// `data` of a struct that derives [`DLPackImport`](derive@DLPackImport). An import sets
/// skipped fields to their default.
///
/// Bytes that other owners write too (`SharedBuffer<u8>`) can be described as numbers of any
/// type. An element of several bytes that is read during a write may be torn.
#[proc_macro_derive(Storage, attributes(dlpack))]
pub fn derive_storage(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), parts::storage).into()
}

/// Implements `AsLayout` for a struct of shape, strides and offset: it can be the type of a
/// field with the role `layout`.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{AsLayout, DLPackExport};
///
/// #[derive(AsLayout)]
/// struct Strided {
///     shape: Vec<usize>,
///     strides: Vec<usize>,
///     #[dlpack(offset(elements))]
///     start: usize,
/// }
///
/// #[derive(DLPackExport)]
/// struct Tensor {
///     data: Arc<[f32]>,
///     #[dlpack(layout)]
///     layout: Strided,
/// }
///
/// let layout = Strided { shape: vec![2], strides: vec![2], start: 1 };
/// let tensor = Tensor { data: Arc::from([1.0, 2.0, 3.0, 4.0]), layout };
/// assert_eq!(tensor.to_dlpack()?.strides(), [2]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// Fields have the same roles as in [`DLPackExport`](derive@DLPackExport), by name or by
/// attribute, restricted to the roles that describe the layout:
///
/// | on a field | on the struct |
/// |---|---|
/// | `shape`, `strides`, `strides(bytes)`, `ndim` | `shape(height, width, 3)`, `strides(row, 1)`, `byte_strides(row, 4)` |
/// | `order`, `pitch(elements)`, `pitch(bytes)` | `order = column_major` |
/// | `offset(elements)`, `offset(bytes)`, `byte_offset` | `padded`, `spare_capacity` |
/// | `len(elements)`, `len(bytes)` | `bound(..)` |
/// | `layout`, `skip` | `crate = path` |
///
/// The element type and the memory are described by the struct that contains the layout.
#[proc_macro_derive(AsLayout, attributes(dlpack))]
pub fn derive_as_layout(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), parts::as_layout).into()
}

/// Implements `FromLayout`: fills a struct of shape, strides and offset with the layout of
/// an imported tensor, for a field with the role `layout` in a struct that derives
/// [`DLPackImport`](derive@DLPackImport).
///
/// ```
/// use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, ImportedStorage, FromLayout};
///
/// #[derive(AsLayout, FromLayout)]
/// struct Strided {
///     shape: Vec<usize>,
///     strides: Vec<isize>,
///     byte_offset: usize,
/// }
///
/// #[derive(DLPackExport, DLPackImport)]
/// struct Tensor {
///     data: ImportedStorage<f32>,
///     #[dlpack(layout)]
///     layout: Strided,
/// }
/// ```
///
/// Attributes are those of [`AsLayout`](derive@AsLayout), and `default` on fields that are
/// not part of the layout.
#[proc_macro_derive(FromLayout, attributes(dlpack))]
pub fn derive_from_layout(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), parts::from_layout).into()
}
