//! Zero-copy tensor exchange through [DLPack] 1.3.
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
mod contain;
mod copy;
mod device;
mod dims;
mod dtype;
mod element;
mod error;
mod export;
pub mod ffi;
mod flags;
pub mod layout;
mod managed;
#[cfg(any(feature = "pyo3", test))]
pub mod python;
mod storage;
mod stream;
mod version;
mod view;

pub use device::Device;
pub use dims::{AsDims, Dim, Dims};
pub use dtype::DataType;
pub use element::{Complex, Element};
pub use error::Error;
pub use export::DLPackExport;
pub use flags::Flags;
pub use layout::MAX_NDIM;
pub use managed::{Abi, ManagedTensor};
pub use storage::{Data, DataRef, SharedBuffer, SharedOwner, Storage};
pub use stream::{StreamArg, StreamKind};
pub use version::Version;
pub use view::{DLTensorRef, Layout, Lend, TensorView};

#[cfg(feature = "derive")]
pub use dlpack_derive::DLPackExport;
