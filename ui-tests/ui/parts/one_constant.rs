use dlpack_traits::Record;

#[allow(non_snake_case)]
#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct Named {
    bodyMass: f32,
    body_mass: f32,
}

fn main() {}
