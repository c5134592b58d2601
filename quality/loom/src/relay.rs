//! A tensor is passed to a function that gives it to another thread, and then fails or
//! succeeds: it is released once, and no freed memory is accessed.

extern crate alloc;

#[cfg(loom)]
#[path = "../tests/producer/mod.rs"]
mod producer;
// The file needs no Python, but is in the layer of modules that do.
#[cfg(loom)]
#[allow(dead_code, reason = "the models do not read whether a relay is lost")]
#[path = "../../../dlpack-traits/src/exchange/relay.rs"]
mod relay;
#[cfg(loom)]
mod ffi {
    pub use dlpack_traits::ffi::DLManagedTensorVersioned;
}
#[cfg(loom)]
#[path = "../../../dlpack-traits/src/atomic.rs"]
#[allow(unused_imports, reason = "the relay uses its part")]
mod atomic;

#[cfg(not(loom))]
fn main() {
    panic!("build this with --cfg loom");
}

#[cfg(loom)]
fn main() {
    models::taken_elsewhere(true);
    models::taken_elsewhere(false);
    println!("test result: ok. 2 passed");
}

#[cfg(loom)]
mod models {
    use core::ptr::NonNull;

    use loom::thread;

    use super::producer::Producer;
    use super::relay::Relay;

    struct Given(*mut super::ffi::DLManagedTensorVersioned);

    // SAFETY: a deleter may be called on any thread.
    unsafe impl Send for Given {}

    /// The function releases the tensor on another thread, at any moment.
    pub(super) fn taken_elsewhere(succeeds: bool) {
        loom::model(move || {
            let producer = Producer::new();
            let tensor = NonNull::new(producer.tensor(0)).unwrap();
            let mut thread = None;
            let call = |relay| {
                let (given, memory) = (Given(relay), producer.memory());
                thread = Some(thread::spawn(move || {
                    let given = given;
                    if succeeds {
                        memory.read();
                    }
                    // SAFETY: it is alive until its deleter was called.
                    let deleter = unsafe { (*given.0).deleter }.unwrap();
                    // SAFETY: this is the only call.
                    unsafe { deleter(given.0) }
                }));
                if succeeds { Ok(()) } else { Err(()) }
            };
            // SAFETY: 1. It was just made. 2. The deleter is called once, and the memory
            // is read before it only after a success.
            let result = unsafe { Relay::send(tensor, false, call) }.result;
            assert_eq!(result.is_ok(), succeeds);
            thread.take().unwrap().join().unwrap();
            assert_eq!(producer.deleted(), 1);
        });
    }
}
