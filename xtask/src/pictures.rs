//! `cargo xtask pictures`: what the README shows, drawn by what it shows.

use crate::Outcome;
use crate::checkout::Checkout;
use crate::develop;
use crate::report::Ending;
use crate::run::Stage;
use crate::test::Context;
use crate::venv::{Environment, Packages};

/// The buffer and those who use it, from the root.
const ONE_BUFFER: &str = "docs/pictures/one-buffer.svg";

/// Draws the pictures anew, where they are.
pub(crate) fn pictures(checkout: &Checkout) -> Outcome {
    let environment = develop::develop(checkout, Packages::Torch)?;
    let mut stage = Stage::begin(checkout, "pictures", "pictures")?;
    one_buffer(checkout, &environment, ONE_BUFFER, &mut stage)
        .inspect_err(|_| stage.print_tail())?;
    stage.note(&format!("{ONE_BUFFER} is new"));
    Ok(())
}

/// The pictures can be drawn: what they claim is asserted by what draws them.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules()?;
    Ok(one_buffer(&context.checkout, environment, "target/one-buffer.svg", stage)?)
}

fn one_buffer(
    checkout: &Checkout,
    environment: &Environment,
    file: &str,
    stage: &mut Stage,
) -> Outcome {
    let mut command = environment.python(checkout);
    command.args(["examples/python/picture.py", file]);
    stage.run(&mut command)
}
