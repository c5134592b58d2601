use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct ByteOffsetField {
    data: Vec<u8>,
    shape: [usize; 2],
    byte_offset: Option<usize>,
}

#[derive(DLPackExport)]
pub struct DeviceField {
    data: Vec<u8>,
    shape: [usize; 2],
    device: &'static str,
}

#[derive(DLPackExport)]
pub struct DtypeField {
    data: Vec<u8>,
    shape: [usize; 2],
    dtype: String,
}

#[derive(DLPackExport)]
pub struct LayoutField {
    data: Vec<u8>,
    #[dlpack(layout)]
    placement: String,
}

#[derive(DLPackExport)]
pub struct LenField {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(len(bytes))]
    nbytes: String,
}

#[derive(DLPackExport)]
pub struct NdimField {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(ndim)]
    rank: String,
}

#[derive(DLPackExport)]
pub struct OffsetField {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(offset(elements))]
    start: String,
}

#[derive(DLPackExport)]
pub struct OrderField {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(order)]
    order: String,
}

#[derive(DLPackExport)]
pub struct PitchField {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(pitch(bytes))]
    pitch: String,
}

#[derive(DLPackExport)]
pub struct ShapeFieldFloats {
    data: Vec<u8>,
    shape: Vec<f32>,
}

#[derive(DLPackExport)]
pub struct ShapeFieldTuple {
    data: Vec<u8>,
    shape: (usize, usize),
}

#[derive(DLPackExport)]
pub struct StridesField {
    data: Vec<u8>,
    shape: [usize; 2],
    strides: Option<[isize; 2]>,
}

#[derive(DLPackExport)]
pub struct SyncField {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(sync)]
    event: String,
}

#[derive(DLPackExport)]
pub struct PointerField {
    #[dlpack(unsafe(ptr, len(bytes) = 4))]
    pixels: *const core::ffi::c_void,
    #[dlpack(owner)]
    file: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct ListedDimField {
    data: Vec<u8>,
    width: f32,
    height: u32,
}

#[derive(DLPackExport)]
#[dlpack(shape(2, Self::WIDTH))]
pub struct ConstantDimField {
    data: Vec<u8>,
}

impl ConstantDimField {
    const WIDTH: f32 = 3.0;
}

#[derive(DLPackExport)]
#[dlpack(strides(steps, 1))]
pub struct StrideField {
    data: Vec<u8>,
    shape: [usize; 2],
    steps: [isize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    byte_offset_field: ByteOffsetField,
    device_field: DeviceField,
    dtype_field: DtypeField,
    layout_field: LayoutField,
    len_field: LenField,
    ndim_field: NdimField,
    offset_field: OffsetField,
    order_field: OrderField,
    pitch_field: PitchField,
    shape_field_floats: ShapeFieldFloats,
    shape_field_tuple: ShapeFieldTuple,
    strides_field: StridesField,
    sync_field: SyncField,
    pointer_field: &PointerField,
    listed_dim_field: ListedDimField,
    constant_dim_field: ConstantDimField,
    stride_field: StrideField,
) {
    let _ = byte_offset_field.into_dlpack();
    let _ = device_field.into_dlpack();
    let _ = dtype_field.into_dlpack();
    let _ = layout_field.into_dlpack();
    let _ = len_field.into_dlpack();
    let _ = ndim_field.into_dlpack();
    let _ = offset_field.into_dlpack();
    let _ = order_field.into_dlpack();
    let _ = pitch_field.into_dlpack();
    let _ = shape_field_floats.into_dlpack();
    let _ = shape_field_tuple.into_dlpack();
    let _ = strides_field.into_dlpack();
    let _ = sync_field.into_dlpack();
    let _ = pointer_field.tensor();
    let _ = listed_dim_field.into_dlpack();
    let _ = constant_dim_field.into_dlpack();
    let _ = stride_field.into_dlpack();
}
