//! Exports and imports of buffers: a handle, and an offset beside it.

use dlpack_accelerator_tests::cl::{check, devices};
use dlpack_traits::backend::{
    Backends, Cpu, DeviceBuffer, OpenCl, Prototype, WorkStream, copy_on_device, copy_to_host,
};
use dlpack_traits::{
    AsLayout, DLPackExport, DataType, Describe, Description, Dims, Error, Flags, ImportedStorage,
    ImportedTensor, Storage, StreamArg,
};

/// A window of a buffer: not contiguous, and not at its start.
struct Window(DeviceBuffer<OpenCl>);

impl DLPackExport for Window {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2, 2]).strides(&[3, -1]).offset(2).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

/// A foreign tensor, and the stream after whose work it is ready.
struct Taken(DeviceBuffer<OpenCl>, ImportedStorage);

impl Taken {
    fn new(tensor: ImportedTensor) -> Result<Self, Error> {
        let stream = WorkStream::current(tensor.device())?;
        let foreign: ImportedStorage = ImportedStorage::new(tensor)?;
        // SAFETY: 1. No work is pending, or it is the current stream's.
        Ok(Self(unsafe { DeviceBuffer::from_foreign(foreign.clone(), stream) }?, foreign))
    }
}

impl DLPackExport for Taken {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.layout(self.1.layout()).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

#[test]
fn devices_are_numbered_across_platforms() -> Result<(), Error> {
    let devices = devices();
    if !devices.is_empty() {
        assert_eq!(OpenCl::device_count()?, devices.len());
    }
    Ok(())
}

/// The handle is never moved: offsets go beside it, out and in.
#[test]
fn a_handle_is_exported_and_imported() -> Result<(), Error> {
    for cl in devices() {
        let elements = DeviceBuffer::<OpenCl>::from_slice(cl.device, &[0_u32, 1, 2, 3, 4, 5])?;
        let handle = elements.as_ptr();
        let window = Window(elements);
        window.tensor()?.sync_for(StreamArg::unspecified())?;
        // SAFETY: 1. It was just exported and has no other owner.
        let imported = unsafe { ImportedTensor::from_raw(window.to_dlpack()?.into_raw()) }?;
        drop(window);
        assert_eq!(imported.device(), cl.device);
        assert_eq!((imported.data_ptr(), imported.byte_offset()), (handle.cast_const().cast(), 8));
        // SAFETY: 1. The tensor has a reference to the buffer.
        let memory = unsafe { OpenCl::memory(handle) }?;
        assert_eq!((memory.as_ptr(), memory.byte_len()), (handle, 24));
        memory.holds(&imported)?;
        drop(memory);

        let taken = Taken::new(imported)?;
        let copy = copy_to_host::<(Cpu, OpenCl), _>(&taken)?;
        assert_eq!(copy.flags(), Flags::IS_COPIED);
        assert_eq!(copy.import()?.elements::<u32>()?.to_vec()?, [2, 1, 5, 4]);

        let copy = copy_on_device::<OpenCl, _>(&taken, StreamArg::unspecified())?.import()?;
        assert_eq!((copy.device(), copy.flags()), (cl.device, Flags::IS_COPIED));
        assert_ne!(copy.data_ptr(), handle.cast_const().cast());
        let host = copy_to_host::<OpenCl, _>(&Taken::new(copy)?)?.import()?;
        assert_eq!(host.elements::<u32>()?.to_vec()?, [2, 1, 5, 4]);
    }
    Ok(())
}

/// The deleter releases the reference that the export holds.
#[test]
fn foreign_buffers_are_retained() -> Result<(), Error> {
    for cl in devices() {
        let (queue, buffer) = (cl.queue(true), cl.buffer(64));
        cl.fill(queue, buffer, 7, 64);
        cl.finish(queue);
        let before = cl.references(buffer);
        // SAFETY: 1. A buffer of the test.
        let memory = unsafe { OpenCl::memory(buffer) }?;
        assert_eq!(cl.references(buffer), before + 1);
        // SAFETY: 1. Its work is done. 2. It is of `Cl::buffer`.
        let ours = unsafe { OpenCl::adopt(memory, DataType::U8, cl.stream(queue)) }?;
        assert_eq!(ours.to_vec::<u8>()?, [7; 64]);
        let raw = Window(ours).to_dlpack()?.into_raw();
        assert_eq!(cl.references(buffer), before + 1, "the export has it");
        // SAFETY: 1. It was just exported and has no other owner.
        drop(unsafe { ImportedTensor::from_raw(raw) }?);
        assert_eq!(cl.references(buffer), before);
        // SAFETY: the test's own.
        check(unsafe { (cl.calls.clReleaseMemObject)(buffer) });
    }
    Ok(())
}

#[test]
fn the_table_allocates_for_kernels() -> Result<(), Error> {
    for cl in devices() {
        let shape = [3_i64, 2];
        let prototype = Prototype::new(DataType::F64, Dims::of(&shape)?, cl.device)?;
        let tensor = <(Cpu, OpenCl)>::allocate(&prototype)?.import()?;
        assert_eq!((tensor.device(), tensor.shape()), (cl.device, &shape[..]));
        let host = copy_to_host::<OpenCl, _>(&Taken::new(tensor)?)?.import()?;
        assert_eq!(host.elements::<f64>()?.to_vec()?, [0.0; 6]);
    }
    Ok(())
}

/// New memory of a thread that entered a queue is of that queue's context.
#[test]
fn foreign_contexts_are_entered() -> Result<(), Error> {
    for cl in devices() {
        let queue = cl.queue(false);
        let entered = OpenCl::enter(cl.stream(queue));
        let ours = DeviceBuffer::<OpenCl>::from_slice(cl.device, &[1_u8, 2, 3])?;
        drop(entered);
        assert_eq!(ours.stream().handle().as_ptr(), queue);
        let mut read = [0; 3];
        cl.read(queue, ours.as_ptr(), &mut read);
        cl.finish(queue);
        assert_eq!(read, [1, 2, 3]);
        assert_eq!(ours.to_vec::<u8>()?, [1, 2, 3], "also where the queue has no order");
    }
    Ok(())
}
