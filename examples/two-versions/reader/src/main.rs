//! A derive without `crate = ..`, in a crate that depends on the runtime only by the library.

#[derive(library::dlpack_traits::DLPackExport)]
struct Row {
    data: Vec<f32>,
    shape: [usize; 1],
}

fn main() {
    drop(Row { data: Vec::new(), shape: [0] });
}
