//! Exchange tables of other libraries, without Python: they are found in chains of versions,
//! their results are validated, and tensors are relayed to functions that fail in every way.
#![no_main]

extern crate alloc;

/// The source files themselves: their modules are private and do not depend on Python.
#[path = "../../../dlpack-traits/src/exchange/foreign_table.rs"]
#[allow(dead_code)]
mod foreign_table;
#[path = "../../../dlpack-traits/src/exchange/relay.rs"]
#[allow(dead_code)]
mod relay;

mod ffi {
    pub(crate) use dlpack_traits::ffi::*;
}
mod atomic {
    pub(crate) use core::sync::atomic::{AtomicU8, Ordering};
}
mod version {
    pub(crate) use dlpack_traits::Version;
}
#[allow(unused_imports)]
mod error {
    pub(crate) use dlpack_traits::Error;
}

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use arbitrary::Arbitrary;
use dlpack_fuzz::wild::Wild;
use ffi::{
    DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLPackVersion, DLTensor,
};
use foreign_table::{ForeignTable, Outcome};
use libfuzzer_sys::fuzz_target;
use relay::Relay;

#[derive(Arbitrary, Debug)]
struct Input {
    chain: Vec<Link>,
    begin: u8,
    status: i32,
    made: bool,
    raised: bool,
    wild: Wild,
    callee: Callee,
}

/// A table, or the header of a table of an unknown version.
#[derive(Arbitrary, Debug)]
struct Link {
    major: u8,
    minor: u8,
    view: bool,
    /// Which one it leads to: any, itself included, or none.
    next: u8,
}

impl Link {
    fn major(&self) -> u32 {
        u32::from(self.major % 3)
    }

    fn is_ours(&self) -> bool {
        self.major() == 1 && self.minor >= 2
    }
}

/// What a function does with the tensor that it is given.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Callee {
    Takes,
    TakesAndReleases,
    Fails,
    ReleasesAndFails,
    FailsAndReleasesLater,
}

unsafe extern "C" fn view(_: *mut c_void, _: *mut DLTensor) -> c_int {
    -1
}

/// Reads the chain, whose unknown tables have a header and nothing behind it.
fn find(links: &[Link], begin: u8) {
    let table = |link: &Link| DLPackExchangeAPI {
        header: DLPackExchangeAPIHeader {
            version: DLPackVersion { major: link.major(), minor: link.minor.into() },
            prev_api: ptr::null_mut(),
        },
        managed_tensor_allocator: None,
        managed_tensor_from_py_object_no_sync: None,
        managed_tensor_to_py_object_no_sync: None,
        dltensor_from_py_object_no_sync: link.view.then_some(view as _),
        current_work_stream: None,
    };
    let places: Vec<*mut DLPackExchangeAPIHeader> = links
        .iter()
        .map(|link| {
            let table = table(link);
            if link.is_ours() {
                Box::into_raw(Box::new(table)).cast()
            } else {
                Box::into_raw(Box::new(table.header))
            }
        })
        .collect();
    let place = |which: u8| places.get(usize::from(which)).copied().unwrap_or(ptr::null_mut());
    for (link, &at) in links.iter().zip(&places) {
        // SAFETY: it was just boxed.
        unsafe { (*at).prev_api = place(link.next) };
    }
    // SAFETY: 1. Each is what its version says.
    let found = unsafe { ForeignTable::read(place(begin)) };
    let mut next = usize::from(begin);
    let mut expected = None;
    for _ in 0..16 {
        let Some(link) = links.get(next) else { break };
        if link.is_ours() {
            expected = Some(link.view);
            break;
        }
        next = link.next.into();
    }
    assert_eq!(found.map(|table| table.view.is_some()), expected);
    for (link, at) in links.iter().zip(places) {
        if link.is_ours() {
            // SAFETY: it was boxed as such.
            drop(unsafe { Box::from_raw(at.cast::<DLPackExchangeAPI>()) });
        } else {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(at) });
        }
    }
}

/// Calls the deleter of the tensor that the function received; the function may have copied
/// the struct.
fn release(given: *mut DLManagedTensorVersioned) {
    // SAFETY: it is alive until its deleter has run.
    let deleter = unsafe { (*given).deleter };
    // SAFETY: as above; the only call.
    unsafe { deleter.expect("a relay has one")(given) };
}

fn relay(wild: &Wild, callee: Callee) {
    // What is relayed was looked at before: its major version is ours.
    let wild = Wild { version: dlpack_fuzz::wild::Version::OfOurs(3), ..wild.clone() };
    let built = wild.build::<DLManagedTensorVersioned>();
    let tensor = NonNull::new(built.raw()).expect("a struct");
    let mut given = ptr::null_mut();
    let call = |managed: *mut DLManagedTensorVersioned| {
        given = managed;
        match callee {
            Callee::Takes => Ok(()),
            Callee::TakesAndReleases => {
                release(managed);
                Ok(())
            }
            Callee::Fails | Callee::FailsAndReleasesLater => Err(()),
            Callee::ReleasesAndFails => {
                release(managed);
                Err(())
            }
        }
    };
    // SAFETY: 1. The struct is ours to give away. 2. As `Callee` says.
    let sent = unsafe { Relay::send(tensor, false, call) };
    let outcome = sent.result;
    let fails = matches!(callee, Callee::Fails | Callee::FailsAndReleasesLater);
    assert_eq!(sent.is_lost, fails);
    match callee {
        Callee::Takes => {
            assert_eq!((outcome, built.deletes()), (Ok(()), 0));
            release(given);
        }
        Callee::TakesAndReleases => assert_eq!(outcome, Ok(())),
        Callee::FailsAndReleasesLater => release(given),
        Callee::Fails => {
            assert_eq!(outcome, Err(()));
            // By design the relay stays for a deleter that comes later.
            release(given);
        }
        Callee::ReleasesAndFails => assert_eq!(outcome, Err(())),
    }
    built.check();
}

fuzz_target!(|input: Input| {
    find(&input.chain[..input.chain.len().min(40)], input.begin);
    let outcome = Outcome::of(input.status, input.made, input.raised);
    let done = input.status == 0 && input.made && !input.raised;
    assert_eq!(outcome == Outcome::Done, done);
    relay(&input.wild, input.callee);
});
