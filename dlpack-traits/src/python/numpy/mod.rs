//! NumPy's arrays, made and read by NumPy's C API: NumPy 2.4 has no exchange table.

mod array;
mod c_api;
mod library;
mod records;

pub(in crate::python) use array::{array_by_protocol, array_of, tensor_of};
pub(in crate::python) use c_api::{buffer_code, type_string};
pub(in crate::python) use library::{Mask, NumPy};
pub(in crate::python) use records::{bytes_of_records, dtype_of_record, records_of};
