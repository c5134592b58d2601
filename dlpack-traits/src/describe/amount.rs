//! A distance in elements or in bytes: [`Amount`].

/// A distance, in the unit in which it was given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    Elements(i64),
    Bytes(u64),
}
