//! Machines without Vulkan's loader, without a driver, and with too few devices.

use std::process::{Command, Output};

use dlpack_traits::backend::Vulkan;
use dlpack_vulkan_tests::program::program;

/// The environment variable that selects what the child process does.
const CHILD: &str = "DLPACK_VULKAN_TEST_CHILD";

/// Runs [`child`] in a process of its own.
fn in_child(configure: impl FnOnce(&mut Command) -> &mut Command) -> String {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, "1");
    let output: Output = configure(&mut command).output().expect("a process");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs in the child process.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        println!("first {:?}", Vulkan::open(0));
        println!("again {:?}", Vulkan::open(0));
        println!("no such {:?}", Vulkan::open(99));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_the_loader_opening_is_an_error() {
    // A file that is not a library is found before the one of the machine.
    let folder = std::env::temp_dir().join(format!("no-vulkan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["libvulkan.so.1", "libvulkan.so"] {
        std::fs::write(folder.join(name), "no library").expect("a file");
    }
    let said = in_child(|command| command.env("LD_LIBRARY_PATH", &folder));
    std::fs::remove_dir_all(&folder).expect("the folder");
    let error = r#"Err(NoLibrary { name: "libvulkan.so.1" })"#;
    assert!(said.contains(&format!("first {error}")), "{said}");
    assert!(said.contains(&format!("again {error}")), "{said}");
}

#[test]
fn without_a_driver_opening_is_an_error() {
    let Some(_program) = program() else { return };
    let none = std::env::temp_dir().join("no-such-driver.json");
    let said =
        in_child(|command| command.env("VK_ICD_FILENAMES", &none).env("VK_DRIVER_FILES", &none));
    // The loader has no driver for an instance: VK_ERROR_INCOMPATIBLE_DRIVER.
    assert!(said.contains("vkCreateInstance") && said.contains("-9"), "{said}");
}

#[test]
fn a_missing_device_is_an_error() {
    let Some(_program) = program() else { return };
    let said = in_child(|command| command);
    assert!(said.contains("first Ok(vulkan:0)") && said.contains("again Ok(vulkan:0)"), "{said}");
    assert!(said.contains("no such Err(NoBackend { device: vulkan:99 })"), "{said}");
}

/// A library of that name that is not Vulkan's loader.
#[test]
#[cfg(target_os = "linux")]
fn a_loader_without_the_functions_is_an_error() {
    let folder = std::env::temp_dir().join(format!("not-vulkan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the list of mappings");
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let libc = paths.find(|path| path.contains("libc.so") || path.contains("/libc-"));
    for name in ["libvulkan.so.1", "libvulkan.so"] {
        std::os::unix::fs::symlink(libc.expect("the C library"), folder.join(name))
            .expect("a link");
    }
    let said = in_child(|command| command.env("LD_LIBRARY_PATH", &folder));
    std::fs::remove_dir_all(&folder).expect("the folder");
    assert!(said.contains(r#"first Err(NoLibrary { name: "libvulkan.so.1" })"#), "{said}");
}

/// Without a driver the tests are skipped aloud, and fail where `DLPACK_REQUIRE`
/// names it.
#[test]
fn a_required_library_that_is_missing_fails_the_test() {
    let none = std::env::temp_dir().join("no-such-driver.json");
    let run = |required: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "a_missing_device_is_an_error", "--nocapture"]);
        command.env("VK_ICD_FILENAMES", &none).env("VK_DRIVER_FILES", &none);
        command.env_remove("DLPACK_REQUIRE");
        command.envs(required.map(|names| ("DLPACK_REQUIRE", names)));
        let output = command.output().expect("a process");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (passed, said) = run(None);
    assert!(passed && said.contains("SKIPPED"), "{said}");
    let (passed, said) = run(Some("webgpu, vulkan"));
    assert!(!passed && said.contains("DLPACK_REQUIRE names vulkan, but"), "{said}");
}
