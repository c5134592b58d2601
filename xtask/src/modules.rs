//! Building the extension modules, and putting them where Python finds them.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{copy_file, has_extension, root, target};
use crate::command::{EXTENSION_MODULE, NIGHTLY, NO_ASM, PLATFORM, Words as _, cargo, cargo_of};
use crate::outcome::Outcome;
use crate::stage::Stage;

/// An extension module: its package, and the name that Python imports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    pub(crate) package: &'static str,
    pub(crate) name: &'static str,
    /// Where it is the module `_native` of a Python package: the folder of the
    /// package's sources.
    sources: Option<&'static str>,
}

pub(crate) const fn module(package: &'static str, name: &'static str) -> Module {
    Module { package, name, sources: None }
}

/// The module that users see.
pub(crate) const EXAMPLE: Module = module("dlpack-example", "dlpack_example");
/// The module that only the Python tests use.
pub(crate) const TESTING: Module = module("dlpack-testing", "dlpack_testing");
/// Functions over arrays, with their own tests.
pub(crate) const FUNCTIONS: Module = module("dlpack-functions", "array_functions");
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

/// How the extension modules are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As users compile them.
    Release,
    /// Without optimization.
    Dev,
    /// Release without optimization, in a workspace of its own.
    QuickRelease,
    /// By the nightly compiler with this sanitizer. Under ThreadSanitizer the standard library of
    /// Rust is built in the same way: without it the sanitizer would not see what synchronizes
    /// threads there.
    Sanitized(&'static str),
}

/// One build of extension modules.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    /// The folder of the root `Cargo.toml`.
    pub(crate) sources: PathBuf,
    /// Cargo's own outputs.
    pub(crate) target: PathBuf,
    /// Where the modules go.
    pub(crate) modules: PathBuf,
    pub(crate) profile: Profile,
    /// The interpreter that imports the modules.
    pub(crate) python: PathBuf,
    pub(crate) features: &'static str,
}

impl Build {
    /// The build of this checkout for an interpreter: outputs and modules are below a folder.
    pub(crate) fn below(folder: &Path, python: &Path, profile: Profile) -> Self {
        Self {
            sources: root().to_path_buf(),
            target: folder.join("target"),
            modules: folder.join("python"),
            profile,
            python: python.to_owned(),
            features: "",
        }
    }

    /// The same for an example that is a workspace of its own: many crates, of which the
    /// example needs little.
    pub(crate) fn of_workspace(&self, workspace: &str) -> Self {
        Self {
            sources: root().join("examples").join(workspace),
            target: target(workspace),
            profile: Profile::QuickRelease,
            ..self.clone()
        }
    }

    /// Builds with cargo, as the profile says.
    fn cargo(&self) -> Command {
        let (mut cargo, line) = match self.profile {
            Profile::Sanitized(_) => {
                (cargo_of(NIGHTLY, "build"), "--target x86_64-unknown-linux-gnu")
            }
            Profile::Dev => (cargo("build"), ""),
            Profile::Release => (cargo("build"), "--release"),
            Profile::QuickRelease => (
                cargo("build"),
                "CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=0 \
                 CARGO_PROFILE_RELEASE_INCREMENTAL=true --release",
            ),
        };
        cargo.words(line).current_dir(&self.sources).envs([EXTENSION_MODULE]);
        if let Profile::Sanitized(sanitizer) = self.profile {
            cargo.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer} {NO_ASM}"));
            cargo.env("CARGO_INCREMENTAL", "0");
            cargo.args((sanitizer == "thread").then_some("-Zbuild-std"));
        }
        cargo.env("PYO3_PYTHON", &self.python).arg("--target-dir").arg(&self.target);
        if !self.features.is_empty() {
            cargo.args(["--features", self.features]);
        }
        cargo
    }

    /// The folder where cargo puts what it builds.
    fn outputs(&self) -> PathBuf {
        match self.profile {
            Profile::Dev => self.target.join("debug"),
            Profile::Release | Profile::QuickRelease => self.target.join("release"),
            Profile::Sanitized(_) => self.target.join(PLATFORM).join("debug"),
        }
    }

    /// Builds a program of the same workspace, and returns its path.
    pub(crate) fn program(&self, stage: &Stage, name: &str) -> Outcome<PathBuf> {
        stage.run(self.cargo().args(["--bin", name]))?;
        Ok(self.outputs().join(format!("{name}{EXE_SUFFIX}")))
    }

    /// Builds `modules` and installs each. Those of the stable ABI, which are part of a Python package,
    /// are built apart: cargo would unify their PyO3 feature `abi3` into all.
    pub(crate) fn run(&self, stage: &Stage, modules: &[Module]) -> Outcome {
        let (apart, together): (Vec<Module>, Vec<Module>) =
            modules.iter().partition(|module| module.sources.is_some());
        let apart = apart.iter().map(std::slice::from_ref);
        for modules in std::iter::once(&*together).chain(apart).filter(|it| !it.is_empty()) {
            let packages = modules.iter().flat_map(|module| ["--package", module.package]);
            stage.run(self.cargo().arg("--lib").args(packages))?;
        }
        modules.iter().try_for_each(|module| self.install(*module))
    }

    /// As [`run`](Self::run); then each module has to be the one that a Python imports.
    pub(crate) fn run_for(&self, stage: &Stage, modules: &[Module], python: &Command) -> Outcome {
        self.run(stage, modules)?;
        modules.iter().try_for_each(|module| self.check_import(stage, *module, python))
    }

    /// The path of a module that is not part of a Python package.
    pub(crate) fn installed(&self, module: Module) -> PathBuf {
        self.modules.join(format!("{}.{SUFFIX}", module.name))
    }

    fn install(&self, module: Module) -> Outcome {
        let Some(sources) = module.sources else {
            return copy_file(&self.built(module.name), &self.installed(module));
        };
        let place = self.modules.join(module.name);
        drop(std::fs::remove_dir_all(&place));
        let sources = self.sources.join(sources).join(module.name);
        for entry in std::fs::read_dir(sources).into_iter().flatten().flatten() {
            let path = entry.path();
            if has_extension(&path, "py") {
                copy_file(&path, &place.join(entry.file_name()))?;
            }
        }
        let built = self.built(&format!("{}_native", module.name));
        copy_file(&built, &place.join(format!("_native.{SUFFIX}")))
    }

    fn built(&self, library: &str) -> PathBuf {
        self.outputs().join(format!("{DLL_PREFIX}{library}{DLL_SUFFIX}"))
    }

    /// Fails unless a module, as this Python imports it, is the one that was built here.
    fn check_import(&self, stage: &Stage, module: Module, python: &Command) -> Outcome {
        let folder = match module.sources {
            None => self.modules.clone(),
            Some(_) => self.modules.join(module.name),
        };
        let question = format!(
            "import os, {0}; found = os.path.dirname(os.path.realpath({0}.__file__)); \
             expected = os.path.realpath({1:?}); \
             assert found == expected, f'{{found}} is not {{expected}}'",
            module.name,
            folder.to_string_lossy()
        );
        let mut command = Command::new(python.get_program());
        command.current_dir(root()).args(["-c", &question]);
        for (name, value) in python.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        stage.run(&mut command)
    }
}
