use dlpack_traits::{DataType, ImportedStorage, Storage};

#[derive(DataType)]
pub enum BothByteOrders {
    U8,
    #[dlpack(big_endian, little_endian)]
    F32,
}

#[derive(Storage)]
pub enum ImportAndDtype {
    #[dlpack(import, dtype = F32)]
    Bytes(ImportedStorage<u8>),
}

#[derive(Storage)]
pub enum PackedAndPadded {
    #[dlpack(dtype = FLOAT4_E2M1FN, packed, padded)]
    F4(Vec<u8>),
}

#[derive(DataType)]
pub enum SkipAndDtype {
    F64,
    #[dlpack(skip, dtype = U8)]
    Byte,
}

fn main() {}

pub fn compiles_all_the_same(
    both_byte_orders: BothByteOrders,
    packed_and_padded: &PackedAndPadded,
    skip_and_dtype: SkipAndDtype,
) {
    let _ = DataType::try_from(&both_byte_orders).is_ok() && BothByteOrders::try_from(DataType::U8).is_ok();
    let _ = packed_and_padded.data();
    let _ = DataType::try_from(&skip_and_dtype).is_ok() && SkipAndDtype::try_from(DataType::U8).is_ok();
}
