//! Exports: metadata, write access, owners and threads. The deleter runs exactly once on every
//! path: `deleter.rs`, which valgrind runs too.

mod export {
    mod agreement;
    mod copy;
    mod printed;
    mod results;
    mod spare_capacity;
    mod wrapped;
    mod wrappings;

    // They start threads or catch panics.
    #[cfg(not(target_family = "wasm"))]
    mod by_value;
    #[cfg(not(target_family = "wasm"))]
    mod misuse;
    #[cfg(not(target_family = "wasm"))]
    mod odd_owners;
    #[cfg(not(target_family = "wasm"))]
    mod share;
    #[cfg(not(target_family = "wasm"))]
    mod shared;
    #[cfg(not(target_family = "wasm"))]
    mod shared_odd;
    #[cfg(not(target_family = "wasm"))]
    mod threads;
}
