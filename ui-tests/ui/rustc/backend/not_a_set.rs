use dlpack_traits::backend::{Backends, Cpu};

pub struct Npu;

fn main() {}

fn serves<Set: Backends>() {}

pub fn forgot_to_implement_it() {
    serves::<(Cpu, Npu)>();
}
