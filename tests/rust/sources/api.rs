//! The public interface is sound in safe code: checked on its list in `quality/public-api`, which
//! has every feature, and on the words of the sources.

use core::mem;
use std::collections::{BTreeMap, BTreeSet};

use super::text::{read, sources, tokens};

/// Structs with public fields: plain data, of which any value will do.
const PLAIN: &str = "AtMost Attributes Complex Convert Exact Extent Finding FromTensor Lanes \
                     MemoryRange MemoryRef Numpy Report Version";
/// Safe functions to which an address is a number that they pass on, and follow nowhere.
const NUMBERS: &str = "attributes pointer_attributes MemoryRange::new OneApi::recognize \
                       StreamHandle::from_ptr";
/// Types with a `Clone` that is not derived: owners that count references, and values that own
/// nothing (`GpuStream`, `Field`, `Elements`).
const CLONE: &str = "DeviceBuffer Elements ExportArc Field GpuStream ImportedStorage SharedBuffer \
                     TryArc WorkStream";
/// Words of code that waits, or keeps a value.
const WAITS: &str = "Condvar GILOnceCell LazyCell LazyLock Mutex Once OnceCell OnceLock PyOnceLock \
                     RwLock spawn thread_local";
/// The files with such words, or with a static that changes. Statics are written once, and are the
/// same for all threads; no code that could block or run user code is called under a lock.
const KEPT: [(&str, &str); 29] = [
    // The one way to wait that there is besides none.
    ("backend/frees.rs", "AROUND"),
    // A library is loaded once, and a device is opened or adopted once.
    ("backend/gpu/cuda.rs", "LOADED OnceLock"),
    ("backend/gpu/rocm.rs", "LOADED OnceLock"),
    ("backend/gpu/vendor.rs", "OnceLock"),
    ("backend/library.rs", "OnceLock"),
    ("backend/oneapi/devices.rs", "OnceLock"),
    ("backend/opencl/devices.rs", "OnceLock"),
    // Vulkan requires external synchronization of a queue, and WebGPU reports an error to the scope
    // that any thread opened last. User code may run under these locks and lock them again.
    ("backend/reentrant_lock.rs", "Mutex thread_local"),
    // The work stream that a thread has entered.
    ("backend/stream_guard.rs", "ENTERED thread_local"),
    // The conformance kit holds no lock while it calls a backend.
    ("backend/testing/check.rs", "Mutex spawn"),
    ("backend/testing/streams.rs", "spawn"),
    // A list, whose entries are destroyed outside of the lock.
    ("backend/vulkan/deferred_destroy.rs", "Mutex"),
    ("backend/vulkan/open.rs", "LOADED OPENED OnceLock"),
    // The adopted devices: found by a number, or added.
    ("backend/vulkan/devices.rs", "ADOPTED Mutex"),
    ("backend/webgpu/mod.rs", "ADOPTED Mutex"),
    ("exchange/interned_dims.rs", "INDEX NUMBERS USED"),
    // Each is locked once, by the thread that takes what is in it.
    ("import/elements/map.rs", "Mutex"),
    // Each thread that finds no value makes one before it takes the lock.
    ("python/array_like/array_methods.rs", "OPERATOR PyOnceLock"),
    ("python/array_like/buffer_protocol.rs", "INSTALLED PyOnceLock"),
    // A lock without content, which orders a few calls.
    ("python/capsule.rs", "Mutex TAKING"),
    // The mutex is locked to move a tensor out of an option.
    ("python/export/offer.rs", "METHODS Mutex PyOnceLock"),
    ("python/export/request.rs", "NAMES OnceLock"),
    ("python/import/call_dlpack.rs", "KEYWORD PyOnceLock"),
    // Values that attached threads drop, whether the interpreter was asked to, and the threads that
    // attach to run deleters, for which the end of the interpreter waits.
    ("python/interpreter/drop_attached.rs", "IS_SCHEDULED LAST STATE WATCHED"),
    ("python/interpreter/symbols.rs", "OnceLock SYMBOLS"),
    ("python/numpy/library.rs", "NUMPY PyOnceLock"),
    ("python/table/calls.rs", "PyOnceLock TORCH"),
    ("python/table/lookup.rs", "CALLBACK PyOnceLock"),
    ("python/table/type_cache.rs", "Mutex"),
];

/// The lines of the public interface. `cargo xtask api` compares them with the code.
fn interface() -> Vec<String> {
    let text = read("quality/public-api/dlpack-traits.txt");
    let lines: Vec<_> = text.lines().map(|line| line.replace("dlpack_traits::", "")).collect();
    assert!(lines.len() > 2000, "only {} lines", lines.len());
    lines
}

/// Whether types are or contain an address.
fn has_address(types: &str) -> bool {
    ["*mut ", "*const ", "NonNull<"].iter().any(|address| types.contains(address))
}

/// Whether a line is a safe function with an address among its arguments.
fn takes_address(line: &str) -> bool {
    let is_safe = line.contains("pub fn ") || line.contains("pub const fn ");
    is_safe && has_address(line.rsplit_once(") -> ").map_or(line, |(arguments, _)| arguments))
}

/// H5: an address is a promise of the caller, so the function is `unsafe`.
#[test]
fn no_safe_function_takes_a_raw_pointer() {
    let mut wrong = interface();
    wrong.retain(|line| takes_address(line));
    let numbers = NUMBERS.split_whitespace().map(|name| format!("::{name}("));
    wrong.retain(|line| !numbers.clone().any(|name| line.contains(&name)));
    // Hidden functions, which only expansions call.
    for (name, code) in sources("dlpack-traits").iter().filter(|it| it.0.starts_with("__private")) {
        let heads = code.split(['{', '}', ';']).filter(|head| takes_address(head));
        wrong.extend(heads.map(|head| format!("{name}: {head}")));
    }
    assert_eq!(wrong, [""; 0]);
    assert!(takes_address("pub fn A::f<T>(&self, Option<NonNull<T>>) -> Result<(), E>"));
}

/// H6: fields that a method trusts are set by methods.
#[test]
fn owners_have_no_public_fields() {
    let lines = interface();
    let path = |item: &str| item.split(['<', '(']).next().unwrap_or_default().to_owned();
    let structs = lines.iter().filter_map(|line| line.split_once("pub struct "));
    let structs: Vec<_> = structs.map(|(_, item)| (path(item), item.contains("(pub "))).collect();
    let field = |line: &String| {
        line.strip_prefix("pub ")?.split_once(": ")?.0.rsplit_once("::").map(|it| path(it.0))
    };
    let with_fields: BTreeSet<_> = lines.iter().filter_map(field).collect();
    let mut found: Vec<_> =
        structs.iter().filter(|(path, is_tuple)| *is_tuple || with_fields.contains(path)).collect();
    // C reads the fields of those in `ffi`.
    found.retain(|(path, _)| !path.starts_with("ffi::"));
    let found: BTreeSet<_> =
        found.iter().filter_map(|(path, _)| path.rsplit("::").next()).collect();
    assert_eq!(found, PLAIN.split_whitespace().collect());
}

/// H7: two owners of one thing release it twice. A derive of `Clone` requires that each field is
/// `Clone`, so it is wrong only for a type with a `Drop` of its own.
#[test]
fn owners_are_not_clone() {
    let (mut by_hand, mut derived, mut drops) = (Vec::new(), Vec::new(), Vec::new());
    for (file, code) in sources("dlpack-traits") {
        let (tokens, mut is_derived) = (tokens(&code), false);
        // The last word of a path, in its file.
        let of = |at: usize| {
            let path = tokens[at..].iter().take_while(|token| !["<", "{", "("].contains(token));
            format!("{file} {}", path.last().unwrap_or(&""))
        };
        for (at, token) in tokens.iter().enumerate() {
            match (*token, tokens.get(at + 1)) {
                ("Clone" | "Copy", Some(&"for")) => by_hand.push(of(at + 2)),
                ("Drop", Some(&"for")) => drops.push(of(at + 2)),
                ("derive", Some(&"(")) => {
                    let mut list = tokens[at..].iter().take_while(|token| **token != ")");
                    is_derived = list.any(|token| ["Clone", "Copy"].contains(token));
                }
                ("struct" | "enum" | "union", _) if mem::take(&mut is_derived) => {
                    derived.push(of(at + 1));
                }
                _ => {}
            }
        }
    }
    assert!(drops.len() > 20 && derived.len() > 50, "{drops:?} {derived:?}");
    derived.retain(|of| drops.contains(of));
    assert_eq!(derived, [""; 0], "an owner has a derived `Clone`");
    let by_hand: BTreeSet<_> = by_hand.iter().filter_map(|of| of.split(' ').nth(1)).collect();
    assert_eq!(by_hand, CLONE.split_whitespace().collect());
}

/// No conversion makes a C struct, or a value from an address.
#[test]
fn no_conversion_makes_a_raw_struct() {
    let is_wrong = |line: &str| {
        let from = line.split_once("::From<").or(line.split_once("::TryFrom<"));
        ["::Target = ffi::", "AsRef<ffi::", "AsMut<ffi::", "Borrow<ffi::", "BorrowMut<ffi::"]
            .iter()
            .any(|conversion| line.contains(conversion))
            || line.starts_with("impl") && from.is_some_and(|(_, from)| has_address(from))
    };
    let mut wrong = interface();
    wrong.retain(|line| is_wrong(line));
    assert_eq!(wrong, [""; 0]);
    assert!(is_wrong("pub type A::Target = ffi::DLTensor"));
    assert!(is_wrong("impl core::convert::From<*mut T> for A"));
}

/// L26: Python code can replace any attribute, so no address that is called or read is
/// computed from a Python object. The exception is behind an `unsafe` option.
#[test]
fn python_objects_become_addresses_in_one_place() {
    let words = ["with_exposed_provenance", "with_exposed_provenance_mut", "ctypes"];
    let mut files = sources("dlpack-traits");
    files.retain(|(_, code)| tokens(code).iter().any(|token| words.contains(token)));
    let files: Vec<_> = files.into_iter().map(|(file, _)| file).collect();
    let files: Vec<_> = files.iter().filter(|file| file.starts_with("python/")).collect();
    assert_eq!(files, ["python/table/lookup.rs"]);
}

/// L9, L14, L17, L18: with nothing held and nothing kept, there is nothing that
/// another thread, a fork, or user code that is called could find half done.
#[test]
fn no_locks_and_no_globals() {
    let mut found = BTreeMap::new();
    for (file, code) in sources("dlpack-traits") {
        let tokens = tokens(&code);
        let mut words: BTreeSet<_> =
            WAITS.split_whitespace().filter(|it| tokens.contains(it)).collect();
        for at in (1..tokens.len()).filter(|&at| tokens[at] == "static" && tokens[at - 1] != "'") {
            let item = tokens[at + 1..].split(|token| ["=", ";", "{"].contains(token)).next();
            let changes = ["mut", "Atomic", "Cell", "Lock", "Mutex", "Once"];
            let changes = |token: &&str| changes.iter().any(|word| token.contains(word));
            words.extend(item.filter(|item| item.iter().any(changes)).map(|item| item[0]));
        }
        if !words.is_empty() {
            found.insert(file, words.into_iter().collect::<Vec<_>>().join(" "));
        }
    }
    let kept = KEPT.map(|(file, words)| (file.to_owned(), words.to_owned()));
    assert_eq!(found, BTreeMap::from(kept));
}
