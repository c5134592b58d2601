//! The public interface is sound in safe code: checked on the sources, for every feature.

pub(crate) mod sources;

use std::collections::BTreeSet;

use sources::{Function, Sources};

/// Structs with public fields: plain data, of which any value will do.
const PLAIN: [&str; 14] = [
    "AtMost",
    "Attributes",
    "Complex",
    "Convert",
    "Exact",
    "Extent",
    "Finding",
    "FromTensor",
    "Lanes",
    "MemoryRange",
    "MemoryRef",
    "Numpy",
    "Report",
    "Version",
];

/// Safe functions to which an address is a number that they pass on, and follow
/// nowhere.
const NUMBERS: [&str; 6] = [
    "backend::gpu::vendor::Vendor::attributes",
    "backend::backend_trait::Backend::attributes",
    "backend::memory::MemoryRange::new",
    "backend::oneapi::OneApi::recognize",
    "backend::backend_set::Backends::pointer_attributes",
    "backend::stream::StreamHandle::from_ptr",
];

/// Owners that are reference-counted, so that a clone is sound.
const COUNTED: [&str; 7] = [
    "TryArc",
    "DeviceBuffer",
    "ImportedStorage",
    "ArcHandle",
    "ExportArc",
    "SharedBuffer",
    "SharedTensor",
];

/// Statics that change and are not state: lists whose entries are written once, and are
/// the same for all threads.
const WRITTEN_ONCE: [&str; 28] = [
    "backend::gpu::cuda::LOADED",
    "backend::gpu::rocm::LOADED",
    "backend::oneapi::devices::LOADED",
    "backend::opencl::devices::LOADED",
    "backend::vulkan::devices::KNOWN",
    "backend::vulkan::open::LOADED",
    "backend::vulkan::open::OPENED",
    "backend::webgpu::KNOWN",
    "exchange::interned_dims::NUMBERS",
    "exchange::interned_dims::USED",
    "exchange::interned_dims::INDEX",
    // The one way to wait that there is besides none.
    "backend::frees::AROUND",
    // The threads that attach to run deleters, for which the end of the interpreter waits.
    "python::interpreter::exit::STATE",
    // Values that attached threads drop, and whether the interpreter was asked to.
    "python::interpreter::deferred_drop::LAST",
    "python::interpreter::deferred_drop::IS_SCHEDULED",
    "python::interpreter::exit::WATCHED",
    "python::table::lookup::REMEMBERED",
    "python::table::lookup::CALLBACK",
    "python::interpreter::symbols::SYMBOLS",
    "python::array_like::buffer_protocol::BUFFER_CLASS",
    "python::import::call_dlpack::KEYWORD",
    "python::export::common_calls::NAMES",
    "python::export::offer::METHODS",
    "python::numpy::library::NUMPY",
    // Not written once, but its value is only compared with.
    "python::export::common_calls::VERSION",
    "python::export::common_calls::SEEN",
    // Locks without content: they order a few calls.
    "backend::webgpu::ADOPTING",
    "python::capsule::TAKING",
];

/// Locks under which no code is called that could block or run user code, and
/// thread-local values.
const WAITS_FOR_NOTHING: [&str; 25] = [
    // A vendor's library is loaded once.
    "backend::gpu::cuda names OnceLock",
    "backend::gpu::rocm names OnceLock",
    "backend::gpu::vendor names OnceLock",
    "backend::oneapi::devices names OnceLock",
    "backend::opencl::devices names OnceLock",
    // A device is opened once.
    "backend::vulkan::open names OnceLock",
    // A value that is looked up until it is found.
    "backend::lazy_library names OnceLock",
    // Vulkan requires external synchronization of a queue, and errors of WebGPU go to the
    // scope that was opened last, by any thread. User code may run under these locks and
    // lock them again.
    "backend::reentrant_lock names Mutex",
    "backend::reentrant_lock names thread_local",
    // Lists; their entries are used and destroyed outside of the lock.
    "backend::vulkan::deferred_destroy names Mutex",
    // A device is adopted once.
    "backend::webgpu names Mutex",
    // The work stream that a thread has entered.
    "backend::stream_guard names thread_local",
    // The conformance kit runs checks on threads, and holds no lock while it calls a backend.
    "backend::testing::check names Mutex",
    "backend::testing::check names spawn",
    "backend::testing::streams names spawn",
    // Taken to move a tensor out of an option.
    "python::export::offer names Mutex",
    // The value is made before the lock is taken, by each thread that finds none.
    "python::array_like::buffer_protocol names PyOnceLock",
    "python::export::offer names PyOnceLock",
    "python::import::call_dlpack names PyOnceLock",
    "python::numpy::library names PyOnceLock",
    "python::table::lookup names PyOnceLock",
    // Nothing is made in there.
    "python::export::common_calls names OnceLock",
    "python::interpreter::symbols names OnceLock",
    "python::table::type_cache names Mutex",
    "python::capsule names Mutex",
];

/// Fails with the findings, if there are any.
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// H5: an address is a promise of the caller, so the function is `unsafe`.
#[test]
fn no_safe_function_takes_a_raw_pointer() {
    let sources = Sources::read();
    let functions = sources.functions();
    let public = functions.iter().filter(|function| function.is_public).count();
    assert!(public > 100, "only {public} public functions were found");
    let wrong = |function: &&Function| {
        function.is_public
            && !function.is_unsafe
            && function.takes_a_pointer
            && !NUMBERS.contains(&&*function.name)
    };
    none(&functions.iter().filter(wrong).map(|function| function.name.clone()).collect::<Vec<_>>());
    // The reader finds what it searches for.
    let seen =
        functions.iter().find(|function| function.name.ends_with("ImportedTensor::from_raw"));
    assert!(seen.is_some_and(|seen| seen.is_public && seen.is_unsafe && seen.takes_a_pointer));
}

/// H6: fields that a method trusts are set by methods.
#[test]
fn owners_have_no_public_fields() {
    let sources = Sources::read();
    let mut wrong = Vec::new();
    let mut structs = 0;
    for item in sources.structs() {
        structs += 1;
        // Fields that C reads, and items that only expansions name, are listed here.
        let open = item.module == "ffi" || item.module.starts_with("__private");
        if item.has_public_fields && !open && !PLAIN.contains(&&*item.name) {
            wrong.push(format!("{}::{} has a public field", item.module, item.name));
        }
        if item.has_public_fields && sources.owners().contains(&item.path()) {
            wrong.push(format!("{}::{} owns, and has a public field", item.module, item.name));
        }
    }
    assert!(structs > 30, "only {structs} structs were found");
    none(&wrong);
}

/// H7: two owners of one thing release it twice.
#[test]
fn owners_are_not_clone() {
    let sources = Sources::read();
    let owners = sources.owners();
    for known in
        ["ManagedTensor", "ImportedTensor", "Release", "SharedOwner", "Exclusive", "AlignedBuf"]
    {
        let is_known = owners.iter().any(|owner| owner.ends_with(&format!("::{known}")));
        assert!(is_known, "{known} is not known to own: {owners:?}");
    }
    let cloned: BTreeSet<String> = sources
        .implementations()
        .into_iter()
        .filter(|item| item.what == "Clone" || item.what == "Copy")
        .filter(|item| owners.contains(&item.path()) && !COUNTED.contains(&&*item.of))
        .map(|item| item.path())
        .collect();
    none(&cloned.into_iter().map(|of| format!("{of} owns, and is Clone")).collect::<Vec<_>>());
}

/// No conversion makes a C struct, or a value from an address.
#[test]
fn no_conversion_makes_a_raw_struct() {
    let sources = Sources::read();
    let implementations = sources.implementations();
    assert!(implementations.len() > 100, "only {} implementations", implementations.len());
    let raw: BTreeSet<String> = sources
        .structs()
        .into_iter()
        .filter(|item| item.module == "ffi")
        .map(|item| item.name)
        .collect();
    assert!(raw.contains("DLTensor") && raw.len() > 5, "{raw:?}");
    let mut wrong = Vec::new();
    for (of, target) in sources.targets() {
        if raw.contains(&target) {
            wrong.push(format!("{of} can be taken for a {target}"));
        }
    }
    for (from, of) in sources.conversions() {
        if from.contains("* mut") || from.contains("* const") || from.contains("NonNull") {
            wrong.push(format!("{of} is made from `{from}` by a safe conversion"));
        }
    }
    none(&wrong);
}

/// L26: Python code can replace any attribute, so no address that is called or read is
/// computed from a Python object. The exception is behind an `unsafe` option.
#[test]
fn python_objects_become_addresses_in_one_place() {
    let sources = Sources::read();
    let names = ["with_exposed_provenance", "with_exposed_provenance_mut", "ctypes"];
    let mut words = sources.words(&names);
    words.retain(|word| word.starts_with("python::"));
    assert_eq!(words, ["python::table::lookup names with_exposed_provenance_mut"]);
}

/// L9, L14, L17, L18: with nothing held and nothing kept, there is nothing that
/// another thread, a fork, or user code that is called could find half done.
#[test]
fn no_locks_and_no_globals() {
    let sources = Sources::read();
    let names = [
        "Mutex",
        "RwLock",
        "Condvar",
        "Once",
        "OnceLock",
        "OnceCell",
        "LazyLock",
        "LazyCell",
        "GILOnceCell",
        "PyOnceLock",
        "thread_local",
        "spawn",
    ];
    let mut words = sources.words(&names);
    words.retain(|word| !WAITS_FOR_NOTHING.contains(&&**word));
    none(&words);
    let mut statics = sources.mutable_statics();
    statics.retain(|name| !WRITTEN_ONCE.contains(&&**name));
    none(&statics);
}
