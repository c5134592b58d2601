//! Hostile and odd structs in memory that cannot be read out of turn: nothing
//! beyond an array is read, nothing of the struct after the import, nothing at
//! all after the deleter.

#[cfg(target_os = "linux")]
mod hostile {
    pub(crate) mod prototypes;
    pub(crate) mod raw_import;
}

#[cfg(not(target_os = "linux"))]
#[test]
#[ignore = "memory that cannot be read is written for Linux"]
fn hostile_tests_run_on_linux_only() {}
