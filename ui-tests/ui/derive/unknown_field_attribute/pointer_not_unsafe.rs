use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
struct Frame {
    #[dlpack(ptr)]
    pixels: *const u8,
    #[dlpack(owner)]
    owner: Box<[u8]>,
    shape: [usize; 1],
}

fn main() {}
