use dlpack_traits::DLPackExport;

pub struct Handle;

impl Handle {
    pub fn data(&self) -> *mut bool {
        core::ptr::null_mut()
    }

    pub fn len(&self) -> usize {
        0
    }
}

#[derive(DLPackExport)]
#[dlpack(shape(2))]
pub struct AnyBits(#[dlpack(unsafe(mut ptr, len(elements) = 2), with = Handle::data)] Handle);

#[derive(DLPackExport)]
#[dlpack(shape(2))]
pub struct NotClone(#[dlpack(unsafe(ptr, len(elements) = 2), with = Handle::data, shared)] Handle);

#[derive(DLPackExport)]
#[dlpack(shape(2))]
pub struct NotAPointer(#[dlpack(unsafe(ptr, len(elements) = 2), with = Handle::len)] Handle);

fn main() {}
