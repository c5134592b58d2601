//! The same frame.

use std::sync::Arc;

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(height, width, 4))]
pub struct Frame {
    #[dlpack(data)]
    pub pixels: Arc<[u8]>,
    pub width: u32,
    pub height: u32,
    #[dlpack(pitch(bytes))]
    pub pitch: usize,
}
