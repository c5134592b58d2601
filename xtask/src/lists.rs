//! The lists of steps, and the commands that run them.

use std::process::ExitCode;

use clap::ValueEnum;

use crate::bench;
use crate::checkout::root;
use crate::checks::{
    devices, free_threaded, miri, publish, python, rust, sanitizers, wasm, wheels,
};
use crate::context::Context;
use crate::environment::{BASE, MOST, NUMPY_1, OBJECTS, OLDEST};
use crate::examples::{self, apart, no_python};
use crate::modules::Profile;
use crate::mutants;
use crate::outcome::{Ending, Outcome};
use crate::pictures;
use crate::rules;
use crate::step::{Step, cargo_step, named, pytest, run, run_lists, some_named, step, tests};

/// The steps that more than one list has.
const RUSTFMT: Step = cargo_step("rustfmt", &["fmt --all --check"]);
const RULES: Step = step("rules", run_rules);
const RUST_TESTS: Step = step("rust tests", rust::tests);
const PYTHON_ENVIRONMENT: Step =
    step("python environment", |context| context.environment().map(drop));
const PYTHON_MODULES: Step = step("python modules", |context| context.modules().map(drop));
const PYTHON_TESTS: Step = step("python tests", python::tests);
const CARGO_DENY: Step = step("cargo-deny", rust::cargo_deny);
const PACKAGES: Step = step("packages", publish::packages);
const WHEELS: Step = step("wheels", wheels::run).builds(&["wheels/target"]);
const DOCS_WITHOUT_PYTHON: Step =
    step("docs without python", publish::docs_without_python).builds(&["docs-rs"]);
const NO_PYTHON: Step = step("no python, address sanitizer", no_python::sanitized);
const EIGEN: Step = step("eigen, address sanitizer", no_python::eigen).builds(&["no-python"]);
const VALGRIND: Step = step("valgrind", sanitizers::deleters);

/// Steps of `cargo xtask check`.
const CHECK: &[Step] = &[
    RUSTFMT,
    cargo_step(
        "clippy of the crates",
        &["clippy --package=dlpack-traits --package=dlpack-derive --all-targets --all-features \
           -- --deny=warnings"],
    ),
    tests("unit tests", &["test @tests --package=dlpack-derive --lib --test=sources"]),
    RULES,
];

/// Steps of `cargo xtask test`: two lists that run at the same time. What takes minutes and few
/// changes break is in `FULL`.
const QUICK: [&[Step]; 2] =
    [&[RULES, RUST_TESTS], &[PYTHON_ENVIRONMENT, PYTHON_MODULES, PYTHON_TESTS]];

/// Steps of `cargo xtask test --full`. The second list has those that need the modules of the tests,
/// which are built in a folder of their own, and others that build in their own.
const FULL: [&[Step]; 2] = [
    &[
        cargo_step("lock file", &["fetch --locked"]),
        RUSTFMT,
        RULES,
        RUST_TESTS,
        step("vulkan and webgpu tests", devices::vulkan),
        step("ui tests, python documents", rust::ui_tests_and_python_documents),
        // Modules of the stable ABI are built apart: cargo would unify their PyO3 feature `abi3`
        // into all crates.
        cargo_step(
            "clippy",
            &[
                "clippy --workspace --exclude=dlpack-conformance --exclude=dlpack-doctor-python \
                 --all-targets --all-features -- --deny=warnings",
                "clippy --package=dlpack-conformance --package=dlpack-doctor-python \
                 --all-targets --all-features -- --deny=warnings",
            ],
        ),
        cargo_step(
            "docs",
            &[
                "RUSTDOCFLAGS=--deny=warnings doc --workspace --exclude=dlpack-conformance \
                 --exclude=dlpack-doctor-python --no-deps --all-features",
                "RUSTDOCFLAGS=--deny=warnings doc --package=dlpack-conformance \
                 --package=dlpack-doctor-python --no-deps --all-features",
            ],
        ),
        step("feature sets", rust::feature_sets),
        step("target without std", rust::target_without_std),
        step("public interface", |context| rust::public_interface(context, false))
            .builds(&["public-api"]),
        step("oldest rust", rust::oldest_rust).builds(&["oldest-rust"]),
        NO_PYTHON,
        EIGEN,
        VALGRIND,
        CARGO_DENY,
        // Their commands are too long for this: what they take of the crate's sources is still
        // there. Nothing is linked, so nothing of libFuzzer, which is C++, has to be compiled.
        cargo_step(
            "workspaces apart",
            &[
                "CUSTOM_LIBFUZZER_PATH=none/libfuzzer.a check --locked --bins \
                 --manifest-path=quality/fuzz/Cargo.toml --target-dir=target/apart",
                "RUSTFLAGS=--cfg=loom check --locked --tests --bins \
                 --manifest-path=quality/loom/Cargo.toml --target-dir=target/apart",
                "check --locked --all-targets --manifest-path=quality/mutants/score/Cargo.toml \
                 --target-dir=target/apart",
                "check --locked --all-targets --manifest-path=bench/Cargo.toml \
                 --target-dir=target/apart",
            ],
        )
        .builds(&["apart"]),
        PACKAGES,
        step("miri, core", miri::core).builds(&["miri"]),
    ],
    &[
        PYTHON_ENVIRONMENT,
        PYTHON_MODULES,
        PYTHON_TESTS,
        step("gpu tests, simulated", devices::simulated),
        step("python tests, simulated gpus", devices::python_simulated),
        pytest(
            "objects in libraries",
            &OBJECTS,
            "test_array_like.py test_pickle.py test_array_methods.py test_buffers.py \
             test_data_frames.py",
        ),
        pytest("numpy 1", &NUMPY_1, "test_numpy_arrays.py"),
        step("device runtimes", devices::runtimes),
        step("newest libraries", python::newest_libraries),
        step("demo", |context| python::demo(context, context.modules()?)),
        step("pictures", pictures::check),
        step("example: functions", |context| examples::run(context, "functions")),
        step("example: cuda-kernel", devices::example_kernel),
        step("example: safetensors", |context| examples::run(context, "safetensors")),
        step("example: notebook", |context| examples::run(context, "notebook")),
        step("example: ranks", examples::ranks),
        step("example: torch-operators", |context| examples::run(context, "torch-operators")),
        step("example: jax-ffi", |context| examples::run(context, "jax-ffi")),
        step("example: template", |context| examples::run(context, "template"))
            .builds(&["template"]),
    ],
];

/// Steps that are long and that a change breaks rarely: `cargo xtask trust` runs them, and
/// `cargo xtask test --full --step NAME` one of them. `docs/records/long-runs.md` says when each ran
/// last.
const SCHEDULED: &[Step] = &[
    // The optimizer may turn one read of foreign memory into two.
    tests("optimized reads", &["test --release --test=hostile @tests"]),
    step("instructions", bench::instructions),
    step("each feature", rust::each_feature),
    step("wasm32 in node", wasm::run).builds(&["wasm32-unknown-unknown"]),
    DOCS_WITHOUT_PYTHON,
    step("interop matrix", |context| python::matrix(context, false)),
    // Arguments, results and array-like classes.
    pytest(
        "oldest libraries",
        &OLDEST,
        "peers/peer_torch.py peers/peer_jax.py test_advice.py test_array_like.py test_buffers.py \
         test_converted_arguments.py test_function_arguments.py test_function_results.py \
         test_lazy_bits.py test_pending.py",
    ),
    WHEELS,
    step("oldest pyo3", python::oldest_pyo3),
    step("pyo3 between", python::series_between).builds(&["pyo3-range"]),
    step("example: shared-memory", |context| examples::run(context, "shared-memory"))
        .builds(&["shared-memory"]),
    step("example: wrapped", |context| examples::run(context, "wrapped")).builds(&["wrapped"]),
    step("example: coming-from", apart::coming_from).builds(&["coming-from"]),
    step("example: crates", apart::crates).builds(&["crates", "onnxruntime"]),
    step("example: node", apart::node).builds(&["node"]),
    step("example: two-versions", apart::two_versions).builds(&["two-versions"]),
    step("example: tvm-ffi", apart::tvm_ffi).builds(&["tvm-ffi"]),
];

/// Steps of `cargo xtask sanitize`.
const SANITIZE: &[Step] = &[
    PYTHON_ENVIRONMENT,
    step("address sanitizer", sanitizers::address),
    step("leak sanitizer", sanitizers::leak),
    step("thread sanitizer", sanitizers::thread),
    step("cargo-careful", sanitizers::careful),
    VALGRIND,
    step("valgrind, cpython", sanitizers::cpython_under_valgrind).builds(&["valgrind"]),
    step("cpython, address sanitizer", sanitizers::cpython_with_address_sanitizer),
    NO_PYTHON,
    EIGEN,
    // Models of the owners, from the crate's own sources: every order of threads.
    tests(
        "loom",
        &[
            "RUSTFLAGS=--cfg=loom test --release --locked --tests \
             --manifest-path=quality/loom/Cargo.toml --target-dir=target/loom",
            "RUSTFLAGS=--cfg=loom run --release --locked --bin=relay \
             --manifest-path=quality/loom/Cargo.toml --target-dir=target/loom",
        ],
    ),
    step("miri, stacked borrows", miri::stacked_borrows),
    step("miri, tree borrows", miri::tree_borrows),
    step("miri, other targets", miri::other_targets),
    step("miri, many seeds", miri::many_seeds),
];

/// Steps of `cargo xtask load`: a million exchanges on each thread, and a thousand interpreter exits.
const LOAD: &[Step] = &[
    tests(
        "load, rust",
        &["DLPACK_LOAD=1000000 test --release --test=faults @tests load:: \
           -- --nocapture --test-threads=1"],
    ),
    step("load, python", python::load),
    step("interpreter exits", python::exits),
];

/// Steps of `cargo xtask free-threaded`.
const FREE_THREADED: &[Step] = &[
    step("free-threaded builds", free_threaded::builds),
    step("free-threaded python 3.13", |context| {
        free_threaded::run(context, &free_threaded::PYTHON_3_13)
    }),
    step("free-threaded python 3.14", |context| {
        free_threaded::run(context, &free_threaded::PYTHON_3_14)
    }),
    step("free-threaded python 3.15", |context| {
        free_threaded::run(context, &free_threaded::PYTHON_3_15)
    }),
    step("free-threaded wheels", free_threaded::wheels),
    step("free-threaded, thread sanitizer", free_threaded::thread_sanitizer),
];

/// Steps of `cargo xtask publishable`.
const PUBLISHABLE: &[Step] = &[
    PYTHON_ENVIRONMENT,
    step("release checklist", publish::checklist),
    PACKAGES,
    WHEELS,
    DOCS_WITHOUT_PYTHON,
    CARGO_DENY,
    step("semantic versions", publish::semver),
    step("features, two at a time", publish::powerset),
    step("oldest dependencies", publish::minimal_versions),
];

/// Runs what a commit needs.
pub(crate) fn check() -> Outcome<ExitCode> {
    run(CHECK, &BASE)
}

/// Runs all steps, or those whose names contain `part`.
pub(crate) fn test(full: bool, part: Option<&str>) -> Outcome<ExitCode> {
    let (lists, packages) = if full { (FULL, &MOST) } else { (QUICK, &BASE) };
    let all = [FULL.concat(), SCHEDULED.to_vec()].concat();
    let known = if full { all.clone() } else { lists.concat() };
    some_named(&known, part).map_err(|sentence| {
        let in_full = !named(&all, part).is_empty();
        if in_full { format!("{sentence} With `--full` there is one.") } else { sentence }
    })?;
    let [steps, mut beside] = lists.map(|steps| named(steps, part));
    if full && part.is_some() {
        // Some build the modules, which the other steps of this list read.
        beside.extend(named(SCHEDULED, part));
    }
    // Without optimization the first build of the modules takes a third of the time.
    run_lists([&steps, &beside], packages, Profile::Dev)
}

pub(crate) fn sanitize(part: Option<&str>) -> Outcome<ExitCode> {
    run(&some_named(SANITIZE, part)?, &BASE)
}

pub(crate) fn free_threaded(part: Option<&str>) -> Outcome<ExitCode> {
    run(&some_named(FREE_THREADED, part)?, &BASE)
}

pub(crate) fn load() -> Outcome<ExitCode> {
    run(LOAD, &BASE)
}

pub(crate) fn publishable() -> Outcome<ExitCode> {
    run(PUBLISHABLE, &BASE)
}

/// A part of `cargo xtask trust`, which a scheduled job runs: together they take longer than a hosted
/// job may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trust {
    Tests,
    Sanitizers,
    Load,
}

/// Runs all that takes too long for `cargo xtask test --full`, or a part of it. Its results are in
/// `docs/records/long-runs.md`.
pub(crate) fn trust(part: Option<Trust>) -> Outcome<ExitCode> {
    // With modules as users compile them: those of `cargo xtask test --full` are not optimized.
    let optimized = [step("python tests, optimized", python::tests)];
    let mutants = [step("all mutants", |context| mutants::run(context, None, None))];
    let soak = [step("soak", |context| python::soak(context, 3_600))];
    let parts = [
        (Trust::Tests, [&optimized, SCHEDULED, &mutants]),
        (Trust::Sanitizers, [SANITIZE, &[], &[]]),
        (Trust::Load, [LOAD, FREE_THREADED, &soak]),
    ];
    let chosen = parts.into_iter().filter(|it| part.is_none_or(|part| part == it.0));
    run(&chosen.flat_map(|(_, lists)| lists.concat()).collect::<Vec<_>>(), &MOST)
}

/// `cargo xtask rules`, and a step.
pub(crate) fn run_rules(context: &Context) -> Ending {
    let (problems, summary) = rules::check(root())?;
    for problem in &problems {
        context.note(problem);
    }
    if problems.is_empty() {
        context.note(summary);
        return Ok(());
    }
    Err(format!("{} problems of rules, clauses or documents; see above.", problems.len()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::{files_below, read};

    #[test]
    fn steps_are_chosen_by_a_part_of_their_name() {
        assert_eq!(named(QUICK[0], None).len(), QUICK[0].len());
        assert_eq!(named(FULL[1], Some("simulated")).len(), 2);
        let error = some_named(QUICK[0], Some("miri")).unwrap_err();
        assert!(error.contains("`miri`") && error.contains("rust tests"), "{error}");
    }

    /// `--full` has every step of the quick run, so a name found there is found here.
    #[test]
    fn the_full_run_has_all_quick_steps() {
        let full = FULL.concat();
        for step in QUICK.concat() {
            assert!(full.iter().any(|it| it.name == step.name), "{}", step.name);
        }
    }

    #[test]
    fn the_record_says_when_scheduled_steps_ran() {
        let record = read(&root().join("docs/records/long-runs.md")).unwrap();
        for step in SCHEDULED {
            assert!(FULL.concat().iter().all(|it| it.name != step.name), "{}", step.name);
            let row = format!("\n| `{}` | 20", step.name);
            assert!(record.contains(&row), "docs/records/long-runs.md has no `{}`", step.name);
        }
    }

    /// pytest gets the caller's `DLPACK_REQUIRE` too, and rejects names that it does not know.
    #[test]
    fn pytest_accepts_the_names_of_tools() {
        let known = read(&root().join("tests/python/conftest.py")).unwrap();
        let is_name = |name: &&str| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
        };
        let mut names = Vec::new();
        for file in [".ci/run", ".ci/scheduled"] {
            let text = read(&root().join(file)).unwrap();
            let lists = text.lines().filter_map(|line| line.split_once('='));
            let lists = lists.filter(|(name, _)| !name.contains([' ', '#']));
            names.extend(lists.flat_map(|(_, names)| {
                names.split(',').filter(is_name).map(str::to_owned).collect::<Vec<_>>()
            }));
        }
        for path in files_below(&root().join("xtask/src")).unwrap() {
            let source = read(&path).unwrap();
            // The names are the first string after `missing(` and `need(`.
            for call in source.split("missing(").skip(1).chain(source.split("need(").skip(1)) {
                let text = call.split([';', '}']).next().and_then(|call| call.split('"').nth(1));
                let found: Vec<&str> = text.unwrap_or_default().split(',').collect();
                // Not a sentence.
                if found.iter().all(is_name) {
                    names.extend(found.into_iter().map(str::to_owned));
                }
            }
        }
        assert!(names.iter().any(|name| name == "valgrind"), "{names:?}");
        for name in names {
            assert!(known.contains(&format!("\"{name}\"")), "conftest.py does not know {name}");
        }
    }
}
