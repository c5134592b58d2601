use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(crate = dlpack_traits)]
#[dlpack(crate = ::dlpack_traits)]
pub struct Crate {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 2), shape(4))]
pub struct Shape {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
pub struct Skip {
    data: Vec<u8>,
    shape: [usize; 3],
    #[dlpack(skip, skip)]
    device: String,
}

#[derive(DLPackExport)]
#[dlpack(skip(id))]
pub struct SkipTwice {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(skip)]
    id: u64,
}

#[derive(DLPackExport)]
#[dlpack(transparent, transparent)]
pub struct Transparent(Tensor);

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    crate_image: Crate,
    shape: Shape,
    skip: Skip,
    skip_twice: SkipTwice,
    transparent: Transparent,
) {
    let _ = crate_image.into_dlpack();
    let _ = shape.into_dlpack();
    let _ = skip.into_dlpack();
    let _ = skip_twice.into_dlpack();
    let _ = transparent.into_dlpack();
}
