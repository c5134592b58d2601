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

fn main() {}

pub fn compiles_all_the_same(
    block: Block,
    ends_early: EndsEarly,
    expression: Expression,
    float: Float,
) {
    let _ = block.into_dlpack();
    let _ = ends_early.into_dlpack();
    let _ = expression.into_dlpack();
    let _ = float.into_dlpack();
}
