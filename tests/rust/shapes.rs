//! The shapes that structs of real projects have, one module for each, as a
//! consumer in C sees them: values, type, shape, strides, flags, one drop.
//!
//! | module | what it holds |
//! |---|---|
//! | `zarr_chunk` | bytes, a shape, a run-time element type |
//! | `const_rank` | a buffer of one's own, a rank in the type, strides |
//! | `newtype_image` | a newtype over something exportable |
//! | `tensor_data` | `Bytes`, a shape type of one's own, a run-time element type |
//! | `mapped_slice` | a shared memory map, offset and length in bytes |
//! | `flex_tensor` | shared bytes, a layout struct, a run-time element type |
//! | `storage_enum` | a storage with a variant for each element type |
//! | `device_enum` | a storage with a variant for each device |
//! | `enum_of_exportables` | an enum over tensors, owned or shared |
//! | `padded_rows` | a leading dimension in elements, an order at run time |
//! | `column_major` | nested arrays, by columns |
//! | `row_pitch` | a row pitch, or all strides, in bytes |
//! | `image_buffer` | scalar fields and an associated constant as shape |
//! | `pixel_newtype` | elements of one's own: newtypes, axes, lanes |
//! | `signed_strides_event` | negative strides, an offset, an event |
//! | `packed_subbyte` | elements narrower than a byte |
//! | `borrowed_view` | borrowed bytes: a view, no export |
//! | `python_owner` | one object, many exports |
//! | `dyn_storage` | memory behind a trait object |
//! | `raw_pointer` | a pointer from C, with an owner |
//! | `lock_guarded` | elements behind a lock |
//! | `pool_handle` | a handle that a server resolves, by hand |
//! | `opaque` | a handle of a C++ library, by hand; a surface without address |
//!
//! Buffers of accelerators are tested where their backends are.

mod shapes {
    pub(crate) mod consumer;
    pub(crate) mod mapped_file;

    mod borrowed_view;
    mod column_major;
    mod const_rank;
    mod device_enum;
    mod dyn_storage;
    mod enum_of_exportables;
    mod flex_tensor;
    mod image_buffer;
    mod lock_guarded;
    mod mapped_slice;
    mod newtype_image;
    mod opaque;
    mod packed_subbyte;
    mod padded_rows;
    mod pixel_newtype;
    mod pool_handle;
    mod python_owner;
    mod raw_pointer;
    mod row_pitch;
    mod signed_strides_event;
    mod storage_enum;
    mod tensor_data;
    mod zarr_chunk;
}
