use dlpack_traits::{DataRef, Synchronize};

pub fn attach<'a, S: Synchronize>(data: DataRef<'a>, sync: &'a S) -> DataRef<'a> {
    data.synchronized_by(sync)
}

fn main() {}
