//! Hostile and unusual structs in memory in which a forbidden read ends the process: no
//! read beyond an array, none of the struct after the import, none at all after the
//! deleter.

#[cfg(target_os = "linux")]
mod hostile {
    pub(crate) mod prototypes;
    pub(crate) mod raw_import;
}

#[cfg(not(target_os = "linux"))]
#[test]
#[ignore = "memory that cannot be read is written for Linux"]
fn hostile_tests_run_on_linux_only() {}
