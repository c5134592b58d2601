//! Publishes frames, one for each line on the standard input.
//!
//! `publisher FOLDER SERVICE ROWS COLUMNS`. It prints the number and the address of each frame.

#[path = "../service.rs"]
mod service;

use std::error::Error;
use std::io::{self, BufRead, Write};

use service::SharedByte;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, rows, columns] = arguments.as_slice() else {
        return Err("usage: publisher FOLDER SERVICE ROWS COLUMNS".into());
    };
    let (rows, columns): (u64, u64) = (rows.parse()?, columns.parse()?);
    let elements = usize::try_from(rows.checked_mul(columns).ok_or("too many elements")?)?;
    let bytes = elements.checked_mul(size_of::<f32>()).ok_or("too many elements")?;

    let (_node, service) = service::open(folder, name)?;
    let publisher = service.publisher_builder().initial_max_slice_len(bytes).create()?;
    let mut output = io::stdout().lock();
    for (number, line) in (0_u64..).zip(io::stdin().lock().lines()) {
        line?;
        // A slot that no subscriber has.
        let mut sample = publisher.loan_slice(bytes)?;
        let address = sample.payload().as_ptr().addr() as u64;
        *sample.user_header_mut() = service::Header { number, rows, columns, address };
        draw(sample.payload(), number);
        sample.send()?;
        writeln!(output, "{number} {address}")?;
        output.flush()?;
    }
    Ok(())
}

/// Writes the elements `number`, `number + 1`, `number + 2`, ... as `f32`.
fn draw(payload: &[SharedByte], number: u64) {
    for (index, element) in (0_u64..).zip(payload.chunks_exact(size_of::<f32>())) {
        let value = (number + index) as f32;
        for (byte, value) in element.iter().zip(value.to_ne_bytes()) {
            byte.store(value);
        }
    }
}
