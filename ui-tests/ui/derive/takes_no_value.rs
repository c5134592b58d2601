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

fn main() {}

pub fn compiles_all_the_same(list: List, ndim: Ndim, padded: Padded, role: Role) {
    let _ = list.into_dlpack();
    let _ = ndim.into_dlpack();
    let _ = padded.into_dlpack();
    let _ = role.into_dlpack();
}
