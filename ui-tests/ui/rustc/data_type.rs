use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct NestedVec {
    data: Vec<Vec<f32>>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct NotAStorage {
    data: String,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(nested_vec: NestedVec, not_a_storage: NotAStorage) {
    let _ = nested_vec.into_dlpack();
    let _ = not_a_storage.into_dlpack();
}
