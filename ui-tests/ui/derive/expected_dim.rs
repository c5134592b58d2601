use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, { 3 }))]
pub struct Block {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(shape(2, -))]
pub struct EndsEarly {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(shape(2 * 2, 3))]
pub struct Expression {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 3.0))]
pub struct Float {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(strides(-row, 1))]
pub struct Negated {
    data: Vec<u8>,
    shape: [usize; 2],
    row: isize,
}

#[derive(DLPackExport)]
#[dlpack(offset(elements) = start + 1)]
pub struct Sum {
    data: Vec<u8>,
    shape: [usize; 2],
    start: usize,
}

#[derive(DLPackExport)]
#[dlpack(pitch(bytes) = -8)]
pub struct Negative {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(device = "cpu")]
pub struct OnDevice {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    block: Block,
    ends_early: EndsEarly,
    expression: Expression,
    float: Float,
    negated: Negated,
    sum: Sum,
    negative: Negative,
    on_device: OnDevice,
) {
    let _ = block.into_dlpack();
    let _ = ends_early.into_dlpack();
    let _ = expression.into_dlpack();
    let _ = float.into_dlpack();
    let _ = negated.into_dlpack();
    let _ = sum.into_dlpack();
    let _ = negative.into_dlpack();
    let _ = on_device.into_dlpack();
}
