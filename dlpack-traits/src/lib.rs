//! Zero-copy tensor exchange through [DLPack] 1.3, without `unsafe` in your code.
//!
//! DLPack is the C ABI by which array libraries share memory, on CPUs and GPUs: one library exports a
//! struct with the address, shape, strides and dtype of a tensor, and another uses the memory in
//! place and calls a deleter when it is done.
//!
//! A type that owns the elements of a tensor derives [`DLPackExport`]; a consumer (NumPy,
//! PyTorch, JAX, a C++ program) then uses the elements in place.
//!
#![cfg_attr(feature = "derive", doc = "```")]
#![cfg_attr(not(feature = "derive"), doc = "```ignore")]
//! use dlpack_traits::{DLPackExport, DataType};
//!
//! #[derive(DLPackExport)]
//! struct Image {
//!     data: Vec<u8>,
//!     shape: [usize; 3],
//! }
//!
//! let image = Image { data: vec![0; 12], shape: [2, 2, 3] };
//! let tensor = image.into_dlpack()?;
//! assert_eq!(tensor.dtype(), DataType::U8);
//! assert_eq!(tensor.strides(), [6, 3, 1]);
//!
//! // A consumer takes the C struct, and calls its deleter when it has finished.
//! let managed = tensor.into_raw();
//! # // SAFETY: `into_raw` returned a valid struct, and this is the only call.
//! # unsafe { (*managed).deleter.unwrap()(managed) }
//! # Ok::<(), dlpack_traits::Error>(())
//! ```
//!
//! Functions of a Python module accept and return arrays of NumPy, PyTorch and JAX (feature `pyo3`):
#![cfg_attr(feature = "derive", doc = "see [`guide::accept_array`] and [`guide::return_array`].")]
#![cfg_attr(not(feature = "derive"), doc = "see the module `python`.")]
//!
//! # What to read next
//!
#![cfg_attr(
    feature = "derive",
    doc = "The [`guide`] has a page per task. The items of this crate for each task:"
)]
#![cfg_attr(not(feature = "derive"), doc = "The items of this crate for each task:")]
//!
//! | task | see |
//! |---|---|
//! | export a struct | the derive macro `DLPackExport` (feature `derive`), [`trait@DLPackExport`] |
//! | export a buffer type of your own | [`Storage`], [`DataRef`] |
//! | let consumers write | [`SharedBuffer`], the table at [`trait@DLPackExport`] |
//! | import a tensor from a C pointer | [`ImportedTensor`], and [`Elements`], [`Frozen`], [`Exclusive`] to access its elements |
//! | build a struct from a tensor | the derive macro `DLPackImport` (feature `derive`), [`trait@DLPackImport`] |
//! | store imported memory in a struct | [`ImportedStorage`] |
//! | export device memory | [`backend::DeviceBuffer`]; to support a new device: [`backend`] |
//! | import a tensor from a Python object | `python::from_dlpack` (feature `pyo3`) |
//! | define a Python class | the module `python` (feature `pyo3`) |
//! | publish a C exchange table without Python | [`exchange`] |
//! | use the C structs directly | [`ffi`] |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | a panic of your code is caught at the C boundary, even if the owner's `Drop` panics as well; without `std`, it aborts the process. On Linux, huge pages are requested for large copies |
//! | `derive` | `#[derive(DLPackExport)]`, `#[derive(DLPackImport)]`, and `Element`, `Record`, `DataType`, `Storage`, `AsLayout`, `FromLayout` for their parts |
//! | `bytes` | `bytes::Bytes` and `BytesMut` as storages |
//! | `memmap2`, `memmap2_0_9` | `memmap2::Mmap` and `MmapMut` as storages, of the newest version or of 0.9 |
//! | `cuda` | the CUDA backend `backend::Cuda`; the driver is loaded at run time |
//! | `cudarc` | slices of `cudarc` as storages; needs the Rust version that `cudarc` needs |
//! | `ndarray` | `ndarray::Array` and `ArcArray` of the newest version as tensors, and array views of imported tensors |
//! | `ndarray_0_16`, `ndarray_0_17` | the same for one version of `ndarray`, by `TryFrom` in place of methods |
//! | `rayon` | `par_rows` and `par_map_in_place` of elements, on the threads of rayon |
//! | `half` | `half::f16` and `half::bf16` as elements |
//! | `stubs` | types of arguments and results in generated stubs (PyO3 0.28) |
//! | `num-complex` | `num_complex::Complex` of floats as elements |
//! | `oneapi` | the backend `backend::OneApi` for SYCL's unified shared memory; DPCTL, the C library in Intel's Python package `dpctl`, is loaded at run time |
//! | `opencl` | the backend `backend::OpenCl` for OpenCL buffers; the system's OpenCL library (`libOpenCL`) is loaded at run time |
//! | `rocm` | the ROCm backend `backend::Rocm`; the runtime is loaded at run time |
//! | `testing` | `backend::testing`, the conformance kit for backends |
//! | `vulkan` | the Vulkan backend `backend::Vulkan`; the system's Vulkan library (`libvulkan`) is loaded at run time |
//! | `webgpu` | the WebGPU backend `backend::WebGpu`, for devices of wgpu-native |
//! | `pyo3` | Python classes that export tensors, and import of tensors from Python objects |
//!
//! [DLPack]: https://dmlc.github.io/dlpack/latest/

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::unwrap_used)
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[doc(hidden)]
pub mod __private;
mod alignment;
mod atomic;
pub mod backend;
mod byte_atomic;
mod copy;
mod describe;
mod device;
mod dims;
mod dtype;
mod element;
mod error;
pub mod exchange;
mod export;
mod export_arc;
pub mod ffi;
mod flags;
#[cfg(all(any(doc, doctest), feature = "derive"))]
pub mod guide;
mod import;
#[cfg(any(
    feature = "bytes",
    feature = "memmap2_0_9",
    feature = "ndarray_0_16",
    feature = "ndarray_0_17"
))]
mod interop;
mod managed;
mod panic;
#[cfg(feature = "pyo3")]
pub mod python;
/// The decisions of `python` over plain data, for tests without an interpreter.
#[cfg(all(test, not(feature = "pyo3")))]
#[expect(dead_code, reason = "the tests do not use all of it")]
mod python {
    mod export {
        mod export_plan;
    }
    mod import {
        mod retry;
    }
    mod table {
        mod type_cache;
    }
}
mod refcount;
mod storage;
mod stream_arg;
pub mod strides;
mod version;
mod view;

pub use describe::{
    AsLayout, Describe, Description, DescriptionMut, IntoList, IntoStrides, Layout, Order, Slot,
};
pub use device::Device;
pub use dims::{AsDims, Dim, Dims};
pub use dtype::DataType;
pub use element::{AnyBits, Complex, Element, Field, FieldType, Lanes, Readable, RecordType};
pub use error::{DriverText, Error};
pub use export::{DLPackExport, FieldTensor, OwnedTensor, Records, SharedTensor};
pub use export_arc::ExportArc;
pub use flags::Flags;
pub use import::{
    AnyElement, As, Conversion, Copies, DLPackImport, Elements, ElementsAs, ElementsMut,
    ElementsPart, ElementsPartMut, Exclusive, FromDims, FromElements, Frozen, ImportError,
    ImportPolicy, ImportStorage, ImportedElement, ImportedSlice, ImportedStorage, ImportedTensor,
    Lossless, Lossy, MetadataField, Mismatch, MismatchKind, Number, OwnedSlice, RawBits, Zip,
};
pub use managed::{Abi, ManagedTensor};
pub use storage::{DataMut, DataRef, SharedBuffer, SharedOwner, Storage};
pub use stream_arg::{StreamArg, StreamKind, Synchronize};
pub use strides::MAX_NDIM;
pub use version::Version;
pub use view::{DLTensorRef, TensorView};

#[cfg(feature = "derive")]
pub use dlpack_derive::{
    AsLayout, DLPackExport, DLPackImport, DataType, Element, FromLayout, Record, Storage,
};

/// Compiles the code blocks of the README. Blocks that are ignored there, and in `python`,
/// need the macros of PyO3: `cargo xtask test --full` compiles them, each block separately,
/// because rustdoc leaves out the ignored ones of the blocks that it merges.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Compiles the code blocks of the page at the package registry.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../README.md")]
struct RegistryReadme;

/// Compiles the code blocks of the derive reference.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../docs/derive.md")]
struct Tour;

/// Compiles the code blocks of the page for library authors.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../docs/library-authors.md")]
struct LibraryAuthors;

/// Compiles the code blocks of the page about GPUs.
#[cfg(all(doctest, feature = "derive", feature = "cuda"))]
#[doc = include_str!("../../docs/gpu.md")]
struct Gpus;

/// Compiles the code blocks of the page about Vulkan and WebGPU buffers.
#[cfg(all(doctest, feature = "vulkan", feature = "webgpu"))]
#[doc = include_str!("../../docs/vulkan.md")]
struct Buffers;
