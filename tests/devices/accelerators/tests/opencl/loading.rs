//! Machines without the library.

use std::path::Path;
use std::process::Command;

use dlpack_accelerator_tests::skipped;
use dlpack_traits::backend::{Backends, Cpu, DeviceBuffer, OpenCl};
use dlpack_traits::{DataType, Device, Error, ffi};

/// Says that this is the process in which nothing is loaded.
const CHILD: &str = "DLPACK_OPENCL_TEST_CHILD";

/// Runs in the child process.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    // SAFETY: loading a library runs its initializers, which the tests beside this one want.
    if unsafe { libloading::Library::new("libOpenCL.so.1") }.is_ok() {
        return skipped("opencl", "the system has libOpenCL.so.1").unwrap_or_default();
    }
    let device = Device::new(ffi::kDLOpenCL, 0);
    let missing = Error::NoLibrary { name: "libOpenCL.so.1" };
    assert_eq!(OpenCl::device_count(), Err(missing));
    assert_eq!(<(Cpu, OpenCl)>::current_work_stream(device).map(drop), Err(missing));
    let zeroed = DeviceBuffer::<OpenCl>::zeroed(device, DataType::U8, 1);
    assert_eq!(zeroed.map(drop), Err(missing));
    // SAFETY: 1. The file does not exist.
    let loaded = unsafe { OpenCl::load(Path::new("/no/such/file")) };
    assert_eq!(loaded, Err(missing));
    // A library that is another one's: no function is called.
    // SAFETY: 1. It is not OpenCL's, but the C library, which is loaded already.
    let other = unsafe { OpenCl::load(Path::new("libc.so.6")) };
    let what = "clGetPlatformIDs";
    assert_eq!(other, Err(Error::Unsupported { device, what }));
}

#[test]
fn without_the_library_every_call_is_an_error() {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "opencl::loading::child"]).env(CHILD, "1");
    let output = command.env_remove("LD_LIBRARY_PATH").output().expect("a process");
    assert!(output.status.success(), "{output:?}");
    if String::from_utf8_lossy(&output.stderr).contains("SKIPPED") {
        return skipped("opencl", "the system has libOpenCL.so.1").unwrap_or_default();
    }
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

/// Without the library the tests are skipped aloud, and fail where `DLPACK_REQUIRE`
/// names the runtime.
#[test]
fn a_required_library_that_is_missing_fails_the_test() {
    let run = |required: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args([
            "--exact",
            "opencl::exchange::devices_are_numbered_across_platforms",
            "--nocapture",
        ]);
        command.env_remove("LD_LIBRARY_PATH").env("DLPACK_OPENCL", "/no/such/file");
        command.env_remove("DLPACK_REQUIRE");
        command.envs(required.map(|names| ("DLPACK_REQUIRE", names)));
        let output = command.output().expect("a process");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (passed, said) = run(None);
    assert!(passed && said.contains("SKIPPED"), "{said}");
    let (passed, said) = run(Some("numpy,opencl"));
    assert!(!passed && said.contains("DLPACK_REQUIRE names opencl, but"), "{said}");
}
