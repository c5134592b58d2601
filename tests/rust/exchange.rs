//! The exchange table of a host that is not Python: every function, on success and on
//! every failure, called as C calls it.

mod exchange {
    pub(crate) mod allocator;
    pub(crate) mod exports;
    #[path = "../import/forge.rs"]
    #[allow(dead_code, reason = "the tests of imports use the rest")]
    pub(crate) mod forge;
    pub(crate) mod host;
    #[cfg(target_os = "linux")]
    pub(crate) mod hostile;
    pub(crate) mod objects;
    pub(crate) mod streams;
    pub(crate) mod views;
}
