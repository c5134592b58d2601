use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(read_only(true))]
pub struct List {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct Ndim {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(ndim = 2)]
    rank: usize,
}

#[derive(DLPackExport)]
#[dlpack(padded = true)]
pub struct Padded {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct Role {
    #[dlpack(data = "pixels")]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(spare_capacity = 4)]
pub struct Spare {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(list: List, ndim: Ndim, padded: Padded, role: Role, spare: Spare) {
    let _ = list.into_dlpack();
    let _ = ndim.into_dlpack();
    let _ = padded.into_dlpack();
    let _ = role.into_dlpack();
    let _ = spare.into_dlpack();
}
