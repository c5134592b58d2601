use dlpack_traits::DLPackExport;

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
pub struct Two {
    #[dlpack(data, slice = f32 f64)]
    values: Vec<f32>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(no_type: NoType, quoted: Quoted, two: Two) {
    let _ = no_type.into_dlpack();
    let _ = quoted.into_dlpack();
    let _ = two.into_dlpack();
}
