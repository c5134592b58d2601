//! [`export_my_struct`]: export_my_struct
//! [`mutability`]: mutability
//! [`dtypes`]: dtypes
//! [`python_class`]: python_class
//! [`accept_array`]: accept_array
//! [`several_dtypes`]: several_dtypes
//! [`return_array`]: return_array
//! [`elementwise`]: elementwise
//! [`several_tensors`]: several_tensors
//! [`records`]: records
//! [`keep_argument`]: keep_argument
//! [`change_in_place`]: change_in_place
//! [`release_gil`]: release_gil
//! [`rayon`]: rayon
//! [`async_functions`]: async_functions
//! [`ndarray`]: ndarray
//! [`errors`]: errors
//! [`generic_tensors`]: generic_tensors
//! [`device_functions`]: device_functions
//! [`import`]: import
//! [`exchange_table`]: exchange_table
//! [`new_device`]: new_device
//! [`no_python`]: no_python
//! [`from_rust_numpy`]: from_rust_numpy
//! [`from_nanobind`]: from_nanobind
// The first definition of a link applies: one above in rustdoc, one in the file on a code host.
#![doc = include_str!("README.md")]

macro_rules! pages {
    ($($page:ident)*) => {
        $(
            #[doc = include_str!(concat!(stringify!($page), ".md"))]
            pub mod $page {}
        )*
    };
}

pages! {
    export_my_struct
    mutability
    dtypes
    python_class
    accept_array
    several_dtypes
    return_array
    elementwise
    several_tensors
    records
    keep_argument
    change_in_place
    release_gil
    rayon
    async_functions
    ndarray
    errors
    generic_tensors
    device_functions
    import
    exchange_table
    new_device
    no_python
    from_rust_numpy
    from_nanobind
}
