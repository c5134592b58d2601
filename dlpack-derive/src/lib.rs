//! `#[derive(DLPackExport)]` and `#[derive(DLPackImport)]`: the macros behind the
//! traits of `dlpack_traits` with those names, and those for their parts.
//!
//! Depend on `dlpack-traits` with its feature `derive`, not on this crate.
//!
//! The way of a struct through this crate: `attr` reads its attributes, `ast`
//! its fields, `check` makes a `Model` of them or says what is wrong, and
//! `expand` writes the model down. `expand` cannot fail. `tensors` calls them.

#![forbid(unsafe_code)]

mod ast;
mod attr;
mod bounds;
mod check;
mod companion;
mod ctxt;
mod expand;
mod fallback;
#[cfg(test)]
mod golden;
mod hygiene;
mod message;
mod meta;
mod model;
mod similar;
mod symbol;
mod tensors;

use proc_macro::TokenStream;

/// Makes a struct a tensor that DLPack can export.
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
/// A field has the role that its attribute names. Without an attribute it has a
/// role if it is named `data`, `shape`, `strides`, `byte_offset`, `dtype` or
/// `device`. Where one field has a role by attribute and another one by name,
/// the attribute wins.
///
/// | on a field | what the field holds | type |
/// |---|---|---|
/// | `#[dlpack(data)]` | the elements; required | any `Storage`: `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[[T; R]; C]`, `&[T]`, `SharedBuffer<T>`, ... |
/// | `#[dlpack(shape)]` | the size of each dimension; required, here or on the struct | a list of integers: `[usize; 3]`, `Vec<i64>`, ... |
/// | `#[dlpack(strides)]`, `#[dlpack(strides(elements))]` | the step of each dimension, in elements; absent means compact | a list of integers |
/// | `#[dlpack(strides(bytes))]` | the step of each dimension, in bytes | a list of integers |
/// | `#[dlpack(order)]` | which axis of a compact tensor is the fastest | `Order`, or `Into<Order>` and `Clone` |
/// | `#[dlpack(pitch(elements))]` | the step of the slowest axis of a compact tensor, in elements: a leading dimension | an integer |
/// | `#[dlpack(pitch(bytes))]` | the same in bytes: a row pitch | an integer |
/// | `#[dlpack(offset(elements))]` | elements between the start of `data` and the first one | an integer |
/// | `#[dlpack(offset(bytes))]` | the same in bytes | an integer |
/// | `#[dlpack(byte_offset)]` | the same as `offset(bytes)` | an integer |
/// | `#[dlpack(len(elements))]` | elements, from the offset on, that belong to the tensor; absent means all | an integer |
/// | `#[dlpack(len(bytes))]` | the same in bytes | an integer |
/// | `#[dlpack(ndim)]` | how many entries of `shape` and `strides` are in use | an integer |
/// | `#[dlpack(layout)]` | shape, strides and offset in one | `AsLayout` |
/// | `#[dlpack(dtype)]` | the element type of byte storage (`u8`); checked | `DataType`, or `TryInto<DataType>` and `Clone` |
/// | `#[dlpack(device)]` | the device, which must be that of `data`; checked | `Device`, or `Into<Device>` and `Clone` |
/// | `#[dlpack(sync)]` | what fills the data: synchronized with the consumer before the tensor is exported | `Synchronize` |
/// | `#[dlpack(unsafe(ptr, len(elements) = size))]` | `data` behind a raw pointer, see [below](#raw-pointers); or `len(bytes) = size` | `*const T`, `*mut T`, `NonNull<T>` |
/// | `#[dlpack(owner)]` | what keeps that memory alive | any that is `Send + 'static` |
/// | `#[dlpack(skip)]` | nothing that concerns DLPack, whatever the field's name and type | any |
///
/// A field that holds integers or `bool`s, also in lists, arrays, tuples or options, has a
/// role or is skipped: the compiler refuses one about which nothing is said, since a part of
/// the layout that is overlooked is wrong values.
///
/// | on the struct | meaning |
/// |---|---|
/// | `#[dlpack(shape(height, Self::WIDTH, 3))]` | the dimensions: fields that are integers, named constants, integers |
/// | `#[dlpack(order = column_major)]` | the first axis is the fastest; `row_major`, the last one, is the default |
/// | `#[dlpack(dtype = BF16)]` | the element type of byte storage: a constant of `DataType`, or the path of another constant (`Self::DTYPE`) |
/// | `#[dlpack(padded)]` | elements narrower than a byte take one each; without this they are packed |
/// | `#[dlpack(read_only)]` | consumers may never write, whatever the storage allows |
/// | `#[dlpack(transparent)]` | the only field that is not skipped can be exported itself, and this struct is that tensor |
/// | `#[dlpack(skip(id, timestamp))]` | the same as `skip` above each of these fields; of a tuple struct, numbers |
/// | `#[dlpack(bound(T: Element))]` | what is asked of type parameters, instead of what the roles ask |
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// Numbers are integers of any type, and always say what they count: `offset` is refused
/// until it says `elements` or `bytes`.
/// Whether a consumer may write depends on the storage alone, but for
/// `read_only`; see the trait. An export is one allocation, and two more beyond 8
/// dimensions.
///
/// Where the elements are of a type parameter, say at the struct what that is
/// (`T: Element`): a type that is none is then refused by its name.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, Element};
///
/// /// Every second row of a matrix that others hold too.
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
/// The fields of a tuple struct have no names, so they are marked. A newtype
/// around something exportable is `transparent`. An enum is the tensor of its
/// variant: each holds one exportable, or is marked `#[dlpack(skip)]`, and its
/// export is then an error that names the variant.
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
/// # Raw pointers
///
/// A pointer says neither how much memory it points to nor who frees it. So the
/// attribute says the first, another field is marked as the `owner`, and the
/// rest is a promise of yours, for as long as the struct lives:
///
/// 1. the pointer is that of `len` initialised and aligned elements (or bytes) of
///    one allocation, on the CPU or on the device that a field with the role
///    `device` names;
/// 2. nobody writes to them, and nothing that does is pending but what a field
///    with the role `sync` waits for;
/// 3. the `owner`, and nothing else, frees them, when it is dropped.
///
/// The tensor is READ_ONLY, also behind a `*mut`: it does not say that nobody
/// else reads or writes. For more, implement `Storage`. The struct needs an
/// `unsafe impl Send` of yours to be exported.
///
/// This is the only `unsafe` in an expansion of this derive: a block that has your
/// `unsafe` token, so that `forbid(unsafe_code)` refuses it, around the call that
/// makes a storage of the pointer. The compiler checks the types of the pointer and
/// of the length. The size in bytes, and a NULL, are checked at each export. The
/// three promises are yours. All else in the expansion implements safe traits.
///
/// # What it refuses
///
/// Each field must be `Send + 'static`, because the consumer drops the struct
/// on a thread of its choice. Where that is so by an `unsafe impl Send` of
/// yours, mark the field `#[dlpack(skip)]`. A struct with lifetimes gets the
/// trait too, and can be viewed but not exported. Data behind a lock is refused:
/// a consumer keeps the tensor for longer than a lock may be held.
///
/// Shapes, strides, offsets, types and devices are values that are checked
/// against the storage at each export. A wrong one is an `Error`.
#[proc_macro_derive(DLPackExport, attributes(dlpack))]
pub fn derive_dlpack_export(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), tensors::export).into()
}

#[doc = include_str!("../docs/import.md")]
#[proc_macro_derive(DLPackImport, attributes(dlpack))]
pub fn derive_dlpack_import(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), tensors::import).into()
}

/// Makes a newtype an element of tensors: of a number, of a small array, or of
/// several fields of one type.
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
/// The type is `Copy`, and one of
///
/// | a struct that is | its `DTYPE` and `AXES` |
/// |---|---|
/// | `#[repr(transparent)]` over an element | those of the element |
/// | `#[repr(transparent)]` over an array of elements, also nested | the element's, with the lengths of the arrays in front of its axes |
/// | `#[repr(C)]` with several fields of one type | as of an array as long as there are fields |
///
/// | on the struct | meaning |
/// |---|---|
/// | `#[dlpack(lanes)]` | the parts of the array are lanes of one element, and no axis; NumPy refuses more than one |
/// | `#[dlpack(any_bits)]` | every pattern of bits is a value of this type, so that consumers may write it, and Rust may read what they wrote |
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// | on a field | meaning |
/// |---|---|
/// | `#[dlpack(skip)]` | it is a `PhantomData`, a `()`, or a `[T; 0]` for its alignment; a field whose type is written `PhantomData` does not need the attribute |
///
/// `any_bits` is not inherited, because a newtype may promise more than what it
/// holds: of a `NonNegative(f32)` foreign code could make a negative one.
/// Without it, tensors of these elements are READ_ONLY.
///
/// | with | what the type can be used for |
/// |---|---|
/// | this derive alone | exports |
/// | `any_bits` | imported memory is read (`elements`, `as_slice`), written (`as_mut_slice`) and shared (`SharedBuffer`) as this type: it is `Readable` and `AnyBits` |
/// | an implementation of `bytemuck::CheckedBitPattern`, with `Bits` that are `NoUninit` | imported memory is read as this type, and each value is checked: it is `Readable` |
///
/// # The `unsafe impl`
///
/// The expansion contains an `unsafe impl`, also under `#![forbid(unsafe_code)]`,
/// because no safe code can state how a type lies in memory. It implements a
/// hidden trait of `dlpack_traits`, which implements
/// `Element` for all types that have it. The
/// compiler proves what the impl promises:
///
/// | promise | proof |
/// |---|---|
/// | each field that is memory has the type of an element, or of an array of elements, and all have the same | a function takes `&mut self` apart with a pattern without `..`, and returns raw pointers to the fields. Their types are inferred from the struct that is compiled; they are not compared as tokens, and no type is named to which a reference could coerce. Unions, packed structs and fields that another macro added do not match |
/// | any other field is a `PhantomData`, `()` or `[T; 0]` | the same pattern, and a trait that only `dlpack_traits` implements |
/// | there is no padding | `dlpack_traits` compares the size of the struct with the sizes of the fields, in the constant `DTYPE` |
/// | every pattern of bits is a value | you promise it for the struct with `any_bits`; `dlpack_traits` requires it of the fields, in the constant `ANY_BITS`, which every use of the promise evaluates |
/// | `DTYPE` and `AXES` describe the struct | `dlpack_traits` computes them from the types that the function returns |
///
/// None of it depends on what `::dlpack_traits`, `crate = path`, `::core` or a
/// macro of your crate refers to: a path to another trait implements that trait,
/// and then the struct is not an element.
#[proc_macro_derive(Element, attributes(dlpack))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), companion::element).into()
}

/// Converts an enum of element types into `DataType`, and back.
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
/// Such an enum, if it is `Clone`, can be the type of a `dtype` field.
///
/// | on a variant | meaning |
/// |---|---|
/// | nothing | its name says what it is: see below |
/// | `#[dlpack(dtype = FLOAT8_E4M3FN)]` | a constant of `DataType` |
/// | `#[dlpack(dtype = Self::INT4)]` | any constant that is a `DataType`, by a path of two words or more |
/// | `#[dlpack(big_endian)]` | stored with the most significant byte first: [`NotNativeEndian`] on other machines |
/// | `#[dlpack(little_endian)]` | stored with the least significant byte first: likewise |
/// | `#[dlpack(alias)]` | its type is also another variant's, and comes back as that one |
/// | `#[dlpack(skip)]` | DLPack has no such type: [`NoDType`], which names the variant |
///
/// | on the enum | meaning |
/// |---|---|
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// What every library means the same by is understood, in any case and with or
/// without underscores: `I8` to `I64` and `Int8` to `Int64`, `U8` to `U64` and
/// `UInt8` to `UInt64`, `F16` to `F64` and `Float16` to `Float64`, `Half`,
/// `Double`, `BF16`, `BFloat16`, `Bool`, `Boolean`, `C128`, `Complex128`.
/// All else must be spelled out. That is every float of 8 bits and fewer, since
/// `F8_E4M3` is one format here and another there; and `Complex64`, which is 64
/// bits wide in NumPy and 128 in `num-complex`.
///
/// [`NotNativeEndian`]: https://docs.rs/dlpack-traits/latest/dlpack_traits/enum.Error.html#variant.NotNativeEndian
/// [`NoDType`]: https://docs.rs/dlpack-traits/latest/dlpack_traits/enum.Error.html#variant.NoDType
#[proc_macro_derive(DataType, attributes(dlpack))]
pub fn derive_data_type(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), companion::data_type).into()
}

/// Makes an enum of storages a storage, or a struct around one.
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
/// Each variant holds one storage: one for each element type, for each device,
/// owned and borrowed. What the storage of the present variant can do, the enum
/// can do: lend for writing, be shared, wait for a stream.
///
/// | on a variant, or on the field of a struct | meaning |
/// |---|---|
/// | `#[dlpack(dtype = BF16)]` | the bytes (`u8`) that it holds are read as this type: a constant of `DataType`, or the path of another constant |
/// | `#[dlpack(dtype = FLOAT4_E2M1FN, packed)]` | likewise, of elements narrower than a byte that share bytes; `packed` or `padded` must be said |
/// | `#[dlpack(dtype = FLOAT4_E2M1FN, padded)]` | likewise, where each takes a byte |
/// | `#[dlpack(import)]` | it can hold imported memory (`Foreign<T>`), and does, if it is the first that accepts a tensor |
/// | `#[dlpack(skip)]` on a variant | it holds nothing that DLPack can describe: an export is an error that names it |
/// | `#[dlpack(skip)]` on a field | it is not the storage; of `PhantomData` this need not be said |
///
/// | on the enum or struct | meaning |
/// |---|---|
/// | `#[dlpack(crate = path)]` | where `dlpack_traits` is, if not at `::dlpack_traits` |
///
/// With `import` on some variant, the enum is an `ImportStorage` too: the `data`
/// of a struct that derives [`DLPackImport`](derive@DLPackImport). Fields that
/// are skipped get their default then.
///
/// Bytes that others write too (`SharedBuffer<u8>`) can be read as types of 8
/// bits and fewer only, because Rust and they access them a byte at a time.
#[proc_macro_derive(Storage, attributes(dlpack))]
pub fn derive_storage(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), companion::storage).into()
}

/// Makes a struct of shape, strides and offset the layout of tensors, for a
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
/// Fields have the roles that they have in
/// [`DLPackExport`](derive@DLPackExport), by name or by attribute, as far as
/// they say where elements are:
///
/// | on a field | on the struct |
/// |---|---|
/// | `shape`, `strides`, `strides(bytes)`, `ndim` | `shape(height, width, 3)` |
/// | `order`, `pitch(elements)`, `pitch(bytes)` | `order = column_major` |
/// | `offset(elements)`, `offset(bytes)`, `byte_offset` | `padded` |
/// | `len(elements)`, `len(bytes)` | `bound(..)` |
/// | `layout`, `skip` | `crate = path` |
///
/// What the elements are, and what holds them, is said by the struct that has
/// the layout.
#[proc_macro_derive(AsLayout, attributes(dlpack))]
pub fn derive_as_layout(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), companion::as_layout).into()
}

/// Fills a struct of shape, strides and offset with the layout of an imported
/// tensor, for a field with the role `layout` in a struct that derives
/// [`DLPackImport`](derive@DLPackImport).
///
/// ```
/// use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, Foreign, FromLayout};
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
///     data: Foreign<f32>,
///     #[dlpack(layout)]
///     layout: Strided,
/// }
/// ```
///
/// Attributes are those of [`AsLayout`](derive@AsLayout), and `default` on
/// fields that say nothing about the layout.
#[proc_macro_derive(FromLayout, attributes(dlpack))]
pub fn derive_from_layout(input: TokenStream) -> TokenStream {
    hygiene::apart(input.into(), companion::from_layout).into()
}
