//! Devices: stream rules, synchronization, frees, sets of backends, copies to the
//! host. The device is that of `examples/new-device`, whose work runs on its own
//! threads; the tests delay work with a gate.

mod devices {
    mod adopted;
    mod copies;
    mod cpu;
    mod device_tensor;
    mod failures;
    mod five_functions;
    mod frees;
    mod imports;
    mod lost;
    mod memory_types;
    pub(crate) mod npu;
    #[path = "../exchange/host.rs"]
    #[allow(dead_code, reason = "the tests of the exchange table use the rest")]
    pub(crate) mod objects;
    mod order;
    mod own_copies;
    mod pool;
    mod rules;
    mod sets;
    mod synchronized;
    mod tables;
    pub(crate) mod variant;
    mod windows;
}
