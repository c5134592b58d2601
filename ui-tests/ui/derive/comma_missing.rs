use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2, 3) read_only)]
pub struct AfterAList {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(crate = dlpack_traits shape(2, 2, 3))]
pub struct AfterAPath {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
#[dlpack(read_only shape(2, 2, 3))]
pub struct AfterAWord {
    data: Vec<u8>,
}

#[derive(DLPackExport)]
pub struct StringImage {
    #[dlpack(data "pixels")]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(
    after_a_list: AfterAList,
    after_a_path: AfterAPath,
    after_a_word: AfterAWord,
    string_image: StringImage,
) {
    let _ = after_a_list.into_dlpack();
    let _ = after_a_path.into_dlpack();
    let _ = after_a_word.into_dlpack();
    let _ = string_image.into_dlpack();
}
