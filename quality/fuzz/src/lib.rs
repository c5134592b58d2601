//! What the fuzz targets share: numbers that are often wrong, structs that say
//! anything, and what an importer must make of them.

pub mod judge;
pub mod number;
pub mod reading;
pub mod wild;
