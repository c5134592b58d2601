use dlpack_traits::{AsLayout, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct CopyField {
    #[dlpack(copy)]
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
pub struct DefaultField {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(default)]
    thread: std::thread::Thread,
}

#[derive(DLPackImport)]
pub struct DeviceField {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    device: i32,
}

#[derive(DLPackImport)]
pub struct DtypeField {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: [usize; 3],
    dtype: &'static str,
}

#[derive(AsLayout)]
pub struct Dense {
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
pub struct LayoutField {
    data: ImportedStorage<u8>,
    #[dlpack(layout)]
    layout: Dense,
}

#[derive(DLPackImport)]
pub struct OrderField {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(order)]
    by_columns: bool,
}

#[derive(DLPackImport)]
pub struct ShapeField {
    data: ImportedStorage<u8>,
    shape: &'static [usize],
}

#[derive(DLPackImport)]
pub struct StorageField {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
#[dlpack(validate = ValidateField::check)]
pub struct ValidateField {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
}

pub struct Bad;

impl ValidateField {
    fn check(&self) -> Result<(), Bad> {
        Ok(())
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = CopyField::from_dlpack(tensor());
    let _ = DefaultField::from_dlpack(tensor());
    let _ = DeviceField::from_dlpack(tensor());
    let _ = DtypeField::from_dlpack(tensor());
    let _ = LayoutField::from_dlpack(tensor());
    let _ = OrderField::from_dlpack(tensor());
    let _ = ShapeField::from_dlpack(tensor());
    let _ = StorageField::from_dlpack(tensor());
    let _ = ValidateField::from_dlpack(tensor());
}
