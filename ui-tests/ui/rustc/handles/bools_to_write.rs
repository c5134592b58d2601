use dlpack_traits::{Error, Exclusive};

pub fn clear(mut mask: Exclusive<'_>) -> Result<(), Error> {
    mask.as_mut_slice::<bool>()?.fill(false);
    Ok(())
}

fn main() {}
