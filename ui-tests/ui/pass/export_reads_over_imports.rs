use dlpack_traits::DLPackExport;

/// Every word that is for imports.
#[derive(DLPackExport)]
#[dlpack(require(device = cpu, rank = 1), construct = Image::new, validate = Image::check)]
pub struct Image {
    #[dlpack(data, copy)]
    pixels: Vec<u8>,
    shape: [usize; 1],
    #[dlpack(default = String::new)]
    name: String,
}

fn main() {
    let image = Image { pixels: vec![0; 2], shape: [2], name: String::new() };
    assert_eq!(image.tensor().unwrap().shape(), [2]);
    drop(image.name);
}
