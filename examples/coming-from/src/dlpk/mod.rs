//! An export before, and after.

pub mod after;
pub mod before;
