use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Mut {
    data: *mut f32,
    len: usize,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct NonNull {
    #[dlpack(data)]
    pixels: core::ptr::NonNull<f32>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(mut_image: &Mut, non_null: &NonNull) {
    let _ = mut_image.tensor();
    let _ = non_null.tensor();
}
