use dlpack_traits::{DLPackExport, Record, Records};

/// Bytes 1 to 3 are padding.
#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct Padded {
    kind: u8,
    mass: f32,
}

/// The last 4 bytes are padding.
#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct PaddedAtTheEnd {
    time: f64,
    mass: f32,
}

#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct Skipped {
    mass: f32,
    #[dlpack(skip)]
    letter: char,
}

#[derive(Clone, Copy, Record)]
#[dlpack(any_bits)]
#[repr(C)]
pub struct Flagged {
    on: bool,
}

#[derive(Record)]
#[repr(C)]
pub struct NotCopy {
    mass: f32,
}

mod inside {
    #[derive(Clone, Copy, dlpack_traits::Record)]
    #[repr(C)]
    pub struct Particle {
        pub mass: f32,
        id: u32,
    }
}
use inside::Particle;

#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct Planet {
    mass: f32,
}

fn main() {}

pub fn private(particles: &[Particle]) {
    let _ = particles.field(Particle::ID).tensor();
}

pub fn of_another_record(planets: &[Planet]) {
    let _ = planets.field(Particle::MASS).tensor();
}
