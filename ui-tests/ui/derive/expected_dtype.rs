use dlpack_traits::{DLPackExport, DataType};

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

#[derive(DataType)]
pub enum Bare {
    #[dlpack(dtype)]
    F8,
}

#[derive(DataType)]
pub enum Computed {
    #[dlpack(dtype = self.kind())]
    F8,
}

#[derive(DataType)]
pub enum VariantList {
    #[dlpack(dtype(F32))]
    Single,
}

#[derive(DataType)]
pub enum VariantString {
    #[dlpack(dtype = "float8_e4m3fn")]
    F8,
}

fn main() {}

pub fn compiles_all_the_same(
    list: List,
    numpy: Numpy,
    string_image: StringImage,
    bare: Bare,
    computed: Computed,
    variant_list: VariantList,
    variant_string: VariantString,
) {
    let _ = list.into_dlpack();
    let _ = numpy.into_dlpack();
    let _ = string_image.into_dlpack();
    let _ = DataType::try_from(&bare).is_ok() && Bare::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&computed).is_ok() && Computed::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&variant_list).is_ok() && VariantList::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&variant_string).is_ok() && VariantString::try_from(DataType::U8).is_ok();
}
