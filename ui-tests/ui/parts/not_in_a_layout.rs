use dlpack_traits::AsLayout;

#[derive(AsLayout)]
pub struct DataLayout {
    shape: [usize; 2],
    #[dlpack(data)]
    bytes: Vec<u8>,
}

#[derive(AsLayout)]
pub struct DtypeByName {
    shape: [usize; 2],
    dtype: u8,
}

fn main() {}

pub fn compiles_all_the_same(data_layout: &DataLayout, dtype_by_name: &DtypeByName) {
    let _ = data_layout.layout();
    let _ = dtype_by_name.layout();
}
