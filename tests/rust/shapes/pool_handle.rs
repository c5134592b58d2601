//! A handle into a pool of a server: its address is known after a call that can fail. No
//! field is a storage, so the trait is implemented by hand, without `unsafe`.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, DataType, Describe, Description, Error, Flags, Storage, StreamArg};

use super::consumer::Expected;

/// A stand-in for the server.
#[derive(Default)]
struct Server {
    memory: Mutex<HashMap<u64, Arc<[u8]>>>,
    flushed: Mutex<Vec<u64>>,
}

impl Server {
    fn resolve(&self, id: u64) -> Result<Arc<[u8]>, Error> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.get(&id).cloned().ok_or(Error::Custom("the pool has taken this memory back"))
    }

    /// Waits for the work of a stream.
    fn flush(&self, stream: u64) {
        self.flushed.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
    }
}

struct Handle {
    memory: u64,
    start: Option<u64>,
    stream: u64,
}

struct Pooled {
    server: Arc<Server>,
    handle: Handle,
    shape: Vec<usize>,
    /// The result of the server. It owns the memory from then on.
    resolved: OnceLock<Arc<[u8]>>,
    _drop: Ticket,
}

impl Pooled {
    fn resolve(&self) -> Result<&Arc<[u8]>, Error> {
        if let Some(memory) = self.resolved.get() {
            return Ok(memory);
        }
        let memory = self.server.resolve(self.handle.memory)?;
        Ok(self.resolved.get_or_init(|| memory))
    }
}

impl DLPackExport for Pooled {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        let data = self.resolve()?.data();
        let start = self.handle.start.unwrap_or(0);
        out.shape(&self.shape).byte_offset(start).dtype(DataType::I32).data(data)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        let memory = self.resolve().ok()?;
        Some(memory)
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.server.flush(self.handle.stream);
        consumer.host()
    }
}

fn pooled(server: &Arc<Server>, memory: u64, drops: &Drops) -> Pooled {
    Pooled {
        server: Arc::clone(server),
        handle: Handle { memory, start: Some(4), stream: 3 },
        shape: vec![2],
        resolved: OnceLock::new(),
        _drop: drops.ticket(),
    }
}

#[test]
fn a_handle_is_resolved_at_the_export() {
    let drops = Drops::new();
    let server = Arc::new(Server::default());
    let memory: Arc<[u8]> = bytemuck::cast_slice(&[1_i32, 2, 3]).into();
    server.memory.lock().unwrap().insert(7, Arc::clone(&memory));
    let tensor = pooled(&server, 7, &drops);
    assert!(tensor.resolved.get().is_none());
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[2_i32, 3] };
    expected.assert_shared(&tensor);
    // The pool may drop an exported buffer.
    server.memory.lock().unwrap().clear();
    expected.assert_moved(tensor, &drops);
    assert_eq!(*server.flushed.lock().unwrap(), [3; 3], "once for each export");
    assert_eq!(Arc::strong_count(&memory), 1);
}

#[test]
fn a_revoked_handle_is_an_error() {
    let drops = Drops::new();
    let tensor = pooled(&Arc::default(), 7, &drops);
    let reason = Error::Custom("the pool has taken this memory back");
    assert_eq!(tensor.tensor().map(|_| ()).unwrap_err(), reason);
    assert_eq!(tensor.into_dlpack().unwrap_err(), reason);
    assert_eq!(drops.count(), 1);
}
