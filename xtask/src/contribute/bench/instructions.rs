//! `cargo xtask bench instructions`: how many instructions the hot paths take, and the
//! scheduled step that does not let that change unseen. `quality/instructions/count.py` counts and compares.

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::quality::valgrind;
use crate::report::{Ending, missing};
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};

/// The scheduled step.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = valgrind::install(stage) {
        return missing("valgrind", reason);
    }
    Ok(run(&context.checkout, context.environment(stage)?, stage)?)
}

/// `cargo xtask bench instructions`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "instructions of the hot paths", "instructions")?;
    valgrind::install(&mut stage)?;
    let environment = venv::ensure(checkout, Packages::Base, &mut stage)?;
    let outcome = run(checkout, &environment, &mut stage);
    stage.print_tail();
    outcome?;
    stage.done("counted");
    Ok(())
}

fn run(checkout: &Checkout, environment: &Environment, stage: &mut Stage) -> Outcome {
    let mut script = environment.python(checkout);
    script.arg(checkout.root().join("quality/instructions/count.py")).arg(checkout.target());
    stage.run(&mut script)
}
