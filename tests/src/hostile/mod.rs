//! Structs as hostile or odd producers write them, in memory that cannot be
//! read out of turn: [`malformed`] and [`borderline`] cases, and [`Case::build`].
//!
//! Every array ends where reading ends. What must not be looked at cannot be.
//! After the deleter nothing can be read any more.

mod build;
mod cases;
#[cfg(target_arch = "x86_64")]
pub mod visits;

pub use build::{Built, HostileStruct};
pub use cases::{borderline, malformed, on_devices};

use tensors::{DataType, Device, Error, Flags, Version};

/// What a struct says, and what an importer must make of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The rule of `docs/SAFETY.md`, and what is odd.
    pub words: String,
    /// The version; not said in the legacy struct.
    pub version: Version,
    /// The flags; not said in the legacy struct.
    pub flags: Flags,
    /// The number of dimensions.
    pub ndim: i32,
    /// The pointer to dimensions.
    pub shape: Array,
    /// The pointer to strides, in elements.
    pub strides: Array,
    /// What `data` points to.
    pub data: Data,
    /// Bytes from there to the first element.
    pub byte_offset: u64,
    /// The element type.
    pub dtype: DataType,
    /// Where the memory is.
    pub device: Device,
    /// `None` where the struct is in order.
    pub error: Option<Error>,
    /// Whether the case is one of the versioned struct only.
    pub versioned_only: bool,
}

/// A pointer to dimensions or strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Array {
    /// NULL.
    Null,
    /// Those, and behind the last one nothing.
    Of(Vec<i64>),
    /// An address that cannot be read.
    Nowhere,
}

/// What `data` points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// NULL.
    Null,
    /// An address that cannot be read.
    Nowhere,
    /// Those bytes, and around them nothing.
    Bytes(Vec<u8>),
}

impl Case {
    /// A compact tensor of 32-bit integers, 0 and up.
    ///
    /// # Panics
    ///
    /// Where the shape is none.
    pub fn new(words: &str, shape: &[i64]) -> Self {
        let numbers: i32 = shape.iter().product::<i64>().try_into().expect("a small tensor");
        Self {
            words: words.to_owned(),
            version: Version::CURRENT,
            flags: Flags::NONE,
            ndim: shape.len().try_into().expect("some dimensions"),
            shape: Array::Of(shape.to_vec()),
            strides: Array::Null,
            data: Data::Bytes((0..numbers).flat_map(i32::to_ne_bytes).collect()),
            byte_offset: 0,
            dtype: DataType::I32,
            device: Device::CPU,
            error: None,
            versioned_only: false,
        }
    }

    /// The same with other dimensions and strides.
    #[must_use]
    pub fn dims(self, shape: &[i64], strides: Option<&[i64]>) -> Self {
        let strides = strides.map_or(Array::Null, |strides| Array::Of(strides.to_vec()));
        let ndim = shape.len().try_into().expect("some dimensions");
        Self { ndim, shape: Array::Of(shape.to_vec()), strides, ..self }
    }

    /// The dimensions, where the struct has any.
    pub fn shape(&self) -> &[i64] {
        if let Array::Of(shape) = &self.shape { shape } else { &[] }
    }
}
