//! Import: which foreign structs are valid, how they are read, and that the
//! deleter runs exactly once.
//!
//! The letters with numbers name the rules of `docs/soundness.md`, section "Import".

mod import {
    pub(crate) mod accepts;
    pub(crate) mod arrays;
    pub(crate) mod block_layouts;
    pub(crate) mod blocks;
    pub(crate) mod byte_wise;
    mod elements_as;
    pub(crate) mod forge;
    pub(crate) mod large_elements;
    pub(crate) mod one_slice;
    pub(crate) mod overlaps;
    pub(crate) mod own;
    pub(crate) mod owned_slice;
    pub(crate) mod passed_on;
    pub(crate) mod readable;
    pub(crate) mod rejects;
    pub(crate) mod relocated;
    mod rows;
    pub(crate) mod states;
    mod sub_views;
    pub(crate) mod views;
    mod windows;
    mod zipped;
}
