//! An attribute macro below the derive leaves an alias of a reference to a struct
//! with such a field.
#![forbid(unsafe_code)]

pub struct Part {
    pub f: i64,
}

#[derive(dlpack_traits::Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
#[changes::replaced_by(pub type Number = &'static Part;)]
pub struct Number {
    f: i64,
}

fn main() {}
