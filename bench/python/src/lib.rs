//! What the Python rows of the benchmarks measure: classes as users write them,
//! and loops in native code around what Rust and C do.

mod classes;
mod general;
mod loops;

use pyo3::prelude::*;

#[pymodule]
fn dlpack_bench_python(module: &Bound<'_, PyModule>) -> PyResult<()> {
    classes::add(module)?;
    loops::add(module)
}
