use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Bare {
    #[dlpack(unsafe)]
    pixels: *mut f32,
    #[dlpack(owner)]
    file: Vec<f32>,
    size: usize,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct Expression {
    #[dlpack(unsafe(data = self.pixels))]
    pixels: *mut f32,
    #[dlpack(owner)]
    file: Vec<f32>,
    size: usize,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct MutableType {
    #[dlpack(unsafe(ptr mut, len(elements) = 3))]
    pixels: *mut f32,
    #[dlpack(owner)]
    file: Vec<f32>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct NoEquals {
    #[dlpack(unsafe(ptr, len(elements)))]
    pixels: *mut f32,
    #[dlpack(owner)]
    file: Vec<f32>,
    size: usize,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    bare: &Bare,
    expression: &Expression,
    mutable_type: &MutableType,
    no_equals: &NoEquals,
) {
    let _ = bare.tensor();
    let _ = expression.tensor();
    let _ = mutable_type.tensor();
    let _ = no_equals.tensor();
}
