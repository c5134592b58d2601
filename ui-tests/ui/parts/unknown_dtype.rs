use dlpack_traits::{DLPackExport, DLPackImport, DataType, ImportedStorage};

#[derive(DataType)]
pub enum Ambiguous {
    #[dlpack(dtype = E4M3)]
    F8,
}

#[derive(DLPackExport)]
#[dlpack(dtype = bfloat16)]
pub struct Bfloat16 {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DataType)]
pub enum Far {
    #[dlpack(dtype = Utf8)]
    Text,
}

#[derive(DataType)]
pub enum LowerCase {
    #[dlpack(dtype = float8_e4m3fn)]
    F8,
}

#[derive(DLPackExport)]
#[dlpack(dtype = int8)]
pub struct Numpy {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(dtype = FLOAT32)]
pub struct NumpyUpper {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackImport)]
#[dlpack(require(dtype(uint16, F32)))]
pub struct Required {
    data: ImportedStorage,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(dtype = BF17)]
pub struct Similar {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    ambiguous: Ambiguous,
    bfloat16: Bfloat16,
    far: Far,
    lower_case: LowerCase,
    numpy: Numpy,
    numpy_upper: NumpyUpper,
    similar: Similar,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = DataType::try_from(&ambiguous).is_ok() && Ambiguous::try_from(DataType::U8).is_ok();
    let _ = bfloat16.into_dlpack();
    let _ = DataType::try_from(&far).is_ok() && Far::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&lower_case).is_ok() && LowerCase::try_from(DataType::U8).is_ok();
    let _ = numpy.into_dlpack();
    let _ = numpy_upper.into_dlpack();
    let _ = Required::from_dlpack(tensor());
    let _ = similar.into_dlpack();
}
