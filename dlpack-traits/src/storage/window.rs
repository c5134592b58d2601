//! The bytes of a storage: [`Window`].

/// The bytes that a storage lends. Offsets of a description count from the first of them, on
/// every device, and no element is outside of them.
///
/// The C struct for a device without addresses has the offset of the window and that of the
/// description in one number, so no description reaches the bytes of the object below the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// First byte, or on devices without addresses the handle of the object with the bytes.
    pub(crate) data: *mut u8,
    /// Bytes from the handle to the first byte; 0 on devices with addresses.
    pub(crate) byte_offset: usize,
    /// Length in bytes. Offset and length together are at most `isize::MAX`.
    pub(crate) byte_len: usize,
}

impl Window {
    /// All bytes of an allocation or object.
    #[inline(always)]
    pub(crate) const fn whole(data: *mut u8, byte_len: usize) -> Self {
        Self { data, byte_offset: 0, byte_len }
    }
}
