//! Libraries that exist but do not provide what their names promise: each in its own
//! process, where the loader finds it first.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dlpack_traits::backend::{Cuda, DeviceBuffer, Rocm};
use dlpack_traits::{DataType, Device};

/// Says that this is the process with the broken library.
const CHILD: &str = "DLPACK_GPU_TEST_BROKEN";

/// Runs in the child process.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        println!("{:?} {:?}", Cuda::device_count(), Rocm::device_count());
        let made = DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::U8, 1).map(drop);
        println!("again {made:?}");
    }
}

/// A folder of its own, with one file under the names of both libraries.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, make: impl Fn(&Path)) -> Self {
        let folder = std::env::temp_dir().join(format!("broken-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for name in ["libcuda.so.1", "libcuda.so", "libamdhip64.so.7"] {
            make(&folder.join(name));
        }
        Self(folder)
    }

    /// Returns the output of a process whose loader searches that folder first.
    fn said(&self) -> String {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "child", "--nocapture"]).env(CHILD, "1");
        let output = command.env("LD_LIBRARY_PATH", &self.0).output().expect("a process");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A library of that source, made by the compiler that links Rust's programs.
fn compiled(source: &'static str) -> impl Fn(&Path) {
    move |file| {
        let text = file.with_extension("c");
        fs::write(&text, source).expect("a file");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-o"]).arg(file).arg(&text);
        assert!(command.status().expect("a C compiler").success(), "{source}");
    }
}

#[test]
fn files_that_are_not_libraries_are_errors() {
    let said = Folder::with("text", |file| fs::write(file, "no library").expect("a file")).said();
    // Unless the machine has a driver besides.
    let refused = r#"Err(NoLibrary { name: "libcuda.so.1" })"#;
    assert!(said.contains(refused) || said.contains("Ok("), "{said}");
    let said = Folder::with("folder", |file| fs::create_dir(file).expect("a folder")).said();
    assert!(said.contains(refused) || said.contains("Ok("), "{said}");
}

#[test]
fn libraries_without_the_functions_are_errors() {
    let said = Folder::with("empty", compiled("int nothing;\n")).said();
    for what in ["cuInit", "hipInit"] {
        assert!(said.contains(&format!("what: \"{what}\"")), "{said}");
    }
    assert!(said.contains("again Err(Unsupported"), "{said}");
}

/// A driver older than the functions that the backend uses: no function is called.
#[test]
fn libraries_with_some_of_the_functions_are_errors() {
    let source = "#include <stdlib.h>\nint cuInit(unsigned f) { abort(); }\n\
                  int hipInit(unsigned f) { abort(); }\n\
                  int hipGetDeviceCount(int *n) { abort(); }\n";
    let said = Folder::with("old", compiled(source)).said();
    for what in ["cuDeviceGetCount", "hipDeviceSynchronize"] {
        assert!(said.contains(&format!("what: \"{what}\"")), "{said}");
    }
}

/// A symbol whose address is NULL is not a function.
#[test]
fn libraries_with_null_functions_are_errors() {
    let source = "__asm__(\".globl cuInit, hipInit\\n.set cuInit, 0\\n.set hipInit, 0\\n\");\n";
    let said = Folder::with("null", compiled(source)).said();
    for what in ["cuInit", "hipInit"] {
        assert!(said.contains(&format!("what: \"{what}\"")), "{said}");
    }
}
