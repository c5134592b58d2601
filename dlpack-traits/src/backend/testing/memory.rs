//! Checks of memory: allocations, zeros, copies with offsets, attributes, and the second device.

use alloc::boxed::Box;
use alloc::format;
use core::ptr;

use super::check::{COUNT, Check, Outcome, Trial, copy, copy_part, end_of, ensure, filled};
use crate::backend::backend_trait::{has_addresses, is_read_by_host};
use crate::backend::{Backend, DeviceBuffer, SyncAction, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::stream_arg::StreamKind;

/// Other checks rely on them: buffers that share memory look like work out of order.
pub(super) fn first_checks<B: Backend>() -> [Check<B>; 2] {
    [("allocations", allocations), ("bytes of a copy", bytes_of_a_copy)]
}

pub(super) fn checks<B: Backend>() -> [Check<B>; 3] {
    [
        ("zeroed memory", zeroed),
        ("attributes of pointers", attributes),
        ("second device", second_device),
    ]
}

fn allocations<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`allocate`, promise 1";
    let stream = trial.stream(0)?;
    trial.step(OBLIGATION, "`allocate`");
    let buffers = [filled(&stream, 1)?, filled(&stream, 2)?, filled(&stream, 3)?];
    for (buffer, value) in buffers.iter().zip(1..) {
        let place = buffer.place();
        let start = if has_addresses::<B>(trial.device()) {
            place.address().addr() as u64
        } else {
            place.byte_offset
        };
        ensure(start % 64 == 0, OBLIGATION, "memory is not aligned to 64 bytes")?;
        trial.expect(buffer, value, OBLIGATION, "two allocations share memory")?;
    }
    trial.step("`allocate`, errors", "an allocation of more memory than there is");
    let most = isize::MAX.unsigned_abs();
    let huge = DeviceBuffer::zeroed_on(stream, DataType::U8, most);
    ensure(huge.is_err(), "`allocate`, errors", "more memory than there is was allocated")
}

/// The allocations get memory that was filled before, while the current stream is held back: zeros
/// that are written on that stream come too late.
fn zeroed<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`allocate`, promise 2";
    let stream = trial.stream(1).or_else(|_| trial.stream(0))?;
    let (seen, two) = (filled(&stream, 1)?, filled(&stream, 2)?);
    drop([filled(&stream, u32::MAX)?, filled(&stream, u32::MAX)?]);
    let current = WorkStream::current(trial.device())?;
    // Without a gate, memory that was used tells whether it is zeroed at all.
    if trial.hold(&current).is_ok() {
        trial.open_later();
    }
    trial.step(OBLIGATION, "`allocate`");
    for _ in 0..3 {
        let buffer = DeviceBuffer::zeroed_on(stream.clone(), DataType::U32, COUNT)?;
        copy(&stream, &buffer, &seen)?;
        trial.expect(&seen, 0, OBLIGATION, "new memory is not zero in the order of the stream")?;
        copy(&stream, &two, &buffer)?;
        current.synchronize()?;
        trial.expect(&buffer, 2, OBLIGATION, "memory was zeroed after work of the stream")?;
    }
    Ok(())
}

fn bytes_of_a_copy<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`copy`, promise 1";
    let stream = trial.stream(0)?;
    trial.step(OBLIGATION, "`copy`");
    let numbers = [0_u32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let from = DeviceBuffer::from_slice_on(stream.clone(), &numbers)?;
    let to = filled(&stream, 77)?;
    copy_part(&stream, (&from, 2), (&to, 5), 3)?;
    let mut wanted = [77; COUNT];
    wanted.iter_mut().skip(5).zip(2..5).for_each(|(to, from)| *to = from);
    let found = to.to_vec::<u32>()?;
    let text = format!("elements 2..5 were copied to 5..8: expected {wanted:?}, found {found:?}");
    ensure(found == wanted, OBLIGATION, &text)?;
    let found = end_of(&from, 14)?;
    let wanted = [14_u32, 15].map(u32::to_ne_bytes).concat();
    let text = format!("elements 14..16 were copied to the host: {found:?}, not {wanted:?}");
    ensure(found == wanted, OBLIGATION, &text)
}

fn attributes<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`attributes`, promise 1";
    let (device, stream) = (trial.device(), trial.stream(0)?);
    let (data, on_host) = (filled(&stream, 1)?, Box::new([0_u8; 64]));
    trial.step(OBLIGATION, "`attributes`");
    let found = <B as Backend>::attributes(data.as_ptr(), device)?;
    let text = format!("memory of {device} is reported as that of {}", found.device);
    ensure(found.device == device, OBLIGATION, &text)?;
    let foreign = <B as Backend>::attributes(ptr::from_ref(&*on_host).cast(), device);
    let right = foreign.is_err() || foreign.is_ok_and(|found| found.host_accessible);
    ensure(right, OBLIGATION, "memory of the host is reported as memory of the device")?;
    let (addresses, is_read) = (has_addresses::<B>(device), is_read_by_host::<B>(device));
    let text = "the processor is said to access memory behind a handle";
    ensure(addresses || !found.host_accessible, OBLIGATION, text)?;
    let text = "memory is `read_by_host`, but the processor is said not to access it";
    ensure(found.host_accessible || !(addresses && is_read), "`Backend` 9", text)?;
    let none = StreamKind::Unspecified;
    let waits = is_read || B::RULES.decide(device, stream.handle(), none) == Ok(SyncAction::Wait);
    let text = "the processor can read the memory, but an export without a stream does not wait";
    ensure(waits || !found.host_accessible, "`Backend` 6", text)
}

/// Memory of the next device is there, if its runtime tells.
fn second_device<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`Backend` 1";
    let first = trial.device();
    let device = Device::new(first.device_type(), first.device_id().saturating_add(1));
    let current = WorkStream::<B>::current(device);
    let stream = current.map_err(|_| trial.lacks("second device"))?;
    trial.step(OBLIGATION, "memory of the second device");
    let right = stream.device() == device;
    ensure(right, OBLIGATION, "`current_stream` returned a stream of another device")?;
    let data = filled(&stream, 3)?;
    trial.expect(&data, 3, OBLIGATION, "memory of the second device")?;
    let (ours, seen) = (trial.stream(0)?, filled(&stream, 0)?);
    trial.step("`copy`, errors", "a copy between devices");
    let copied = copy(&ours, &filled(&ours, 4)?, &seen).and_then(|()| ours.synchronize());
    if !matches!(copied, Err(Error::Unsupported { .. })) {
        copied?;
        trial.expect(&seen, 4, "`copy`, promise 1", "a copy between devices")?;
    }
    trial.step(OBLIGATION, "`attributes` of the second device");
    let found = <B as Backend>::attributes(data.as_ptr(), device)?.device;
    let text = format!("memory that was allocated for a stream of {device} is on {found}");
    ensure(found == device, OBLIGATION, &text)
}
