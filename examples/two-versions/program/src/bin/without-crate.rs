//! A derive of the library's version without `crate = ..`: it finds this program's version.

#[derive(library::dlpack_traits::DLPackExport)]
struct Row {
    data: Vec<f32>,
    shape: [usize; 1],
}

fn main() {
    drop(Row { data: Vec::new(), shape: [0] });
}
