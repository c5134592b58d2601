//! The derives, as a consumer sees their tensors: one module for each subject.

#![expect(non_ascii_idents, reason = "names of fields are any identifiers (`derive::record`)")]

mod derive {
    mod as_layout;
    mod conversions;
    mod data_type;
    mod element;
    mod element_types;
    mod errors;
    mod expanded;
    mod generics;
    mod items;
    mod listed_shapes;
    mod listed_strides;
    mod nested_layout;
    mod offsets;
    mod property;
    mod record;
    mod roles;
    mod stated;
    mod steps;
    mod storage;
    mod sync;

    // They start threads, map files, or expect that a `usize` may exceed an `i64`.
    #[cfg(not(target_family = "wasm"))]
    mod drops;
    #[cfg(not(target_family = "wasm"))]
    mod parts_interop;
    #[cfg(not(target_family = "wasm"))]
    mod pointers;
    #[cfg(not(target_family = "wasm"))]
    mod slices;
    #[cfg(not(target_family = "wasm"))]
    mod with;
}
