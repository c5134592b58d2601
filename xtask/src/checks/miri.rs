//! Miri over all Rust tests, under both models of aliasing.

use std::collections::BTreeSet;
use std::process::Command;

use crate::checkout::{has_extension, root};
use crate::command::{NIGHTLY, cargo_of};
use crate::context::Context;
use crate::outcome::Ending;
use crate::tools;

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
    (
        "derive",
        &[
            "derive::drops::the_struct_is_dropped_once_after_the_consumer_wrote",
            "derive::slices::image_of_another_crate_is_exported_zero_copy",
        ],
    ),
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
        "export",
        &[
            "export::misuse::every_access_at_the_same_time",
            "export::share::a_shared_buffer_takes_over_a_vector",
            "export::shared::many_threads_export_one_value",
            "export::shared_odd::a_value_is_exclusive_after_consumers_on_other_threads",
            "export::threads::an_export_is_dropped_on_another_thread",
            "export::threads::many_threads_read_one_handle",
            "export::threads::many_threads_export_one_object",
            "export::threads::many_threads_write_shared_elements",
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
    ("shapes", &["shapes::python_owner::many_consumers_read_one_object"]),
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
const LONGEST: &[&str] = &[
    "import",
    "export",
    "devices",
    "derive_import",
    "bounds",
    "deleter",
    "derive",
    "exchange",
    "faults",
];
/// Programs of which a module takes about half of the time: each runs as two processes, the module
/// in one of them.
const IN_TWO: [(&str, &str); 2] = [("export", "wrappings"), ("import", "block_layouts")];
/// A 32-bit target, a big-endian one, and one of another architecture like the host's.
const OTHER_TARGETS: [&str; 3] =
    ["i686-unknown-linux-gnu", "s390x-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// Test programs about element types, addresses, and what C reads of a tensor, each with the modules
/// that run; all run where none is named. `cargo xtask test --full` runs them, on the host.
const CORE: &[&str] = &["derive data_type element element_types offsets pointers", "exchange_full"];
/// Longer ones, which [`OTHER_TARGETS`] run too.
const LONG: &[&str] = &["bounds", "deleter", "derive_import", "export by_value"];
/// The unit tests of all libraries.
const LIBRARIES: &str = "--lib";

/// Runs the [`CORE`] under the older aliasing model (Stacked Borrows): the step of `cargo xtask test
/// --full`.
pub(crate) fn core(context: &Context) -> Ending {
    run_programs(context, STRICT, &[""], CORE)
}

/// Runs all tests under the older model.
pub(crate) fn stacked_borrows(context: &Context) -> Ending {
    run_programs(context, STRICT, &[""], &names_of(&programs()))
}

/// The newer model, on all tests, and on those with threads with several seeds.
pub(crate) fn tree_borrows(context: &Context) -> Ending {
    let flags = format!("{STRICT} {TREE}");
    run_programs(context, &flags, &[""], &names_of(&programs()))?;
    Ok(context.run(&mut with_seeds(&flags, SEEDS))?)
}

/// Runs the unit tests, the [`CORE`] and [`LONG`] on all [`OTHER_TARGETS`].
pub(crate) fn other_targets(context: &Context) -> Ending {
    let names = [&[LIBRARIES], LONG, CORE].concat();
    let targets = OTHER_TARGETS.map(|triple| format!("--target={triple}"));
    run_programs(context, STRICT, &names_of(&targets), &names)
}

/// Runs the tests with threads under both aliasing models, with many more seeds.
pub(crate) fn many_seeds(context: &Context) -> Ending {
    tools::miri(context, "miri")?;
    for model in ["", TREE] {
        context.run(&mut with_seeds(&format!("{STRICT} {model}"), MANY_SEEDS))?;
    }
    Ok(())
}

/// Builds these test programs with each of some options, and runs one on each processor: Miri
/// interprets a program on one, whatever threads the program starts. Modules of one run in one process,
/// because the compiler takes longer to read a program than Miri takes for many modules.
fn run_programs(context: &Context, flags: &str, options: &[&str], names: &[&str]) -> Ending {
    tools::miri(context, "miri")?;
    let mut jobs = Vec::new();
    for name in names {
        let (program, modules) = name.split_once(' ').unwrap_or((name, ""));
        for option in options {
            let job = |title: &str, more: &str| {
                let line = format!("{} {option} -- {more}", argument(name));
                (format!("{title} {option}").trim().to_owned(), miri(flags, &line))
            };
            if let Some((_, half)) = IN_TWO.iter().find(|(known, _)| known == name) {
                jobs.push(job(&format!("{name} without {half}"), &format!("--skip {half}")));
                jobs.push(job(name, half));
            } else {
                let modules = modules.split_whitespace().map(|it| format!("{program}::{it}:: "));
                jobs.push(job(name, &modules.collect::<String>()));
            }
        }
    }
    for option in options {
        let arguments: Vec<String> = names.iter().map(|name| argument(name)).collect();
        context.run(&mut miri(flags, &format!("{option} --no-run {}", arguments.join(" "))))?;
    }
    context.run_all(jobs)?;
    Ok(())
}

/// The option of cargo for a test program.
fn argument(name: &str) -> String {
    let program = name.split(' ').next().unwrap_or(name);
    if program == LIBRARIES { program.to_owned() } else { format!("--test={program}") }
}

/// The test programs of all [`FOLDERS`] and the unit tests, each name once, the longest first.
fn programs() -> Vec<String> {
    let mut names = BTreeSet::from([LIBRARIES.to_owned()]);
    for folder in FOLDERS {
        let files = std::fs::read_dir(root().join(folder)).expect("a folder of tests");
        let files = files.flatten();
        let programs = files.map(|file| file.path()).filter(|path| has_extension(path, "rs"));
        names
            .extend(programs.filter_map(|it| Some(it.file_stem()?.to_string_lossy().into_owned())));
    }
    let mut names: Vec<String> = names.into_iter().collect();
    let rank = |name: &String| LONGEST.iter().position(|long| long == name);
    names.sort_by_key(|name| rank(name).unwrap_or(LONGEST.len()));
    names
}

fn names_of(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Runs tests with threads, with this many seeds, as many in parallel as there are processors.
fn with_seeds(flags: &str, seeds: u32) -> Command {
    let programs: Vec<String> = CONCURRENT.iter().map(|(program, _)| argument(program)).collect();
    let flags = format!("{flags} -Zmiri-many-seeds=0..{seeds}");
    let mut command = miri(&flags, &programs.join(" "));
    command.args(["--", "--exact"]).args(CONCURRENT.iter().flat_map(|(_, tests)| *tests));
    command
}

fn miri(flags: &str, line: &str) -> Command {
    let mut command = cargo_of(NIGHTLY, &format!("miri test --no-fail-fast @tests {line}"));
    command.env("MIRIFLAGS", flags);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::{files_below, read};

    #[test]
    fn programs_are_named_once_and_the_longest_begin() {
        let names = programs();
        let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
        assert_eq!(names[0], LONGEST[0]);
        // Both folders have a `conform`.
        let listed = LONGEST.iter().chain([&"conform", &LIBRARIES]);
        listed.for_each(|name| assert_eq!(count(name), 1, "{name}"));
        let in_two = IN_TWO.map(|(program, module)| format!("{program} {module}"));
        for name in CORE.iter().chain(LONG).copied().chain(in_two.iter().map(String::as_str)) {
            let (program, modules) = name.split_once(' ').unwrap_or((name, ""));
            let exists = |path: &str| root().join(format!("tests/rust/{path}.rs")).exists();
            assert!(exists(program), "{name}");
            let mut modules = modules.split_whitespace();
            assert!(modules.all(|module| exists(&format!("{program}/{module}"))), "{name}");
        }
    }

    /// A new test that starts threads must be added to the list above.
    #[test]
    fn tests_with_threads_have_seeds() {
        let folder = root().join("tests/rust");
        let mut found = Vec::new();
        for (program, listed) in CONCURRENT {
            for name in *listed {
                let (module, name) = name.rsplit_once("::").unwrap_or((program, name));
                let file = folder.join(format!("{}.rs", module.replace("::", "/")));
                let source = read(&file).unwrap();
                assert!(source.contains(&format!("fn {name}()")), "{module} has no test {name}");
                found.push(file);
            }
        }
        for path in files_below(&folder).unwrap() {
            let Ok(source) = read(&path) else { continue };
            let starts = source.contains("thread::spawn(") || source.contains("scope.spawn(");
            // Not for Miri: faults end processes, and allocations are counted by thread.
            // A file without tests holds code that tests of other files share.
            let known = path.starts_with(folder.join("faults"))
                || !source.contains("#[test]")
                || path.ends_with("allocations.rs")
                || found.contains(&path);
            assert!(!starts || known, "{path:?}: tests with threads are missing in CONCURRENT");
        }
    }
}
