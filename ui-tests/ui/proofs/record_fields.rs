//! Attribute macros below the derive replace a field of a record, and add one.
#![forbid(unsafe_code)]

use dlpack_traits::Record;

#[derive(Record)]
#[repr(C)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct Pointer { mass: f32, place: &'static i64 }
)]
pub struct Pointer {
    mass: f32,
    #[dlpack(skip)]
    place: i64,
}

#[derive(Record)]
#[repr(C)]
#[changes::replaced_by(
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct Wider { mass: i64, name: &'static str }
)]
pub struct Wider {
    mass: i64,
}

mod fake {
    #[derive(Clone, Copy)]
    pub enum PhantomData {}
}
use fake::PhantomData;

#[derive(Clone, Copy, Record)]
#[dlpack(any_bits)]
#[repr(C)]
pub struct WithoutValues {
    mass: f32,
    marker: PhantomData,
}

fn main() {}
