//! Miri over all Rust tests, under both models of aliasing.

use std::path::Path;
use std::process::Command;

use crate::checkout::Outcome;
use crate::context::Context;
use crate::contribute::rust_tests::SELECTION;
use crate::quality::nightly::TOOLCHAIN;
use crate::report::{Ending, missing};
use crate::run::queue::Job;
use crate::run::{Stage, answer_of, cargo_of};
use crate::system::exclusively;

/// Strict provenance, with isolation from the host: a property test that reads host state
/// gets an error, so that every run is the same.
pub(crate) const STRICT: &str = "-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check \
                      -Zmiri-isolation-error=warn-nobacktrace";
/// A test program, and its tests with threads.
type Concurrent = (&'static str, &'static [&'static str]);
/// Tests whose course depends on the order of threads: all that start some. Each
/// seed gives another order, and other addresses.
const CONCURRENT: &[Concurrent] = &[
    (
        "deleter",
        &[
            "consuming_an_export_drops_the_owner_once",
            "dropping_an_unread_export_drops_the_owner_once",
            "errors_before_the_export_drop_the_owner_once",
        ],
    ),
    ("derive_drops", &["the_struct_is_dropped_once_after_the_consumer_wrote"]),
    ("derive_slices", &["image_of_another_crate_is_exported_zero_copy"]),
    (
        "devices",
        &[
            "devices::adopted::memory_freed_at_once_waits_for_consumers",
            "devices::adopted::an_import_is_adopted_as_a_buffer",
            "devices::copies::the_copy_waits_for_the_work",
            "devices::cpu::a_buffer_on_the_host_is_read_byte_wise_atomically",
            "devices::frees::memory_is_freed_after_the_kernels_of_several_consumers",
            "devices::frees::streams_are_recorded_from_many_threads",
            "devices::frees::an_export_without_a_stream_waits_for_the_work",
            "devices::own_copies::copies_include_pending_work",
            "devices::pool::a_tensor_is_copied_to_the_next_device",
        ],
    ),
    (
        "exchange",
        &[
            "exchange::objects::a_tensor_dropped_on_another_thread_meanwhile_has_two_owners",
            "exchange::objects::the_object_holds_the_tensor_unchanged",
        ],
    ),
    (
        "import",
        &[
            "import::accepts::memory_shared_with_rust_is_imported",
            "import::block_layouts::threads_read_and_write_parts",
            "import::byte_wise::blocks_are_written_while_bytes_are_read",
            "import::byte_wise::bytes_are_read_as_floats_while_they_are_stored",
            "import::byte_wise::exclusive_memory_of_an_imported_storage_is_read_byte_wise_atomically",
            "import::byte_wise::pixels_are_read_as_bytes_while_they_are_stored",
            "import::own::frozen_own_exports_with_several_owners_are_slices",
            "import::own::own_exports_of_shared_memory_are_shared",
            "import::owned_slice::bytes_own_an_import",
            "import::owned_slice::owned_slice_can_be_shared_by_threads",
        ],
    ),
    ("misuse", &["every_access_at_the_same_time"]),
    ("shapes", &["shapes::python_owner::many_consumers_read_one_object"]),
    ("share", &["a_shared_buffer_takes_over_a_vector"]),
    ("shared", &["many_threads_export_one_value"]),
    ("shared_odd", &["a_value_is_exclusive_after_consumers_on_other_threads"]),
    (
        "threads",
        &[
            "an_export_is_dropped_on_another_thread",
            "many_threads_read_one_handle",
            "many_threads_export_one_object",
            "many_threads_write_shared_elements",
        ],
    ),
];
/// For these tests under Tree Borrows, with all others.
const SEEDS: u32 = 4;
/// For these tests alone.
const MANY_SEEDS: u32 = 64;

/// The newer aliasing model (Tree Borrows).
const TREE: &str = "-Zmiri-tree-borrows";
/// The folders of the test programs. Doc tests do not run: each would start an interpreter.
const FOLDERS: [&str; 2] = ["tests/rust", "examples/new-device/tests"];

/// Test programs that take longest under Miri, which begin first: a long one that began last
/// would leave the other processors idle.
const LONGEST: &[&str] =
    &["import", "wrappings", "devices", "derive_import", "bounds", "deleter", "exchange", "faults"];

/// A program of which a module takes about half of the time: it runs as two processes, the module
/// in one of them.
const IN_TWO: (&str, &str) = ("import", "block_layouts");

/// A 32-bit target, a big-endian one, and one of another architecture like the host's.
const OTHER_TARGETS: [&str; 3] =
    ["i686-unknown-linux-gnu", "s390x-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// Test programs about element types, addresses, and what C reads of a tensor. `cargo xtask test
/// --full` runs them, on the host.
const CORE: &[&str] = &[
    "derive_data_type",
    "derive_element",
    "derive_element_types",
    "derive_offsets",
    "derive_pointers",
    "exchange_full",
];
/// Longer programs, which [`OTHER_TARGETS`] run too.
const LONG: &[&str] = &["bounds", "deleter", "derive_import", "export"];

/// Runs the [`CORE`] under the older aliasing model (Stacked Borrows): the step of `cargo xtask test
/// --full`.
pub(crate) fn core(context: &Context, stage: &mut Stage) -> Ending {
    let names: Vec<String> = CORE.iter().copied().map(ToOwned::to_owned).collect();
    under_stacked_borrows(context, stage, &names)
}

/// Runs all tests under the older model.
pub(crate) fn stacked_borrows(context: &Context, stage: &mut Stage) -> Ending {
    under_stacked_borrows(context, stage, &programs(context.checkout.root())?)
}

fn under_stacked_borrows(context: &Context, stage: &mut Stage, names: &[String]) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    run_programs(stage, &|tests| miri(context, STRICT, tests), names)
}

/// Runs the unit tests, the [`CORE`] and [`LONG`] on all [`OTHER_TARGETS`].
pub(crate) fn other_targets(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    let names: Vec<&str> = [LIBRARIES].iter().chain(LONG).chain(CORE).copied().collect();
    // The programs of all targets run in one queue, so that the longest ones run beside each other.
    let mut jobs = Vec::new();
    for target in OTHER_TARGETS {
        let command = |tests: &[&str]| {
            let mut command = miri(context, STRICT, tests);
            command.args(["--target", target]);
            command
        };
        build(stage, &command, &names)?;
        jobs.extend(names.iter().map(|name| {
            let Job { name, command } = job(&command, name);
            (name != LIBRARIES, Job { name: format!("{name} on {target}"), command })
        }));
    }
    jobs.sort_by_key(|(later, _)| *later);
    Ok(stage.run_all(jobs.into_iter().map(|(_, job)| job).collect())?)
}

/// The newer model, on all tests, and on those with threads with several seeds.
pub(crate) fn tree_borrows(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    let flags = format!("{STRICT} {TREE}");
    let names = programs(context.checkout.root())?;
    run_programs(stage, &|tests| miri(context, &flags, tests), &names)?;
    Ok(stage.run(&mut with_seeds(context, &flags, SEEDS))?)
}

/// Builds these test programs, and runs one on each processor: Miri interprets a program on one,
/// whatever threads the program starts.
fn run_programs(
    stage: &mut Stage,
    command: &dyn Fn(&[&str]) -> Command,
    names: &[String],
) -> Ending {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    build(stage, command, &names)?;
    let (program, module) = IN_TWO;
    let mut jobs = Vec::new();
    for name in names {
        let Job { name, command: mut first } = job(command, name);
        if name == program {
            let mut second = job(command, &name).command;
            second.args(["--", "--skip", module]);
            jobs.push(Job { name: format!("{name} without {module}"), command: second });
            first.args(["--", module]);
        }
        jobs.push(Job { name, command: first });
    }
    Ok(stage.run_all(jobs)?)
}

/// The run of one test program.
fn job(command: &dyn Fn(&[&str]) -> Command, name: &str) -> Job {
    Job { command: command(&[&argument(name)]), name: name.to_owned() }
}

/// What cargo calls a test program.
fn argument(name: &str) -> String {
    if name == LIBRARIES { name.to_owned() } else { format!("--test={name}") }
}

/// Builds test programs.
fn build(stage: &mut Stage, command: &dyn Fn(&[&str]) -> Command, names: &[&str]) -> Outcome {
    let arguments: Vec<String> = names.iter().map(|name| argument(name)).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    stage.run(command(&arguments).arg("--no-run"))
}

/// The unit tests of all libraries.
const LIBRARIES: &str = "--lib";

/// The test programs of all [`FOLDERS`] and the unit tests, each name once, the longest first.
fn programs(root: &Path) -> Outcome<Vec<String>> {
    let mut names = vec![LIBRARIES.to_owned()];
    for folder in FOLDERS {
        let files = std::fs::read_dir(root.join(folder))
            .map_err(|error| format!("{folder} cannot be read ({error})."))?;
        let files = files.flatten().map(|file| file.path());
        let programs = files.filter(|path| path.extension().is_some_and(|it| it == "rs"));
        names
            .extend(programs.filter_map(|it| Some(it.file_stem()?.to_string_lossy().into_owned())));
    }
    names.sort_by_key(|name| {
        let rank = LONGEST.iter().position(|long| long == name).unwrap_or(LONGEST.len());
        (rank, name.clone())
    });
    names.dedup();
    Ok(names)
}

/// Runs the tests with threads under both aliasing models, with many more seeds.
pub(crate) fn many_seeds(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    for model in ["", TREE] {
        let flags = format!("{STRICT} {model}");
        stage.run(&mut with_seeds(context, &flags, MANY_SEEDS))?;
    }
    Ok(())
}

/// Runs tests with threads, with this many seeds, as many in parallel as there are processors.
fn with_seeds(context: &Context, flags: &str, seeds: u32) -> Command {
    let programs: Vec<String> =
        CONCURRENT.iter().map(|(program, _)| format!("--test={program}")).collect();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let flags = format!("{flags} -Zmiri-many-seeds=0..{seeds}");
    let mut command = miri(context, &flags, &programs);
    command.args(["--", "--exact"]).args(CONCURRENT.iter().flat_map(|(_, tests)| *tests));
    command
}

fn miri(context: &Context, flags: &str, tests: &[&str]) -> Command {
    let mut command = cargo_of(&context.checkout, TOOLCHAIN);
    command.env("MIRIFLAGS", flags).args(["miri", "test", "--no-fail-fast"]);
    command.args(SELECTION).args(tests);
    command
}

/// Installs the component where it is missing.
pub(crate) fn install(stage: &mut Stage) -> Outcome {
    exclusively(|| install_missing(stage))
}

fn install_missing(stage: &mut Stage) -> Outcome {
    let present =
        || answer_of("rustup", &["run", TOOLCHAIN, "cargo", "miri", "--version"]).is_some();
    if present() {
        return Ok(());
    }
    let toolchains = answer_of("rustup", &["toolchain", "list"])
        .ok_or_else(|| "rustup, which installs Miri, is missing".to_owned())?;
    let mut command = Command::new("rustup");
    if toolchains.lines().any(|name| name.starts_with(TOOLCHAIN)) {
        command.args(["component", "add", "miri", "rust-src", "--toolchain", TOOLCHAIN]);
    } else {
        command.args(["toolchain", "install", TOOLCHAIN, "--profile", "minimal"]);
        command.args(["--component", "miri", "--component", "rust-src"]);
    }
    if stage.run(&mut command).is_ok() && present() {
        return Ok(());
    }
    Err("the component cannot be installed (rustup component add miri rust-src --toolchain nightly)"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::{CONCURRENT, CORE, IN_TWO, LIBRARIES, LONG, LONGEST, programs};

    #[test]
    fn programs_are_named_once_and_the_longest_begin() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = programs(&root).expect("folders");
        let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
        assert_eq!(names[0], LONGEST[0]);
        // Both folders have a `readme`.
        for name in [LIBRARIES, "abi", "readme", "sync_for"] {
            assert_eq!(count(name), 1, "{name}");
        }
        // The other packages have no test programs.
        for package in ["dlpack-traits", "quality/hostile"] {
            assert!(!root.join(package).join("tests").exists(), "{package}");
        }
    }

    /// A program that was renamed must be renamed in the list.
    #[test]
    fn the_listed_programs_exist() {
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rust");
        for name in [LONGEST, CORE, LONG].concat() {
            assert!(tests.join(format!("{name}.rs")).exists(), "{name}");
        }
        let (program, module) = IN_TWO;
        assert!(tests.join(format!("{program}/{module}.rs")).exists(), "{module}");
    }

    /// A new test that starts threads must be added to the list above.
    #[test]
    fn tests_with_threads_have_seeds() {
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rust");
        let mut found = Vec::new();
        for (program, listed) in CONCURRENT {
            for name in *listed {
                let (module, name) = name.rsplit_once("::").unwrap_or((program, name));
                let file = format!("{}.rs", module.replace("::", "/"));
                let source = std::fs::read_to_string(tests.join(&file)).expect(&file);
                assert!(source.contains(&format!("fn {name}()")), "{file} has no test {name}");
                found.push(file);
            }
        }
        let mut left = vec![tests];
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                let source = std::fs::read_to_string(&path).expect("text");
                let name = path.to_string_lossy().replace('\\', "/");
                let starts = source.contains("thread::spawn(") || source.contains("scope.spawn(");
                // Not for Miri: faults end processes, and allocations are counted by thread.
                // A file without tests holds code that tests of other files share.
                let known = name.contains("/faults/")
                    || !source.contains("#[test]")
                    || name.ends_with("/allocations.rs")
                    || found.iter().any(|file| name.ends_with(&format!("/{file}")));
                assert!(!starts || known, "{name}: tests with threads are missing in CONCURRENT");
            }
        }
    }
}
