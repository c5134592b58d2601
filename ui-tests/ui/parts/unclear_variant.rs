use dlpack_traits::DataType;

#[derive(DataType)]
pub enum Complex64 {
    F32,
    Complex64,
}

#[derive(DataType)]
pub enum Float4 {
    F32,
    F4,
}

#[derive(DataType)]
pub enum Float8 {
    F32,
    F8E4M3,
}

#[derive(DataType)]
pub enum Fp8 {
    U8,
    FP8,
}

#[derive(DataType)]
pub enum StringKind {
    F32,
    Utf8,
}

fn main() {}

pub fn compiles_all_the_same(
    complex64: Complex64,
    float4: Float4,
    float8: Float8,
    fp8: Fp8,
    string_kind: StringKind,
) {
    let _ = DataType::try_from(&complex64).is_ok() && Complex64::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&float4).is_ok() && Float4::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&float8).is_ok() && Float8::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&fp8).is_ok() && Fp8::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&string_kind).is_ok() && StringKind::try_from(DataType::U8).is_ok();
}
