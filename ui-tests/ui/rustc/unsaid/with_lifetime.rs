use dlpack_traits::DLPackExport;

type Px = u32;

pub struct Name<'a>(pub &'a str);

#[derive(DLPackExport)]
pub struct Image<'a> {
    data: &'a [u8],
    shape: [usize; 2],
    name: &'a Name<'a>,
    row: &'a Px,
}

fn main() {}
