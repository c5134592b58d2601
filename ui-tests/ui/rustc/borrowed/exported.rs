use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Window<'a> {
    data: &'a [u8],
    shape: [usize; 2],
}

fn main() {}

pub fn outlives_its_memory(window: Window<'_>) {
    let _ = window.into_dlpack();
}
