//! Vulkan memory: handles without address arithmetic, offsets, copies, and the
//! recognition of handles.

#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::ptr;

use ash::vk::{self, Handle};
use dlpack_traits::backend::{
    Attributes, Backends, Cpu, DeviceBuffer, FreeOrder, MemoryRange, Prototype, Vulkan,
    copy_on_device, copy_to_host,
};
use dlpack_traits::{
    DLPackExport, DataType, Device, Dims, Error, ImportedStorage, ImportedTensor, StreamArg, ffi,
};
use dlpack_vulkan_tests::program::program;
use dlpack_vulkan_tests::watched;

/// Every second number of a part of a buffer.
#[derive(DLPackExport)]
struct Part {
    data: DeviceBuffer<Vulkan>,
    #[dlpack(shape)]
    shape: [usize; 1],
    #[dlpack(strides)]
    strides: [isize; 1],
    #[dlpack(offset(elements))]
    offset: usize,
}

fn part(device: Device) -> Part {
    let data = DeviceBuffer::from_slice(device, &[10_u32, 11, 12, 13, 14, 15, 16, 17]);
    Part { data: data.expect("memory"), shape: [3], strides: [2], offset: 3 }
}

/// A tensor as C represents it.
fn raw(tensor: &dlpack_traits::ManagedTensor) -> (usize, u64) {
    // SAFETY: the tensor is alive.
    let managed = unsafe { &*tensor.as_raw() };
    (managed.dl_tensor.data.addr(), managed.dl_tensor.byte_offset)
}

#[test]
fn memory_is_zeroed_and_copied() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let zeros = DeviceBuffer::<Vulkan>::zeroed(program.device, DataType::U8, 1001)?;
    assert_eq!(zeros.to_vec::<u8>()?, [0; 1001]);
    let numbers = DeviceBuffer::<Vulkan>::from_slice(program.device, &[1.5_f64, 2.5])?;
    assert_eq!(numbers.to_vec::<f64>()?, [1.5, 2.5]);
    // Vulkan cannot fill single bytes.
    let odd = DeviceBuffer::<Vulkan>::from_slice(program.device, &[1_u8, 2, 3])?;
    assert_eq!(odd.to_vec::<u8>()?, [1, 2, 3]);
    let nothing = DeviceBuffer::<Vulkan>::from_slice::<u8>(program.device, &[])?;
    assert!(nothing.to_vec::<u8>()?.is_empty());
    Ok(())
}

#[test]
fn the_handle_is_the_buffer_and_the_offset_stays_beside_it() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let part = part(program.device);
    let handle = part.data.as_ptr().addr();
    let tensor = part.to_dlpack()?;
    assert_eq!(tensor.device(), program.device);
    assert_eq!(raw(&tensor), (handle, 12));
    // A kernel of the program reads them with their own type.
    let seen = program.seen();
    program.look(0, handle as u64, 12 + 8, &seen);
    program.finish(0);
    assert_eq!(program.take(seen), 15);
    Ok(())
}

#[test]
fn an_import_keeps_the_handle_and_exports_it_again() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let part = part(program.device);
    let handle = part.data.as_ptr().addr();
    // SAFETY: 1. It was just exported.
    let imported = unsafe { ImportedTensor::from_raw(part.into_dlpack()?.into_raw()) }?;
    assert_eq!(imported.device(), program.device);
    assert_eq!((imported.data_ptr().addr(), imported.byte_offset()), (handle, 12));
    assert_eq!((imported.shape(), imported.strides()), (&[3][..], &[2][..]));
    // A handle is not dereferenced.
    assert_eq!(
        imported.elements::<u32>().map(drop),
        Err(Error::NotOnHost { device: program.device }),
    );
    let foreign: ImportedStorage = ImportedStorage::new(imported)?;
    let again = foreign.into_dlpack()?;
    assert_eq!(raw(&again), (handle, 12));
    assert_eq!(again.device(), program.device);
    Ok(())
}

#[test]
fn copies_begin_at_the_offset() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let part = part(program.device);
    let copy = copy_to_host::<(Cpu, Vulkan), _>(&part)?;
    assert_eq!((copy.device(), copy.shape()), (Device::CPU, &[3][..]));
    let copy = copy.import()?;
    assert_eq!(copy.elements::<u32>()?.to_vec()?, [13, 15, 17]);
    let copy = copy_on_device::<(Cpu, Vulkan), _>(&part, StreamArg::unspecified())?;
    let (handle, byte_offset) = raw(&copy);
    assert_ne!(handle, part.data.as_ptr().addr());
    let seen = program.seen();
    program.look(0, handle as u64, byte_offset + 8, &seen);
    program.finish(0);
    assert_eq!(program.take(seen), 15);
    Ok(())
}

#[test]
fn a_foreign_buffer_is_adopted_with_its_owner() -> Result<(), Error> {
    struct Owner(vk::Buffer, vk::DeviceMemory, Device);
    impl Drop for Owner {
        fn drop(&mut self) {
            let functions = Vulkan::functions(self.2).expect("the device");
            // SAFETY: the last owner, after all work.
            unsafe { functions.destroy_buffer(self.0, None) };
            // SAFETY: as above.
            unsafe { functions.free_memory(self.1, None) };
        }
    }
    let Some(program) = program() else { return Ok(()) };
    let functions = program.functions();
    let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let info = vk::BufferCreateInfo::default().size(64).usage(usage);
    // SAFETY: 64 bytes.
    let buffer = unsafe { functions.create_buffer(&info, None) }.expect("a buffer");
    // SAFETY: the buffer is the device's.
    let asks = unsafe { functions.get_buffer_memory_requirements(buffer) };
    let kind = asks.memory_type_bits.trailing_zeros();
    let info = vk::MemoryAllocateInfo::default().allocation_size(asks.size).memory_type_index(kind);
    // SAFETY: a type that the buffer allows.
    let memory = unsafe { functions.allocate_memory(&info, None) }.expect("memory");
    // SAFETY: both are new.
    unsafe { functions.bind_buffer_memory(buffer, memory, 0) }.expect("a binding");
    program.fill(1, buffer.as_raw(), 0, 77, 16);
    let handle = usize::try_from(buffer.as_raw()).expect("64 bits");
    let data = ptr::NonNull::new(ptr::without_provenance_mut(handle)).expect("a handle");
    let owner = Owner(buffer, memory, program.device);
    // SAFETY: 1. A buffer of 64 bytes, which the owner destroys. 2. and 3. Numbers,
    // filled on that queue, 4. and nowhere else. 5. It is gone when it is destroyed.
    let data = unsafe {
        DeviceBuffer::<Vulkan>::from_raw_parts(
            MemoryRange::new(data, 64),
            DataType::U32,
            program.queue(1),
            owner,
            FreeOrder::Immediate,
        )
    };
    assert_eq!(data.to_vec::<u32>()?, [77; 16]);
    let part = Part { data, shape: [3], strides: [2], offset: 3 };
    let copy = copy_to_host::<Vulkan, _>(&part)?.import()?;
    assert_eq!(copy.elements::<u32>()?.to_vec()?, [77; 3]);
    Ok(())
}

#[test]
fn a_table_allocates_on_it() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let shape = [2_i64, 3];
    let prototype = Prototype::new(DataType::F32, Dims::of(&shape)?, program.device)?;
    let tensor = <(Cpu, Vulkan)>::allocate(&prototype)?;
    assert_eq!((tensor.device(), tensor.shape()), (program.device, &[2, 3][..]));
    let stream = <(Cpu, Vulkan)>::current_work_stream(program.device)?;
    assert_eq!(stream.addr(), program.queue(0).handle().number());
    Ok(())
}

#[test]
fn only_handles_of_this_backend_are_recognized() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let device = program.device;
    let data = DeviceBuffer::<Vulkan>::from_slice(device, &[1_u8])?;
    let known = Vulkan::pointer_attributes(data.as_ptr(), device);
    assert_eq!(known, Ok(Attributes { device, host_accessible: false }));
    // Not even one inside of the buffer: a handle is not an address.
    let inside = Vulkan::pointer_attributes(data.as_ptr().wrapping_byte_add(1), device);
    assert_eq!(inside, Err(Error::NoBackend { device }));
    Ok(())
}

#[test]
fn missing_devices_are_refused() {
    for id in [-1, 999] {
        let device = Device::new(ffi::kDLVulkan, id);
        let made = DeviceBuffer::<Vulkan>::from_slice(device, &[1_u8]).map(drop);
        assert_eq!(made, Err(Error::NoBackend { device }));
        assert_eq!(Vulkan::functions(device).map(drop), Err(Error::NoBackend { device }));
    }
}

#[test]
fn every_vulkan_call_can_fail() -> Result<(), Error> {
    let Some(program) = program() else { return Ok(()) };
    let mut failed = 0;
    for calls in 1.. {
        let before = watched::exist();
        watched::fail_after(calls);
        let part = DeviceBuffer::<Vulkan>::from_slice(program.device, &[1_u32, 2]);
        let part = part.map(|data| Part { data, shape: [1], strides: [1], offset: 1 });
        let copied = part.and_then(|part| copy_to_host::<Vulkan, _>(&part));
        let left = watched::fail_after(0);
        program.finish(0);
        program.finish(0);
        match copied {
            Ok(copy) => {
                assert_eq!(copy.import()?.elements::<u32>()?.to_vec()?, [2]);
                if left {
                    break;
                }
            }
            Err(Error::Device { .. } | Error::OutOfMemory { .. }) => failed += 1,
            Err(error) => panic!("{error}"),
        }
        // A free that cannot be put in order is none.
        let leaked = watched::exist() - before;
        assert!(leaked == 0 || leaked == 2, "{leaked} after {calls} calls");
        watched::forgive(leaked);
    }
    assert!(failed > 10, "{failed}");
    Ok(())
}
