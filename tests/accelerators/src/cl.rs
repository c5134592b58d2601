//! OpenCL as another library uses it.
