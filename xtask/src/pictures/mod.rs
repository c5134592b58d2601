//! `cargo xtask pictures`: what the README shows, drawn by what it shows.

mod house;

use crate::Outcome;
use crate::bench_python;
use crate::checkout::Checkout;
use crate::develop;
use crate::report::{Ending, Stop};
use crate::run::Stage;
use crate::test::Context;
use crate::venv::{Environment, Packages};

/// The buffer and those who use it, from the root.
const ONE_BUFFER: &str = "docs/pictures/one-buffer.svg";
/// The floors of the runtime.
const HOUSE: &str = "docs/pictures/house.svg";

/// Draws the pictures anew, where they are.
pub(crate) fn pictures(checkout: &Checkout) -> Outcome {
    let drawn = house::house(checkout.root())?;
    std::fs::write(checkout.root().join(HOUSE), drawn)
        .map_err(|error| format!("{HOUSE} cannot be written ({error})."))?;
    let environment = develop::develop(checkout, Packages::Torch)?;
    let mut stage = Stage::begin(checkout, "pictures", "pictures")?;
    one_buffer(checkout, &environment, ONE_BUFFER, &mut stage)
        .inspect_err(|_| stage.print_tail())?;
    stage.note(&format!("{ONE_BUFFER} and {HOUSE} are new"));
    if checkout.target().join("bench/python.json").is_file() {
        return bench_python::page(checkout);
    }
    stage.note("docs/pictures/benchmarks.svg is drawn from figures: `cargo xtask bench all`");
    Ok(())
}

/// The pictures can be drawn: what they claim is asserted by what draws them.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let root = context.checkout.root();
    if std::fs::read_to_string(root.join(HOUSE)).ok() != Some(house::house(root)?) {
        return Err(Stop::Failed(format!("{HOUSE} is old; run `cargo xtask pictures`.")));
    }
    let environment = context.modules(stage)?;
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
