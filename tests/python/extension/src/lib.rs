//! The extension module `dlpack_testing`: classes that count, fail and panic where the
//! Python tests check it, and a consumer that the tests script.

#![expect(non_ascii_idents, reason = "names of fields are any identifiers")]

mod arguments;
mod array_like;
mod capsule;
mod classes;
mod counted;
mod derived;
mod device;
mod device_kernels;
mod elementwise;
mod event_loop;
mod exchange;
mod faulty;
mod gpu;
mod heap;
mod hostile;
mod imports;
mod kept;
mod kernels;
mod lent;
mod npu;
mod oneapi;
mod opencl;
mod pending;
mod pool;
mod records;
mod reentrant;
mod refused;
mod results;
mod scripted;
mod thread_exit;

use dlpack_traits::{DataType, python};
use pyo3::prelude::*;

/// The names of all element types that the library has a constant for.
#[pyfunction]
fn dtypes() -> Vec<String> {
    DataType::ALL.iter().map(ToString::to_string).collect()
}

/// The classes and functions of the Python tests.
#[pymodule]
fn dlpack_testing(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("OPTIMIZED", !cfg!(debug_assertions))?;
    python::add_class::<classes::Frozen>(m)?;
    python::add_class::<classes::Writable>(m)?;
    python::add_class::<classes::Single>(m)?;
    python::add_class::<classes::Growing>(m)?;
    python::add_class::<classes::Zeros>(m)?;
    python::class::<device::OnDevice>().buffer_protocol().add(m)?;
    python::add_class::<faulty::Faulty>(m)?;
    python::add_class::<hostile::PanicsOnDrop>(m)?;
    python::add_class::<hostile::CallsOnDrop>(m)?;
    python::add_class::<reentrant::CallsBack>(m)?;
    m.add_class::<reentrant::Labelled>()?;
    python::add_class::<reentrant::Extends>(m)?;
    python::class::<imports::Floats>().importable().add(m)?;
    python::class::<imports::Derived>().importable().add(m)?;
    python::class::<imports::Anything>().importable().add(m)?;
    m.add_class::<imports::Held>()?;
    arguments::add(m)?;
    array_like::add(m)?;
    records::add(m)?;
    exchange::add(m)?;
    kept::add(m)?;
    results::add(m)?;
    npu::add(m)?;
    oneapi::add(m)?;
    opencl::add(m)?;
    elementwise::add(m)?;
    pool::add(m)?;
    event_loop::add(m)?;
    gpu::add_cuda(m)?;
    gpu::add_rocm(m)?;
    derived::add(m)?;
    lent::add(m)?;
    device_kernels::add(m)?;
    m.add_class::<capsule::Taken>()?;
    m.add_class::<capsule::Background>()?;
    m.add_class::<capsule::Traversed>()?;
    m.add_function(wrap_pyfunction!(imports::import_tensor, m)?)?;
    m.add_function(wrap_pyfunction!(imports::copy_held_while, m)?)?;
    m.add_function(wrap_pyfunction!(imports::import_often, m)?)?;
    m.add_function(wrap_pyfunction!(imports::add_own_from_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(imports::add_floats, m)?)?;
    m.add_function(wrap_pyfunction!(pending::call_while_raising, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::fused, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::element, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::borrowed_sum, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::borrowed_facts, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::borrowed_sums_around, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::viewed_sum, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::viewed_facts, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::allocate, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::allocate_and_drop, m)?)?;
    m.add_function(wrap_pyfunction!(kernels::hand_to, m)?)?;
    m.add_function(wrap_pyfunction!(scripted::script, m)?)?;
    m.add_function(wrap_pyfunction!(scripted::scripted_calls, m)?)?;
    m.add_function(wrap_pyfunction!(scripted::overwrite_viewed, m)?)?;
    m.add_function(wrap_pyfunction!(scripted::scripted_table, m)?)?;
    m.add_function(wrap_pyfunction!(scripted::scripted_table_address, m)?)?;
    m.add_function(wrap_pyfunction!(dtypes, m)?)?;
    m.add_function(wrap_pyfunction!(capsule::take, m)?)?;
    m.add_function(wrap_pyfunction!(capsule::set_name, m)?)?;
    m.add_function(wrap_pyfunction!(counted::live, m)?)?;
    m.add_function(wrap_pyfunction!(counted::exports, m)?)?;
    m.add_function(wrap_pyfunction!(counted::releases, m)?)?;
    m.add_function(wrap_pyfunction!(heap::allocations, m)?)?;
    m.add_function(wrap_pyfunction!(heap::fail_allocation, m)?)?;
    m.add_function(wrap_pyfunction!(refused::add_unsendable, m)?)?;
    m.add_function(wrap_pyfunction!(refused::add_immutable_type, m)?)
}

/// The functions without the classes: what an interpreter that is not the first may load,
/// from the same file.
#[pymodule]
fn dlpack_testing_functions(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(imports::import_tensor, m)?)?;
    m.add_function(wrap_pyfunction!(scripted::scripted_table, m)?)
}
