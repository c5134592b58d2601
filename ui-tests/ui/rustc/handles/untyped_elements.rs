use dlpack_traits::{Error, Foreign};

pub fn read(any: &Foreign) -> Result<(), Error> {
    let _ = any.elements()?;
    Ok(())
}

fn main() {}
