use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(dtype(BF16))]
pub struct List {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(dtype = "float32")]
pub struct Numpy {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(dtype = "bfloat16")]
pub struct StringImage {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(list: List, numpy: Numpy, string_image: StringImage) {
    let _ = list.into_dlpack();
    let _ = numpy.into_dlpack();
    let _ = string_image.into_dlpack();
}
