//! The environment that the steps of a list share, and the modules that were built for it.

use std::cell::OnceCell;
use std::ops::Deref;
use std::path::PathBuf;

use crate::checkout::{root, target};
use crate::environment::{self, Environment, NEWEST, Packages};
use crate::interpreter::Interpreter;
use crate::modules::{Build, EXAMPLE, Profile, TESTED, TESTING};
use crate::outcome::{Ending, Outcome, Stop};
use crate::stage::Stage;

/// The environment and the modules that steps share, and the stage of the step that runs.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) stage: Stage,
    packages: &'static Packages,
    /// How modules are compiled.
    profile: Profile,
    /// `None` where it could not be made.
    environment: OnceCell<Option<Environment>>,
    /// Whether the modules could be built.
    modules: OnceCell<bool>,
    newest: OnceCell<Environment>,
}

impl Deref for Context {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        &self.stage
    }
}

impl Context {
    pub(crate) fn new(stage: Stage, packages: &'static Packages, profile: Profile) -> Self {
        Self {
            stage,
            packages,
            profile,
            environment: OnceCell::new(),
            modules: OnceCell::new(),
            newest: OnceCell::new(),
        }
    }

    /// Returns the environment. Makes it where no earlier step did; where an earlier step
    /// failed to, the step that needs it is skipped.
    pub(crate) fn environment(&self) -> Ending<&Environment> {
        if self.environment.get().is_none() {
            let made = environment::ensure(&self.stage, self.packages);
            let error = made.as_ref().err().cloned();
            self.environment.get_or_init(|| made.ok());
            if let Some(error) = error {
                return Err(Stop::Failed(error));
            }
        }
        self.environment.get().and_then(Option::as_ref).ok_or_else(|| {
            Stop::Skipped("there is no Python environment: see the step that failed".to_owned())
        })
    }

    /// Returns the environment with built modules, under the same conditions.
    pub(crate) fn modules(&self) -> Ending<&Environment> {
        let environment = self.environment()?;
        if self.modules.get().is_none() {
            let built = self.build()?.run_for(&self.stage, TESTED, &environment.python(""));
            self.modules.get_or_init(|| built.is_ok());
            built?;
        }
        if self.modules.get() == Some(&true) {
            return Ok(environment);
        }
        Err(Stop::Skipped("there are no Python modules: see the step that failed".to_owned()))
    }

    /// How the steps build modules for the environment.
    pub(crate) fn build(&self) -> Outcome<Build> {
        Ok(Build {
            sources: root().to_owned(),
            // PyO3 is built again if a build links it in another way, and Rust tests link it with
            // Python's library.
            target: if self.profile == Profile::Dev { target("modules") } else { target("") },
            modules: modules(),
            profile: self.profile,
            python: Interpreter::find()?.executable.clone(),
            features: "",
        })
    }

    /// The environment of the newest libraries with modules for its interpreter, where there is one.
    pub(crate) fn newest(&self) -> Outcome<Option<&Environment>> {
        if let (None, Some(interpreter)) = (self.newest.get(), Interpreter::newest()) {
            let made = environment::ensure_for(&self.stage, &NEWEST, interpreter)?;
            let profile = Profile::QuickRelease;
            let build = Build::below(&made.place(), &interpreter.executable, profile);
            build.run_for(&self.stage, &[EXAMPLE, TESTING], &made.python(""))?;
            self.newest.get_or_init(|| made);
        }
        Ok(self.newest.get())
    }
}

/// The built extension modules, which the environment's Python imports.
pub(crate) fn modules() -> PathBuf {
    target("python")
}
