//! NumPy's arrays, made and read by NumPy's C API: NumPy 2.4 has no exchange table.

mod c_api;
mod library;
mod new_array;
mod read_array;
mod records;

pub(in crate::python) use library::{Mask, NumPy};
pub(in crate::python) use new_array::{array_by_protocol, array_of};
pub(in crate::python) use read_array::tensor_of;
pub(in crate::python) use records::{bytes_of_records, dtype_of_record, records_of, type_string};
