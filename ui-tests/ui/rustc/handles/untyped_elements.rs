use dlpack_traits::{Error, ImportedStorage};

pub fn read(any: &ImportedStorage) -> Result<(), Error> {
    let _ = any.elements()?;
    Ok(())
}

fn main() {}
