//! Machines on which a vendor's library is missing or broken: [`Hidden`].

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Every name under which programs look for a vendor's library.
const NAMES: [&str; 6] = [
    "libcuda.so",
    "libcuda.so.1",
    "libamdhip64.so",
    "libamdhip64.so.5",
    "libamdhip64.so.6",
    "libamdhip64.so.7",
];

/// A folder with libraries of those names that have none of the functions: they are
/// copies of the C library. It is removed on drop.
#[derive(Debug)]
pub struct Hidden(PathBuf);

impl Hidden {
    /// Creates the folder; its name contains `what`.
    pub fn libraries(what: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("no-gpu-{what}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let maps = fs::read_to_string("/proc/self/maps").expect("the list of mappings");
        let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let libc = paths.find(|path| path.contains("libc.so") || path.contains("/libc-"));
        for name in NAMES {
            symlink(libc.expect("the C library"), folder.join(name)).expect("a link");
        }
        Self(folder)
    }

    /// Runs one test of this program in a process that finds those libraries.
    pub fn run(&self, test: &str, configure: impl FnOnce(&mut Command) -> &mut Command) -> Output {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", test, "--nocapture"]).env("LD_LIBRARY_PATH", &self.0);
        configure(&mut command).output().expect("a process")
    }

    /// A test whose library is missing prints that it was skipped, and fails where
    /// `DLPACK_REQUIRE` names the library.
    pub fn check_requirement(&self, test: &str, name: &str) {
        let skipped = self.run(test, |command| command.env_remove("DLPACK_REQUIRE"));
        let said = String::from_utf8_lossy(&skipped.stderr);
        assert!(skipped.status.success() && said.contains("SKIPPED"), "{skipped:?}");
        let failed =
            self.run(test, |command| command.env("DLPACK_REQUIRE", format!("numpy,{name}")));
        let said = String::from_utf8_lossy(&failed.stderr);
        let sentence = format!("DLPACK_REQUIRE names {name}, but");
        assert!(!failed.status.success() && said.contains(&sentence), "{failed:?}");
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
