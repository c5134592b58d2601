//! Machines without the library.

use std::path::Path;
use std::process::Command;

use dlpack_traits::backend::{Backends, Cpu, DeviceBuffer, OneApi};
use dlpack_traits::{DataType, Device, Error, ffi};

/// Says that this is the process in which nothing is loaded.
const CHILD: &str = "DLPACK_ONEAPI_TEST_CHILD";

/// Runs in the child process.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let device = Device::new(ffi::kDLOneAPI, 0);
    let missing = Error::NoLibrary { name: "libDPCTLSyclInterface.so" };
    assert_eq!(OneApi::device_count(), Err(missing));
    assert_eq!(<(Cpu, OneApi)>::current_work_stream(device).map(drop), Err(missing));
    assert_eq!(OneApi::recognize(std::ptr::null(), device), Err(missing));
    let zeroed = DeviceBuffer::<OneApi>::zeroed(device, DataType::U8, 1);
    assert_eq!(zeroed.map(drop), Err(missing));
    // SAFETY: 1. The file does not exist.
    let loaded = unsafe { OneApi::load(Path::new("/no/such/file")) };
    assert_eq!(loaded, Err(missing));
    // A library that is another one's: no function is called.
    // SAFETY: 1. It is not DPCTL's, but the C library, which is loaded already.
    let other = unsafe { OneApi::load(Path::new("libc.so.6")) };
    let what = "DPCTLDeviceMgr_GetDevices";
    assert_eq!(other, Err(Error::Unsupported { device, what }));
}

#[test]
fn without_the_library_every_call_is_an_error() {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "oneapi::loading::child"]).env(CHILD, "1");
    let output = command.env_remove("LD_LIBRARY_PATH").output().expect("a process");
    assert!(output.status.success(), "{output:?}");
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
            "oneapi::exchange::devices_are_the_root_devices_of_dpctl",
            "--nocapture",
        ]);
        command.env_remove("LD_LIBRARY_PATH").env("DLPACK_DPCTL", "/no/such/file");
        command.env_remove("DLPACK_REQUIRE");
        command.envs(required.map(|names| ("DLPACK_REQUIRE", names)));
        let output = command.output().expect("a process");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (passed, said) = run(None);
    assert!(passed && said.contains("SKIPPED"), "{said}");
    let (passed, said) = run(Some("numpy,oneapi"));
    assert!(!passed && said.contains("DLPACK_REQUIRE names oneapi, but"), "{said}");
}
