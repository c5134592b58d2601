use dlpack_traits::backend::DeviceBuffer;

pub struct Npu;

pub struct Tensor {
    pub data: DeviceBuffer<Npu>,
    pub shape: [usize; 1],
}

fn main() {}
