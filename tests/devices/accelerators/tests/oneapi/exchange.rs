//! Exports and imports of every kind of USM, by the index of its root device.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlpack_accelerator_tests::sycl::{Ref, Sycl, sycl};
use dlpack_traits::backend::{
    Attributes, Backends, Cpu, DeviceBuffer, FreeOrder, MemoryRange, OneApi, Prototype, UsmKind,
    WorkStream, copy_on_device, copy_to_host,
};
use dlpack_traits::{
    AsLayout, DLPackExport, DataType, Describe, Description, Dims, Error, Flags, ImportedStorage,
    ImportedTensor, Storage, StreamArg,
};

const KINDS: [UsmKind; 3] = [UsmKind::Device, UsmKind::Shared, UsmKind::Host];

/// A window of a buffer: not contiguous, and not at its start.
struct Window(DeviceBuffer<OneApi>);

impl DLPackExport for Window {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2, 2]).strides(&[3, -1]).offset(2).data(self.0.data())
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.0)
    }
}

/// A foreign tensor, and the stream after whose work it is ready.
struct Taken(DeviceBuffer<OneApi>, ImportedStorage);

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

/// Numbers from 0 up, in memory of a kind, written by a queue.
fn counting(sycl: &Sycl, kind: UsmKind, count: u32) -> Result<DeviceBuffer<OneApi>, Error> {
    let stream = WorkStream::current(sycl.device())?;
    let buffer = OneApi::zeroed_usm(kind, stream, DataType::U32, count as usize)?;
    assert_eq!(buffer.to_vec::<u32>()?, vec![0; count as usize], "new memory is zeroed");
    let numbers: Vec<u32> = (0..count).collect();
    let source = DeviceBuffer::<OneApi>::from_slice(sycl.device(), &numbers)?;
    let queue = buffer.stream().handle().as_ptr();
    sycl.copy(queue, source.as_ptr(), buffer.as_ptr(), buffer.byte_len());
    sycl.wait(queue);
    Ok(buffer)
}

#[test]
fn devices_are_the_root_devices_of_dpctl() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    assert_eq!(OneApi::device_count()?, sycl.roots.len());
    Ok(())
}

/// Exports through the C struct, imports again, and checks the runtime's metadata at each
/// step.
#[test]
fn memory_of_every_kind_is_exported_and_imported() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    for kind in KINDS {
        let window = Window(counting(sycl, kind, 6)?);
        // SAFETY: 1. The default context.
        let out = unsafe { OneApi::exported(window.0.as_ptr(), sycl.context) }?;
        assert_eq!((out.device(), out.kind()), (sycl.device(), kind));

        window.tensor()?.sync_for(StreamArg::unspecified())?;
        let raw = window.to_dlpack()?.into_raw();
        // SAFETY: 1. It was just exported and has no other owner.
        let imported = unsafe { ImportedTensor::from_raw(raw) }?;
        assert_eq!(imported.device(), sycl.device());
        let first = imported.data_ptr().cast::<c_void>();
        assert_eq!(first, window.0.as_ptr().wrapping_byte_add(8).cast_const(), "{kind:?}");
        let found = OneApi::recognize(first, imported.device())?;
        assert_eq!((found.device(), found.kind()), (sycl.device(), kind));
        let host_accessible = kind != UsmKind::Device;
        let known = OneApi::pointer_attributes(first, imported.device())?;
        assert_eq!(known, Attributes { device: sycl.device(), host_accessible });

        let taken = Taken::new(imported)?;
        let copy = copy_to_host::<(Cpu, OneApi), _>(&taken)?;
        assert_eq!(copy.flags(), Flags::IS_COPIED);
        assert_eq!(copy.import()?.elements::<u32>()?.to_vec()?, [2, 1, 5, 4]);
        if host_accessible {
            // SAFETY: shared with the host, and no work is left on it.
            let element = unsafe { first.cast::<u32>().read() };
            assert_eq!(element, 2);
        }
    }
    Ok(())
}

/// Memory of another library's, under the number that the protocol gives it.
#[test]
fn foreign_memory_is_adopted() -> Result<(), Error> {
    struct Owner(&'static Sycl, usize, usize, Arc<AtomicUsize>);
    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.free(self.1 as Ref, self.2 as Ref);
            self.3.fetch_add(1, Ordering::Relaxed);
        }
    }
    let Some(sycl) = sycl() else { return Ok(()) };
    let queue = sycl.queue(true);
    let data = sycl.malloc_device(queue, 64);
    sycl.fill(queue, data, 7, 64);
    // SAFETY: 1. The default context.
    let found = unsafe { OneApi::exported(data, sycl.context) }?;
    assert_eq!(found.device(), sycl.device());
    let drops = Arc::new(AtomicUsize::new(0));
    let owner = Owner(sycl, queue.addr(), data.addr(), Arc::clone(&drops));
    let (stream, data) = (sycl.stream(queue), NonNull::new(data).expect("memory"));
    // SAFETY: 1. to 5. The test's own memory, filled on that queue, freed at once.
    let buffer = unsafe {
        DeviceBuffer::<OneApi>::from_raw_parts(
            MemoryRange::new(data, 64),
            DataType::U8,
            stream,
            owner,
            FreeOrder::Immediate,
        )
    };
    assert_eq!(buffer.to_vec::<u8>()?, [7; 64]);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(buffer);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn the_table_allocates_for_kernels() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let shape = [3_i64, 2];
    let prototype = Prototype::new(DataType::F64, Dims::of(&shape)?, sycl.device())?;
    let tensor = <(Cpu, OneApi)>::allocate(&prototype)?.import()?;
    assert_eq!((tensor.device(), tensor.shape()), (sycl.device(), &shape[..]));
    let found = OneApi::recognize(tensor.data_ptr().cast(), tensor.device())?;
    assert_eq!(found.kind(), UsmKind::Device);
    let host = copy_to_host::<OneApi, _>(&Taken::new(tensor)?)?.import()?;
    assert_eq!(host.elements::<f64>()?.to_vec()?, [0.0; 6]);
    Ok(())
}

#[test]
fn copies_stay_on_the_device() -> Result<(), Error> {
    let Some(sycl) = sycl() else { return Ok(()) };
    let window = Window(counting(sycl, UsmKind::Shared, 6)?);
    let copy = copy_on_device::<OneApi, _>(&window, StreamArg::unspecified())?.import()?;
    assert_eq!((copy.device(), copy.flags()), (sycl.device(), Flags::IS_COPIED));
    let kind = OneApi::recognize(copy.data_ptr().cast(), copy.device())?.kind();
    assert_eq!(kind, UsmKind::Device);
    let host = copy_to_host::<OneApi, _>(&Taken::new(copy)?)?.import()?;
    assert_eq!(host.elements::<u32>()?.to_vec()?, [2, 1, 5, 4]);
    Ok(())
}
