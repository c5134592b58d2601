//! Backends that look up the device of an address: [`PointerAttributes`].

use core::ffi::c_void;
use core::marker::PhantomData;

use super::backend_trait::{AttributesOf, Backend};
use super::memory::Attributes;
use crate::device::Device;
use crate::error::Error;

/// Looks up the device that an address or handle belongs to. A foreign struct names a
/// device too, but may be wrong.
///
/// # Safety
///
/// 1. The result of [`attributes`](Self::attributes) is right, for memory that is alive.
#[diagnostic::on_unimplemented(
    message = "the backend `{Self}` does not tell what is behind an address",
    label = "no `PointerAttributes`",
    note = "implement `dlpack_traits::backend::PointerAttributes` for it; exporting needs none"
)]
pub unsafe trait PointerAttributes: Backend {
    /// The attributes of `data`. The pointer is not dereferenced.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] with `hint` for memory that does not belong to the runtime, and
    /// those of the runtime.
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error>;
}

impl<B: PointerAttributes> AttributesOf<B> {
    /// The proof for a backend that implements the trait.
    pub const THIS: Self = Self { attributes: B::attributes, of: PhantomData };
}
