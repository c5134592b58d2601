use dlpack_traits::{DLPackExport, Lanes};

#[derive(DLPackExport)]
pub struct NoType {
    #[dlpack(data, slice)]
    values: Vec<f32>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct Quoted {
    #[dlpack(data, slice = "f32")]
    values: Vec<f32>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct WithComma {
    #[dlpack(data, slice = Lanes<f32, 4>)]
    values: Vec<Lanes<f32, 4>>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(no_type: NoType, quoted: Quoted, comma: WithComma) {
    let _ = no_type.into_dlpack();
    let _ = quoted.into_dlpack();
    let _ = comma.into_dlpack();
}
