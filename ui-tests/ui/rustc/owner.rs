use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct RcBeside {
    data: Vec<u8>,
    shape: [usize; 3],
    names: Vec<std::rc::Rc<str>>,
}

#[derive(DLPackExport)]
pub struct RcData {
    data: std::rc::Rc<[u8]>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(rc_beside: &RcBeside, rc_data: &RcData) {
    let _ = rc_beside.tensor();
    let _ = rc_data.tensor();
}
