//! A library with a tensor type, whose feature `dlpack` exports it. `docs/library-authors.md`
//! describes the form.

#[cfg(feature = "dlpack")]
pub use dlpack_traits;

/// A grid of heights, in row-major order.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "dlpack", derive(dlpack_traits::DLPackExport, dlpack_traits::DLPackImport))]
pub struct Grid {
    #[cfg_attr(feature = "dlpack", dlpack(copy))]
    pub data: Vec<f32>,
    pub shape: [usize; 2],
}
