//! What each consumer makes of an object: its facts, applied.

use dlpack_traits::{Device, Flags, ffi};

use crate::ask::NEWEST;
use crate::consumers::{Alignment, CONSUMERS, Consumer, DeviceAsked, Devices, Layouts, Offset};
use crate::read;
use crate::report::{
    Answer, Array, CapsuleFacts, DeviceAnswer, Fit, LayoutFacts, Report, TableFacts, TensorFacts,
    Verdict,
};

/// A verdict without the name of the consumer.
type Judged = (Fit, String);

pub(crate) fn of(report: &Report) -> Vec<Verdict> {
    let ours = ours(report);
    let others =
        CONSUMERS.iter().map(|consumer| (consumer.name, consumer.version, judge(consumer, report)));
    core::iter::once(("dlpack-traits", env!("CARGO_PKG_VERSION"), ours))
        .chain(others)
        .map(|(consumer, version, (fit, why))| Verdict {
            consumer: consumer.to_owned(),
            version: version.to_owned(),
            fit,
            why,
        })
        .collect()
}

fn refused(why: impl Into<String>) -> Judged {
    (Fit::Refused, why.into())
}

/// The verdict of this crate's own import, which was actually called.
fn ours(report: &Report) -> Judged {
    let capsules = report.requests.iter().filter_map(|request| request.answer.capsule());
    for capsule in capsules {
        match &capsule.accepted {
            Some(Ok(())) => return (Fit::Same, String::new()),
            Some(Err(reason)) => return refused(reason.clone()),
            None if capsule.tensor.is_some() => {
                return (Fit::Crash, "a pointer in the struct leads nowhere".to_owned());
            }
            None => {}
        }
    }
    refused("there is no capsule of a tensor")
}

fn judge(consumer: &Consumer, report: &Report) -> Judged {
    let told = match (consumer.device, &report.device) {
        (DeviceAsked::No, _) | (_, DeviceAnswer::Said(_)) => true,
        (DeviceAsked::Present, answer) => *answer != DeviceAnswer::Missing,
        (DeviceAsked::Kind, DeviceAnswer::Odd { items, .. }) => *items > 0,
        (DeviceAsked::Pair, DeviceAnswer::Odd { items, .. }) => *items == 2,
        _ => false,
    };
    if !told {
        return refused("it calls `__dlpack_device__` first");
    }
    if consumer.reads_tables && report.table.as_ref().is_some_and(|table| table.dangling) {
        return (Fit::Crash, "it follows the address of the exchange table".to_owned());
    }
    let unusable = |table: &TableFacts| table.unreadable.is_some() && table.versions.is_empty();
    if consumer.reads_tables && report.table.as_ref().is_some_and(unusable) {
        return refused("what is published as the exchange table is none");
    }
    let capsule = match asked(consumer, report) {
        Ok(capsule) => capsule,
        Err(why) => return refused(why),
    };
    let Some(tensor) = &capsule.tensor else {
        return if matches!(capsule.name.as_deref(), Some(read::LEGACY | read::VERSIONED)) {
            (Fit::Crash, "the capsule's pointer leads nowhere".to_owned())
        } else {
            refused("the capsule has a name that it does not know")
        };
    };
    let by_table = consumer.reads_tables && exports_by_table(report);
    if tensor.version.is_some() && !consumer.versioned && !by_table {
        return if consumer.reads_tables {
            let why = "it asked for the legacy capsule: SystemError, or the end of the process";
            (Fit::Unknown, why.to_owned())
        } else {
            refused("it takes the legacy capsule only")
        };
    }
    if tensor.version.is_none() && !consumer.legacy {
        return refused("it takes the versioned capsule only");
    }
    if let Some(judged) = struct_of(consumer, tensor) {
        return judged;
    }
    if let Some(judged) = lied_to(consumer, tensor, report) {
        return judged;
    }
    let judged = memory_of(consumer, tensor, report);
    if matches!(judged.0, Fit::Same | Fit::Copy | Fit::Converted) {
        if let Some(release) = release_of(consumer, tensor) {
            return release;
        }
    }
    judged
}

/// The outcome if `__dlpack_device__` names another device than the struct.
fn lied_to(consumer: &Consumer, tensor: &TensorFacts, report: &Report) -> Option<Judged> {
    let DeviceAnswer::Said(said) = &report.device else { return None };
    let asks = matches!(consumer.device, DeviceAsked::Kind | DeviceAsked::Pair | DeviceAsked::Both);
    if !asks || said.device_type == tensor.device.device_type {
        return None;
    }
    let why = format!("it is told that the tensor is on {}", said.name);
    // It treats the address as one of that device.
    Some((if consumer.believes_device { Fit::Crash } else { Fit::Refused }, why))
}

/// The capsule that its sequence of calls returns.
fn asked<'a>(consumer: &Consumer, report: &'a Report) -> Result<&'a CapsuleFacts, String> {
    if consumer.reads_tables && exports_by_table(report) {
        if let Some(capsule) = report.answer(NEWEST).and_then(Answer::capsule) {
            return Ok(capsule);
        }
    }
    let mut last = "it has no request".to_owned();
    for keywords in consumer.requests {
        match report.answer(keywords) {
            Some(Answer::Capsule(capsule)) => return Ok(capsule),
            Some(Answer::Raised { exception, message }) => {
                last = format!("`__dlpack__({keywords})` raises {exception}: {message}");
                if exception != "TypeError" && !consumer.retries_all {
                    break;
                }
            }
            Some(Answer::Odd { .. }) => return Err("the result is not a capsule".to_owned()),
            None => {}
        }
    }
    Err(last)
}

fn exports_by_table(report: &Report) -> bool {
    let slots = report.table.iter().flat_map(|table| &table.slots);
    slots.filter(|slot| slot.place.is_some()).any(|slot| slot.name.contains("managed_tensor_from"))
}

/// The outcome from the fields of the struct.
fn struct_of(consumer: &Consumer, tensor: &TensorFacts) -> Option<Judged> {
    if let Some((major, _)) = tensor.version.filter(|version| version.0 != 1) {
        return Some(if consumer.checks_major {
            refused(format!("major version {major}"))
        } else {
            (Fit::Unknown, format!("it reads major version {major} as if it were 1"))
        });
    }
    if let Some(why) = device_refused(consumer.devices, read::device_of(tensor)) {
        return Some(why);
    }
    if read::dtype_of(tensor).element_bits() == 0 {
        return Some((Fit::Unknown, "the elements have no size".to_owned()));
    }
    if !takes(consumer, &tensor.dtype_name) {
        return Some(refused(format!("it has no {}", tensor.dtype_name)));
    }
    if matches!(tensor.shape, Array::Unreadable) || matches!(tensor.strides, Array::Unreadable) {
        return Some((Fit::Crash, "a pointer in the struct leads nowhere".to_owned()));
    }
    if tensor.layout.is_none() {
        return Some((Fit::Unknown, "the struct describes no tensor: see above".to_owned()));
    }
    None
}

fn takes(consumer: &Consumer, name: &str) -> bool {
    consumer.dtypes.iter().copied().flatten().any(|known| *known == "*" || *known == name)
}

fn device_refused(devices: Devices, device: Device) -> Option<Judged> {
    let kind = device.device_type();
    let taken = match devices {
        Devices::Any => true,
        Devices::Host => device.is_host(),
        Devices::Cpu => kind == ffi::kDLCPU,
        Devices::CpuZero => device == Device::CPU,
        Devices::CpuAndOneApi => device == Device::CPU || kind == ffi::kDLOneAPI,
    };
    if taken {
        return None;
    }
    let builds =
        [ffi::kDLCUDA, ffi::kDLCUDAHost, ffi::kDLCUDAManaged, ffi::kDLROCM, ffi::kDLROCMHost];
    Some(if builds.contains(&kind) && devices != Devices::Host {
        (Fit::Unknown, format!("it takes {device} in some builds, which were not measured"))
    } else {
        refused(format!("it has no {device}"))
    })
}

/// The outcome from the memory.
fn memory_of(consumer: &Consumer, tensor: &TensorFacts, report: &Report) -> Judged {
    let Some(layout) = &tensor.layout else {
        return (Fit::Unknown, String::new());
    };
    let read_only = Flags::from_bits(tensor.flags).contains(Flags::READ_ONLY);
    if read_only && consumer.refuses_read_only {
        return refused("it asks for memory that it may write (`nb::ndarray<nb::ro>` takes it)");
    }
    if let Some(why) = layout_refused(consumer, tensor, layout) {
        return refused(why);
    }
    let own = report.tensor();
    if own.is_some_and(|own| (&own.shape, own.dtype) != (&tensor.shape, tensor.dtype)) {
        return (Fit::Wrong, "others get another tensor".to_owned());
    }
    let converted = consumer.converted.contains(&tensor.dtype_name.as_str());
    if layout.numel == 0 && !converted {
        return (Fit::Same, "no elements".to_owned());
    }
    if layout.numel > 0 && tensor.data == 0 && read::device_of(tensor).has_addresses() {
        return (Fit::Unusable, "`data` is NULL".to_owned());
    }
    if layout.mapped == Some(false) {
        return (Fit::Unusable, "there is no memory where elements are".to_owned());
    }
    if converted {
        return (Fit::Converted, format!("it has no {}", tensor.dtype_name));
    }
    match consumer.offset {
        // On its own devices dpnp adds the offset.
        Offset::Ignored if tensor.byte_offset != 0 && read::device_of(tensor).is_host() => {
            return (Fit::Wrong, "it does not add `byte_offset`".to_owned());
        }
        _ => {}
    }
    let below = layout.alignment.is_some_and(|alignment| alignment < 64);
    match consumer.alignment {
        Alignment::Unusable if below => {
            return (Fit::Unusable, "not aligned to 64 bytes".to_owned());
        }
        Alignment::Copies if below => return (Fit::Copy, "not aligned to 64 bytes".to_owned()),
        _ if consumer.always_copies => return (Fit::Copy, "it always copies".to_owned()),
        _ => {}
    }
    let own = own.map(|own| own.data.wrapping_add(own.byte_offset));
    if own != Some(tensor.data.wrapping_add(tensor.byte_offset)) {
        return (Fit::Copy, "the producer copies for this request".to_owned());
    }
    let ignored = read_only && ["torch", "paddle"].contains(&consumer.name);
    (
        Fit::Same,
        if ignored {
            "it writes all the same: it has no READ_ONLY".to_owned()
        } else {
            String::new()
        },
    )
}

fn layout_refused(
    consumer: &Consumer,
    tensor: &TensorFacts,
    layout: &LayoutFacts,
) -> Option<String> {
    if usize::try_from(tensor.ndim).is_ok_and(|ndim| ndim > consumer.ndim) {
        return Some(format!("more than {} dimensions", consumer.ndim));
    }
    if tensor.ndim == 0 && !consumer.scalars {
        return Some("no dimensions".to_owned());
    }
    if consumer.offset == Offset::Refused && tensor.byte_offset != 0 {
        return Some("`byte_offset` is not 0".to_owned());
    }
    let refusal = match consumer.layouts {
        Layouts::NotNegative if layout.negative => "negative strides",
        Layouts::Compact if !layout.compact => "not compact",
        Layouts::RowMajor if !layout.row_major => "not compact in row-major order",
        _ => return None,
    };
    Some(refusal.to_owned())
}

/// The outcome of the release, if the release decides.
fn release_of(consumer: &Consumer, tensor: &TensorFacts) -> Option<Judged> {
    match tensor.deleter {
        None if consumer.calls_null_deleter => {
            Some((Fit::Crash, "it calls the deleter, which is NULL".to_owned()))
        }
        None if consumer.leaks_null => Some((Fit::Leaks, "the deleter is NULL".to_owned())),
        Some(_) if consumer.leaks_null && tensor.manager_ctx == 0 => {
            Some((Fit::Leaks, "`manager_ctx` is NULL, so it does not call the deleter".to_owned()))
        }
        _ => None,
    }
}
