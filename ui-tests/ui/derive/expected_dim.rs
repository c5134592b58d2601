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

fn main() {}

pub fn compiles_all_the_same(
    block: Block,
    ends_early: EndsEarly,
    expression: Expression,
    float: Float,
    negated: Negated,
) {
    let _ = block.into_dlpack();
    let _ = ends_early.into_dlpack();
    let _ = expression.into_dlpack();
    let _ = float.into_dlpack();
    let _ = negated.into_dlpack();
}
