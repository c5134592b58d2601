//! Machines without a library, without a GPU, and programs that access memory which they
//! must not: each in its own process.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use dlpack_gpu_tests::driver::cuda;
use dlpack_gpu_tests::hidden::Hidden;
use dlpack_gpu_tests::session::session;
use dlpack_gpu_tests::simulator::{Counts, Simulator};
use dlpack_traits::backend::{Backends, Cpu, Cuda, DeviceBuffer, Prototype, Rocm};
use dlpack_traits::{DataType, Device, Dims, Error};

/// The environment variable that selects what the child process does.
const CHILD: &str = "DLPACK_GPU_TEST_CHILD";
const SEGMENTATION_FAULT: i32 = 11;

/// Runs [`child`] in a process of its own.
fn in_child(what: &str, configure: impl FnOnce(&mut Command) -> &mut Command) -> Output {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, what);
    configure(&mut command).output().expect("a process")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs in the child process.
#[test]
fn child() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let device = Device::cuda(0);
    match what.as_str() {
        "count" => println!("{:?} {:?}", Cuda::device_count(), Rocm::device_count()),
        "everything" => {
            let shape = [2_i64];
            let prototype = Prototype::new(DataType::F32, Dims::of(&shape).expect("two"), device);
            let prototype = prototype.expect("a prototype");
            let allocated = <(Cpu, Cuda)>::allocate(&prototype).map(drop);
            let current = <(Cpu, Cuda)>::current_work_stream(device).map(drop);
            let known = Cuda::pointer_attributes(std::ptr::null(), device).map(drop);
            let made = DeviceBuffer::<Cuda>::from_slice(device, &[1_u8]).map(drop);
            let errors = [allocated, current, known, made];
            assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
            println!("{:?}", errors[0]);
        }
        "first calls" => {
            let threads = (0..8).map(|_| {
                std::thread::spawn(move || {
                    let buffer = DeviceBuffer::<Cuda>::from_slice(device, &[7_u8; 3])?;
                    buffer.to_vec::<u8>()
                })
            });
            for thread in threads.collect::<Vec<_>>() {
                assert_eq!(thread.join().expect("no panic"), Ok(vec![7; 3]));
            }
            let (library, _) = cuda().expect("the simulator");
            let counts = Simulator::of(library).expect("the simulator").counts();
            assert_eq!(counts, Counts { contexts: 1, ..Counts::default() });
        }
        "touch device memory" => {
            let buffer = DeviceBuffer::<Cuda>::zeroed(device, DataType::U8, 64).expect("memory");
            // SAFETY: a mistake, which ends this process.
            let byte = unsafe { buffer.as_ptr().cast::<u8>().read_volatile() };
            println!("read {byte}");
        }
        "touch freed pinned memory" => {
            let device = Device::CUDA_HOST;
            let buffer = DeviceBuffer::<Cuda>::zeroed(device, DataType::U8, 64).expect("memory");
            let address = buffer.as_ptr().cast::<u8>();
            // SAFETY: pinned memory is accessible to the host, and has no other user.
            println!("read {}", unsafe { address.read_volatile() });
            drop(buffer);
            // SAFETY: a mistake, which ends this process.
            println!("read {} again", unsafe { address.read_volatile() });
        }
        other => panic!("what is {other}?"),
    }
}

#[test]
fn without_the_library_every_call_is_an_error() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_none() {
        return;
    }
    for what in ["count", "everything"] {
        let output = said(&in_child(what, |command| command.env_remove("LD_LIBRARY_PATH")));
        // Unless the machine has a driver besides.
        let missing = output.contains("Err(NoLibrary { name: \"libcuda.so.1\" })");
        assert!(missing || output.contains("Ok("), "{output}");
    }
    let no_library = Error::NoLibrary { name: "libcuda.so.1" };
    assert_eq!(no_library.to_string(), "the library libcuda.so.1 was not found");
}

#[test]
fn without_a_gpu_every_call_reports_the_drivers_error() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_none() {
        return;
    }
    for what in ["count", "everything"] {
        let output = said(&in_child(what, |command| command.env("GPU_SIMULATOR_DEVICES", "0")));
        assert!(output.contains("call: \"cuInit\", code: 100"), "{output}");
    }
}

#[test]
fn a_required_library_that_is_missing_fails_the_test() {
    Hidden::libraries("required")
        .check_requirement("concurrent_first_calls_load_the_library_once", "cuda");
}

/// Threads that load the library, and retain the context, at the same time.
#[test]
fn concurrent_first_calls_load_the_library_once() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_some() {
        said(&in_child("first calls", |command| command));
    }
}

#[test]
fn the_host_cannot_touch_device_memory() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_none() {
        return;
    }
    for (what, before) in [("touch device memory", ""), ("touch freed pinned memory", "read 0")] {
        let output = in_child(what, |command| command);
        assert_eq!(output.status.signal(), Some(SEGMENTATION_FAULT), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(before) && !said.contains("again"), "{said}");
    }
}
