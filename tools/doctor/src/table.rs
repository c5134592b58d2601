//! The exchange table of a type, field by field.

use core::mem::{offset_of, size_of};

use dlpack_traits::ffi::{DLPackExchangeAPI, DLPackExchangeAPIHeader};
use pyo3::ffi as py_ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};

use crate::place;
use crate::read::{self, Bytes};
use crate::report::{SlotFacts, TableFacts};

/// The attributes in which types publish it, the newer name first.
const ATTRIBUTES: [&str; 2] = ["__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"];
/// The name of the capsule that holds it.
const CAPSULE: &core::ffi::CStr = c"dlpack_exchange_api";
/// How many older tables are followed.
const STEPS: usize = 16;

/// The functions, their offsets, and whether the standard requires them.
const SLOTS: [(&str, usize, bool); 5] = [
    ("managed_tensor_allocator", offset_of!(DLPackExchangeAPI, managed_tensor_allocator), true),
    (
        "managed_tensor_from_py_object_no_sync",
        offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync),
        true,
    ),
    (
        "managed_tensor_to_py_object_no_sync",
        offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync),
        true,
    ),
    (
        "dltensor_from_py_object_no_sync",
        offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync),
        false,
    ),
    ("current_work_stream", offset_of!(DLPackExchangeAPI, current_work_stream), true),
];

/// The table that a type publishes, its own or an inherited one.
pub(crate) fn of(class: &Bound<'_, PyType>) -> PyResult<Option<TableFacts>> {
    for attribute in ATTRIBUTES {
        let Some(found) = class.getattr_opt(attribute)?.filter(|found| !found.is_none()) else {
            continue;
        };
        let mut facts = TableFacts {
            attribute: attribute.to_owned(),
            versions: Vec::new(),
            slots: Vec::new(),
            unreadable: None,
            dangling: false,
        };
        match address_in(&found) {
            Ok(address) => follow(address, &mut facts),
            Err(reason) => facts.unreadable = Some(reason),
        }
        return Ok(Some(facts));
    }
    Ok(None)
}

fn address_in(found: &Bound<'_, PyAny>) -> Result<u64, String> {
    if let Ok(address) = found.extract::<u64>() {
        // An integer, as types published it in 1.2. It is only read, because nothing is
        // called.
        return Ok(address);
    }
    if !found.is_instance_of::<PyCapsule>() {
        return Err(format!("the attribute is a {}, not a capsule", found.get_type()));
    }
    // SAFETY: this thread is attached, and the object is alive.
    if unsafe { py_ffi::PyCapsule_IsValid(found.as_ptr(), CAPSULE.as_ptr()) } == 0 {
        return Err("the capsule is not named \"dlpack_exchange_api\"".to_owned());
    }
    // SAFETY: the capsule is valid under this name.
    let pointer = unsafe { py_ffi::PyCapsule_GetPointer(found.as_ptr(), CAPSULE.as_ptr()) };
    Ok(pointer.expose_provenance() as u64)
}

/// Follows the chain from the newest table to the first whose version is supported.
fn follow(mut address: u64, facts: &mut TableFacts) {
    for _ in 0..STEPS {
        let Some(header) = Bytes::read(address, size_of::<DLPackExchangeAPIHeader>()) else {
            facts.unreadable = Some(format!("there is no memory at {address:#x}"));
            facts.dangling = true;
            return;
        };
        let version = read::version(&header, offset_of!(DLPackExchangeAPIHeader, version));
        facts.versions.push(version);
        if version.0 == 1 && version >= (1, 2) {
            let whole = Bytes::read(address, size_of::<DLPackExchangeAPI>());
            facts.dangling = whole.is_none();
            facts.unreadable =
                facts.dangling.then(|| "the table ends before its last slot".to_owned());
            facts.slots = whole.as_ref().map(slots).unwrap_or_default();
            return;
        }
        address = header.pointer(offset_of!(DLPackExchangeAPIHeader, prev_api));
        if address == 0 {
            facts.unreadable = Some("no table in the chain has major version 1".to_owned());
            return;
        }
    }
    facts.unreadable = Some(format!("`prev_api` leads on after {STEPS} tables"));
}

fn slots(table: &Bytes) -> Vec<SlotFacts> {
    let slot = |&(name, offset, required): &(&str, usize, bool)| {
        let address = table.pointer(offset);
        let place = (address != 0).then(|| place::of(address));
        SlotFacts { name: name.to_owned(), required, place }
    };
    SLOTS.iter().map(slot).collect()
}
