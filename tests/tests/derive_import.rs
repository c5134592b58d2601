//! `#[derive(DLPackImport)]`: every role, in and out again.

use std::sync::Arc;
use tensors::*;

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors)]
struct Image {
    data: Foreign<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport, DLPackImport)]
#[dlpack(crate = ::tensors, shape(rows, columns, 3), require(rank = 3, device = cpu, dtype(F32, F64), contiguous))]
struct Rows {
    #[dlpack(data, copy)]
    data: Vec<f32>,
    rows: u32,
    columns: u8,
    #[dlpack(default)]
    name: String,
    #[dlpack(pitch(bytes))]
    pitch: usize,
}

#[test]
fn smoke() {
    let image = (|| {
        Ok::<_, ImportError>(Image::from_dlpack(unsafe {
            Rows { data: vec![0.0; 6], rows: 1, columns: 2, name: String::new(), pitch: 24 }
                .into_dlpack()?
                .import()?
        })?)
    })();
    println!("{}", image.map(|_| ()).unwrap_err());
    let rows = Rows::from_dlpack(unsafe {
        Rows { data: vec![0.0; 6], rows: 1, columns: 2, name: String::new(), pitch: 24 }
            .into_dlpack()
            .unwrap()
            .import()
            .unwrap()
    });
    println!("{:?}", rows.map(|_| ()));
}
