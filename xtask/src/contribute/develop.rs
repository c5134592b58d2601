//! Building the extension modules, and putting them where Python finds them.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::checkout::{Checkout, Outcome};
use crate::interpreter::Interpreter;
use crate::run::{EXTENSION_MODULE, Stage, cargo};
use crate::venv::{self, Environment, Packages};

/// An extension module: its package, and the name that Python imports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    pub(crate) package: &'static str,
    pub(crate) name: &'static str,
    /// Where it is the module `_native` of a Python package: the folder of the
    /// package's sources.
    pub(crate) sources: Option<&'static str>,
}

/// The module that users see.
pub(crate) const EXAMPLE: Module =
    Module { package: "dlpack-example", name: "dlpack_example", sources: None };
/// The module that only the Python tests use.
pub(crate) const TESTING: Module =
    Module { package: "dlpack-testing", name: "dlpack_testing", sources: None };
/// Functions over arrays, with their own tests.
pub(crate) const FUNCTIONS: Module =
    Module { package: "dlpack-functions", name: "array_functions", sources: None };
/// The tool that other people point at their importers.
pub(crate) const CONFORMANCE: Module = Module {
    package: "dlpack-conformance",
    name: "dlpack_conformance",
    sources: Some("tools/conformance/python"),
};
/// All that the Python tests import.
pub(crate) const TESTED: &[Module] = if cfg!(target_os = "linux") {
    &[EXAMPLE, TESTING, CONFORMANCE]
} else {
    // Memory that cannot be read is written for Linux.
    &[EXAMPLE, TESTING]
};

/// The suffix of an extension module.
const SUFFIX: &str = if cfg!(windows) { "pyd" } else { "so" };

/// Sources, build outputs and modules of one build of the extension modules.
#[derive(Debug)]
pub(crate) struct Build {
    /// The folder of the root `Cargo.toml`.
    pub(crate) sources: PathBuf,
    /// Cargo's own outputs.
    pub(crate) target: PathBuf,
    /// Where the modules go.
    pub(crate) modules: PathBuf,
    pub(crate) profile: Profile,
}

/// How the extension modules are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As users compile them.
    Release,
    /// Without optimization.
    Dev,
    /// Release without optimization, in a workspace of its own.
    QuickRelease,
}

impl Profile {
    /// The folder of outputs in cargo's target folder.
    const fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release | Self::QuickRelease => "release",
        }
    }
}

impl Build {
    /// The build that `target/venv` sees.
    pub(crate) fn of(checkout: &Checkout) -> Self {
        Self {
            sources: checkout.root().to_path_buf(),
            target: checkout.target(),
            modules: checkout.modules(),
            profile: Profile::Release,
        }
    }

    /// The same for an example that is a workspace of its own: many crates, of which the
    /// example needs little.
    pub(crate) fn of_example(checkout: &Checkout, workspace: &str) -> Self {
        Self {
            sources: checkout.root().join("examples").join(workspace),
            target: checkout.target().join(workspace),
            modules: checkout.modules(),
            profile: Profile::QuickRelease,
        }
    }

    /// Cargo with this command, in this profile.
    fn cargo(&self, checkout: &Checkout, interpreter: &Interpreter, command: &str) -> Command {
        let mut cargo = cargo(checkout);
        cargo
            .current_dir(&self.sources)
            // The same for every environment of this interpreter, so that
            // changing the environment rebuilds nothing.
            .env("PYO3_PYTHON", &interpreter.executable)
            .envs([EXTENSION_MODULE])
            .args([command, "--target-dir"])
            .arg(&self.target);
        if self.profile != Profile::Dev {
            cargo.arg("--release");
        }
        if self.profile == Profile::QuickRelease {
            cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
            cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "0");
            cargo.env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true");
        }
        cargo
    }

    /// Builds a program of the same workspace, and returns its path.
    pub(crate) fn program(
        &self,
        checkout: &Checkout,
        interpreter: &Interpreter,
        name: &str,
        stage: &mut Stage,
    ) -> Outcome<PathBuf> {
        stage.run(self.cargo(checkout, interpreter, "build").args(["--bin", name])).map_err(
            |_| {
                format!(
                    "the program {name} does not build; see the compiler's messages in {}.",
                    stage.log_path().display()
                )
            },
        )?;
        Ok(self.outputs().join(format!("{name}{EXE_SUFFIX}")))
    }

    /// The folder where cargo puts what it builds.
    fn outputs(&self) -> PathBuf {
        self.target.join(self.profile.folder())
    }

    /// Builds `modules` and installs each. Those of the stable ABI, which are part of a Python package,
    /// are built apart: cargo would unify their PyO3 feature `abi3` into all.
    pub(crate) fn run(
        &self,
        checkout: &Checkout,
        interpreter: &Interpreter,
        modules: &[Module],
        stage: &mut Stage,
    ) -> Outcome {
        let (apart, together): (Vec<Module>, Vec<Module>) =
            modules.iter().partition(|module| module.sources.is_some());
        let apart = apart.iter().map(std::slice::from_ref);
        for modules in std::iter::once(&*together).chain(apart).filter(|it| !it.is_empty()) {
            let packages: Vec<&str> = modules.iter().map(|module| module.package).collect();
            let mut command = self.cargo(checkout, interpreter, "build");
            command
                .arg("--lib")
                .args(packages.iter().map(|package| format!("--package={package}")));
            stage.run(&mut command).map_err(|_| {
                format!(
                    "{} does not build; see the compiler's words in {}.",
                    packages.join(" or "),
                    stage.log_path().display()
                )
            })?;
        }
        modules.iter().try_for_each(|module| self.install(*module))
    }

    /// The path of a module that is not part of a Python package.
    pub(crate) fn installed(&self, module: Module) -> PathBuf {
        self.modules.join(format!("{}.{SUFFIX}", module.name))
    }

    /// Puts the new module in place in one step: a running Python may have the
    /// old one mapped.
    fn install(&self, module: Module) -> Outcome {
        let (library, place, name) = match module.sources {
            None => (module.name.to_owned(), self.modules.clone(), module.name),
            Some(_) => {
                (format!("{}_native", module.name), self.modules.join(module.name), "_native")
            }
        };
        if let Some(sources) = module.sources {
            install_sources(&self.sources.join(sources).join(module.name), &place)?;
        }
        let built = self.outputs().join(format!("{DLL_PREFIX}{library}{DLL_SUFFIX}"));
        let installed = place.join(format!("{name}.{SUFFIX}"));
        let fresh = place.join(format!("{name}.{}", std::process::id()));
        std::fs::create_dir_all(&place)
            .and_then(|()| std::fs::copy(&built, &fresh))
            .and_then(|_| std::fs::rename(&fresh, &installed))
            .map_err(|error| {
                format!(
                    "{} cannot be copied to {} ({error}).",
                    built.display(),
                    installed.display()
                )
            })
    }
}

/// Makes `place` hold the Python files of `sources`, and none that are gone from there.
fn install_sources(sources: &Path, place: &Path) -> Outcome {
    let copy = || -> std::io::Result<()> {
        std::fs::create_dir_all(place)?;
        for entry in std::fs::read_dir(place)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "py") {
                std::fs::remove_file(path)?;
            }
        }
        for entry in std::fs::read_dir(sources)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if path.extension().is_some_and(|extension| extension == "py") {
                std::fs::copy(&path, place.join(name))?;
            }
        }
        Ok(())
    };
    copy().map_err(|error| {
        format!("{} cannot be copied to {} ({error}).", sources.display(), place.display())
    })
}

/// Fails unless `module`, as this Python imports it, lies in `folder`.
pub(crate) fn check_import(
    python: &mut Command,
    module: Module,
    folder: &Path,
    stage: &mut Stage,
) -> Outcome {
    let folder = match module.sources {
        None => folder.to_path_buf(),
        Some(_) => folder.join(module.name),
    };
    let question = format!(
        "import os, {0}; found = os.path.dirname(os.path.realpath({0}.__file__)); \
         expected = os.path.realpath({1:?}); \
         assert found == expected, f'{{found}} is not {{expected}}'",
        module.name,
        folder.to_string_lossy()
    );
    stage.run(python.args(["-c", &question])).map_err(|_| {
        format!(
            "{} does not import {} from {}; its words are in {}.",
            python.get_program().to_string_lossy(),
            module.name,
            folder.display(),
            stage.log_path().display()
        )
    })
}

/// `cargo xtask develop`, and the first half of `demo`.
pub(crate) fn develop(checkout: &Checkout, packages: Packages) -> Outcome<Environment> {
    let environment = announced(checkout, "python environment", "ready", |stage| {
        venv::ensure(checkout, packages, stage)
    })?;
    announced(checkout, EXAMPLE.name, "built, and imported by target/venv/bin/python", |stage| {
        Build::of(checkout).run(checkout, &environment.interpreter, &[EXAMPLE], stage)?;
        check_import(&mut environment.python(checkout), EXAMPLE, &checkout.modules(), stage)
    })?;
    Ok(environment)
}

/// Runs one stage under its name; a failure shows the end of its log.
pub(crate) fn announced<T>(
    checkout: &Checkout,
    name: &str,
    result: &str,
    body: impl FnOnce(&mut Stage) -> Outcome<T>,
) -> Outcome<T> {
    let mut stage = Stage::begin(checkout, name, name)?;
    let outcome = body(&mut stage);
    match &outcome {
        Ok(_) => stage.done(result),
        Err(_) => stage.print_tail(),
    }
    outcome
}

/// Runs a program in this terminal.
pub(crate) fn in_terminal(command: &mut Command) -> Outcome {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{program}` ended with {status}; see its words above.")),
        Err(error) => Err(format!("`{program}` does not start ({error}).")),
    }
}
