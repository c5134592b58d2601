use dlpack_traits::python::PyTensor;

pub fn blocks(x: &PyTensor<'_, bool>) -> usize {
    let mut count = 0;
    x.elements().for_each_block(|block| count += block.len());
    count
}

fn main() {}
