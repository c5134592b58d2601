//! The elements of an imported tensor: read ([`by_value`]), written ([`elements_mut`]), visited by rows
//! or one by one, split for several threads, and copied ([`to_vec`]).

pub(in crate::import) mod block;
mod by_value;
mod elements_mut;
pub(in crate::import) mod iter;
#[cfg(feature = "pyo3")]
mod map;
#[cfg(feature = "rayon")]
mod parallel;
mod raw_bits;
mod split;
mod to_vec;
pub(in crate::import) mod typed;
mod zip;

pub use by_value::Elements;
pub use elements_mut::ElementsMut;
#[cfg(feature = "pyo3")]
pub(crate) use map::Map;
#[cfg(feature = "pyo3")]
pub use map::{Arguments, ElementFn};
pub use raw_bits::RawBits;
pub use split::{ElementsPart, ElementsPartMut};
#[cfg(any(feature = "ndarray_0_16", feature = "ndarray_0_17"))]
pub(crate) use typed::Typed;
pub use zip::Zip;
