//! A tensor that owns its memory.

use dlpack_traits::{DLPackExport, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PySequence, PyTuple};

use crate::bytes::Bytes;
use crate::value;

/// Elements of any type in our own memory.
#[derive(DLPackExport)]
pub(crate) struct Own {
    data: Bytes,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

impl Own {
    /// From a number or nested lists of numbers. Without a dtype the first
    /// number decides: bool, int64, float64 or complex128.
    pub(crate) fn new(
        values: &Bound<'_, PyAny>,
        dtype: Option<&str>,
        read_only: bool,
    ) -> PyResult<Self> {
        let mut numbers = Vec::new();
        let mut shape = shape_of(values)?;
        collect(values, &shape, &mut numbers)?;
        let dtype = match dtype {
            Some(name) => parse(name)?,
            None => numbers.first().map_or(Ok(DataType::F64), infer)?,
        };
        let lanes = usize::from(dtype.lanes());
        if lanes > 1 && shape.pop() != Some(i64::from(dtype.lanes())) {
            return Err(PyValueError::new_err(format!(
                "the innermost lists must have {lanes} numbers, one for each lane of {dtype}"
            )));
        }
        let width = usize::from(dtype.bits());
        let mut bytes = vec![0; (numbers.len() * width).div_ceil(8)];
        for (index, number) in numbers.iter().enumerate() {
            put(&mut bytes, index * width, width, value::encode(dtype.with_lanes(1), number)?);
        }
        Self::compact(Bytes::new(&bytes, read_only)?, dtype, shape)
    }

    /// Zeros.
    pub(crate) fn zeros(shape: Vec<i64>, dtype: &str) -> PyResult<Self> {
        let dtype = parse(dtype)?;
        let numel = dlpack_traits::strides::numel(&shape)?;
        let bytes = usize::try_from(i128::from(numel) * i128::from(dtype.element_bits()))
            .map_err(|_| dlpack_traits::Error::SizeOverflow)?
            .div_ceil(8);
        Self::compact(Bytes::zeroed(bytes)?, dtype, shape)
    }

    /// Another tensor in the same memory. Strides count elements, the offset
    /// counts bytes.
    pub(crate) fn as_strided(
        &self,
        shape: Vec<i64>,
        strides: Vec<i64>,
        byte_offset: usize,
    ) -> PyResult<Self> {
        let tensor =
            Self { data: self.data.clone(), dtype: self.dtype, shape, strides, byte_offset };
        tensor.tensor()?;
        Ok(tensor)
    }

    /// Row-major elements from the start of some bytes.
    fn compact(data: Bytes, dtype: DataType, shape: Vec<i64>) -> PyResult<Self> {
        let mut strides = vec![0; shape.len()];
        dlpack_traits::strides::row_major_strides(&shape, &mut strides);
        let tensor = Self { data, dtype, shape, strides, byte_offset: 0 };
        tensor.tensor()?;
        Ok(tensor)
    }

    /// The elements as nested lists, or as a number if there are no axes.
    pub(crate) fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.list(py, 0, 0)
    }

    /// The elements from `axis` on, as nested lists, `first` elements from the
    /// tensor's first.
    fn list<'py>(&self, py: Python<'py>, axis: usize, first: i64) -> PyResult<Bound<'py, PyAny>> {
        match (self.shape.get(axis), self.strides.get(axis)) {
            (Some(&dim), Some(&stride)) => {
                let items = (0..dim).map(|index| self.list(py, axis + 1, first + index * stride));
                Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
            _ => self.element(py, first),
        }
    }

    /// One element: a number, or a list of one number for each lane.
    fn element<'py>(&self, py: Python<'py>, index: i64) -> PyResult<Bound<'py, PyAny>> {
        let width = usize::from(self.dtype.bits());
        let start = i128::from(index) * i128::from(self.dtype.element_bits());
        let start = usize::try_from(start + self.byte_offset as i128 * 8)
            .map_err(|_| dlpack_traits::Error::SizeOverflow)?;
        let scalar = self.dtype.with_lanes(1);
        let lane = |lane: usize| {
            let bits = (0..width).map(|bit| self.bit(start + lane * width + bit));
            value::decode(py, scalar, bits.rev().fold(0, |bits, bit| bits << 1 | bit))
        };
        if self.dtype.lanes() == 1 {
            return lane(0);
        }
        let lanes = (0..usize::from(self.dtype.lanes())).map(lane).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, lanes)?.into_any())
    }

    /// One bit, counted from the least significant one of the first byte. This
    /// is how DLPack packs, and how little-endian numbers lie in memory.
    fn bit(&self, position: usize) -> u128 {
        u128::from(self.data.load(position / 8) >> (position % 8) & 1)
    }
}

/// Writes the low `width` bits of a number at a position in bits.
fn put(bytes: &mut [u8], position: usize, width: usize, bits: u128) {
    for bit in 0..width {
        let at = position + bit;
        bytes[at / 8] |= u8::from(bits >> bit & 1 == 1) << (at % 8);
    }
}

fn parse(name: &str) -> PyResult<DataType> {
    let lanes = || {
        let (scalar, lanes) = name.rsplit_once('x')?;
        Some(DataType::from_name(scalar)?.with_lanes(lanes.parse().ok()?))
    };
    DataType::from_name(name).or_else(lanes).ok_or_else(|| {
        PyTypeError::new_err(format!("`{name}` is not the name of a DLPack element type"))
    })
}

/// The element type that a Python number suggests.
fn infer(number: &Bound<'_, PyAny>) -> PyResult<DataType> {
    if number.is_instance_of::<PyBool>() {
        Ok(DataType::BOOL)
    } else if number.is_instance_of::<PyInt>() {
        Ok(DataType::I64)
    } else if number.is_instance_of::<PyFloat>() {
        Ok(DataType::F64)
    } else if number.is_instance_of::<PyComplex>() {
        Ok(DataType::COMPLEX128)
    } else {
        Err(PyTypeError::new_err("a tensor is made from numbers and lists of numbers"))
    }
}

/// The shape of nested lists, read off the first of each.
fn shape_of(values: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let mut shape = Vec::new();
    let mut values = values.clone();
    while let Some(list) = as_list(&values) {
        let len = list.len()?;
        shape.push(i64::try_from(len).unwrap_or(i64::MAX));
        if len == 0 || shape.len() > dlpack_traits::MAX_NDIM {
            break;
        }
        values = list.get_item(0)?;
    }
    Ok(shape)
}

/// Collects the numbers of nested lists, which must have that shape.
fn collect<'py>(
    values: &Bound<'py, PyAny>,
    shape: &[i64],
    numbers: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<()> {
    match (as_list(values), shape.split_first()) {
        (None, None) => numbers.push(values.clone()),
        (Some(list), Some((&dim, inner))) if i64::try_from(list.len()?) == Ok(dim) => {
            for item in list.try_iter()? {
                collect(&item?, inner, numbers)?;
            }
        }
        _ => return Err(PyValueError::new_err("the nested lists are not all of one shape")),
    }
    Ok(())
}

fn as_list<'py>(values: &Bound<'py, PyAny>) -> Option<Bound<'py, PySequence>> {
    if values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>() {
        values.extract::<Bound<'py, PySequence>>().ok()
    } else {
        None
    }
}
