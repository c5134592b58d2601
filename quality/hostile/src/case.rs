//! A struct as data: [`Case`].

use tensors::{DataType, Device, Error, Flags, Version};

use crate::positions::positions;
use crate::{Clause, Duty};

/// The metadata of a struct, and what an importer must do with it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The rule of `docs/soundness.md`, and the unusual property.
    pub words: String,
    /// The version; the legacy struct has none.
    pub version: Version,
    /// The flags; the legacy struct has none.
    pub flags: Flags,
    /// The number of dimensions.
    pub ndim: i32,
    /// The pointer to dimensions.
    pub shape: Array,
    /// The pointer to strides, in elements.
    pub strides: Array,
    /// The target of `data`.
    pub data: Data,
    /// Bytes from there to the first element.
    pub byte_offset: u64,
    /// The element type.
    pub dtype: DataType,
    /// Where the memory is.
    pub device: Device,
    /// Whether `manager_ctx` points at something, as a real producer's does; or NULL.
    pub has_context: bool,
    /// `None` where the struct is in order.
    pub error: Option<Error>,
    /// Whether the case is one of the versioned struct only.
    pub versioned_only: bool,
    /// The clause of the standard.
    pub clause: Clause,
    /// What a consumer must do.
    pub duty: Duty,
}

/// Splits a text into the leading rule numbers of `docs/soundness.md` and the rest.
pub(crate) fn rules_and_name(words: &str) -> (Vec<String>, &str) {
    let (mut rules, mut name) = (Vec::new(), words);
    while let Some((first, rest)) = name.split_once(' ') {
        let number = first.trim_start_matches(|c: char| c.is_ascii_uppercase());
        if number == first || number.parse::<u8>().is_err() {
            break;
        }
        rules.push(first.to_owned());
        name = rest;
    }
    (rules, name)
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

/// The target of `data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// NULL.
    Null,
    /// An address that cannot be read.
    Nowhere,
    /// An address by its number, which cannot be read.
    At(usize),
    /// Those bytes, and around them nothing.
    Bytes(Vec<u8>),
}

impl Case {
    /// A contiguous tensor of 32-bit integers, 0 and up.
    ///
    /// # Panics
    ///
    /// Where the shape is invalid.
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
            has_context: true,
            error: None,
            versioned_only: false,
            clause: Clause::Data,
            duty: Duty::Accept,
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

    /// The same with explicit row-major strides, which the standard requires since 1.2.
    #[must_use]
    pub fn said(self) -> Self {
        let shape = self.shape().to_vec();
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = i64::wrapping_mul(strides[axis], shape[axis]);
        }
        Self { strides: Array::Of(strides), ..self }
    }

    /// The same for another place of the standard.
    #[must_use]
    pub fn of(self, clause: Clause) -> Self {
        Self { clause, ..self }
    }

    /// The same where a consumer need not be able to take it.
    #[must_use]
    pub fn may(self) -> Self {
        Self { duty: Duty::May, ..self }
    }

    /// The same with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the unusual property, without the rules.
    pub fn name(&self) -> &str {
        rules_and_name(&self.words).1
    }

    /// The bits of all elements in row-major order, where the case has some that
    /// can be read, not too many, and of a type of whole bytes.
    pub fn values(&self) -> Option<Vec<u64>> {
        let size = match self.dtype {
            DataType::I32 => 4,
            DataType::U8 => 1,
            _ => return None,
        };
        let shape = self.shape();
        if self.error.is_some() || shape.contains(&0) {
            return (self.error.is_none()).then(Vec::new);
        }
        let count = shape.iter().try_fold(1_i64, |count, &dim| count.checked_mul(dim));
        let Data::Bytes(bytes) = &self.data else { return None };
        if count.is_none_or(|count| count > 10_000) {
            return None;
        }
        let compact = self.clone().said();
        let strides = if let Array::Of(_) = &self.strides { self } else { &compact };
        let Array::Of(strides) = &strides.strides else { return None };
        // A dimension of one element makes no step, whatever its stride is.
        let strides = shape.iter().zip(strides).map(|(&dim, &by)| if dim == 1 { 0 } else { by });
        let first = i64::try_from(self.byte_offset).ok()?;
        positions(shape, &strides.collect::<Vec<_>>())
            .into_iter()
            .map(|position| {
                let start = usize::try_from(first + position * size).ok()?;
                let end = start + usize::try_from(size).ok()?;
                let mut word = [0; 8];
                word[..end - start].copy_from_slice(bytes.get(start..end)?);
                Some(u64::from_ne_bytes(word))
            })
            .collect()
    }
}
