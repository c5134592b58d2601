//! Many threads with their own streams share buffers, pass them to each other, and drop
//! them in any order.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::thread;

use dlpack_gpu_tests::session::{check, session};
use dlpack_traits::backend::{Cuda, DeviceBuffer};
use dlpack_traits::{DLPackExport, DataType, Device, StreamArg};

const THREADS: usize = 6;
const ROUNDS: usize = 20;
const COUNT: usize = 32;

#[derive(DLPackExport)]
struct Samples {
    data: DeviceBuffer<Cuda>,
    shape: [usize; 1],
}

#[test]
fn tensors_pass_between_threads() {
    let Some(session) = session() else { return };
    if let Some(simulator) = session.simulator {
        simulator.set_delay_us(50);
    }
    let streams: Vec<usize> = (0..THREADS).map(|_| session.new_stream()).collect();
    let copies: Vec<usize> = (0..THREADS).map(|_| session.filled(0, COUNT)).collect();
    let (driver, context) = (session.driver, session.context());
    for round in 0..ROUNDS {
        let value = u32::try_from(round).expect("a few") + 1;
        let producer = session.work_stream(streams[round % THREADS]);
        let data = DeviceBuffer::zeroed_on(producer, DataType::U32, COUNT).expect("memory");
        session.fill_on(streams[round % THREADS], data.as_ptr().addr(), value, COUNT);
        let samples = Arc::new(Samples { data, shape: [COUNT] });
        let consumers = streams.iter().zip(&copies).map(|(&stream, &copy)| {
            let samples = Arc::clone(&samples);
            thread::spawn(move || {
                // SAFETY: retained by the session.
                check(unsafe { (driver.context_set)(context) });
                // SAFETY: destroyed at the end.
                let consumer = unsafe { StreamArg::from_handle(stream) };
                let tensor = samples.to_dlpack_on(consumer).expect("a tensor");
                let from = samples.data.as_ptr().addr();
                drop(samples);
                // SAFETY: both have as many bytes.
                check(unsafe { (driver.copy_in_order)(copy, from, COUNT * 4, stream) });
                assert_eq!(tensor.device(), Device::cuda(0));
                // The work has not finished, and the host does not wait for it here.
                drop(tensor);
            })
        });
        let consumers: Vec<_> = consumers.collect();
        drop(samples);
        for consumer in consumers {
            consumer.join().expect("no panic");
        }
        for (&stream, &copy) in streams.iter().zip(&copies) {
            assert_eq!(session.read_on(stream, copy, COUNT), [value; COUNT]);
        }
    }
    for (stream, copy) in streams.into_iter().zip(copies) {
        session.free(copy);
        session.destroy_stream(stream);
    }
    if let Some(simulator) = session.simulator {
        simulator.set_delay_us(0);
    }
}
