//! `cargo xtask pictures`: draws the pictures of the documents.

mod layers;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::bench::python;
use crate::contribute::develop;
use crate::report::{Ending, Stop};
use crate::run::Stage;
use crate::venv::{Environment, Packages};

/// One buffer and its users. Paths are relative to the root of the checkout.
const ONE_BUFFER: &str = "docs/pictures/one-buffer.svg";
/// The layers of the runtime.
const LAYERS: &str = "docs/pictures/layers.svg";

/// Draws the pictures and replaces the files.
pub(crate) fn pictures(checkout: &Checkout) -> Outcome {
    let drawn = layers::picture(checkout.root())?;
    std::fs::write(checkout.root().join(LAYERS), drawn)
        .map_err(|error| format!("{LAYERS} cannot be written ({error})."))?;
    let environment = develop::develop(checkout, Packages::Torch)?;
    let mut stage = Stage::begin(checkout, "pictures", "pictures")?;
    one_buffer(checkout, &environment, ONE_BUFFER, &mut stage)
        .inspect_err(|_| stage.print_tail())?;
    stage.note(&format!("{ONE_BUFFER} and {LAYERS} are new"));
    if checkout.target().join("bench/python.json").is_file() {
        return python::page(checkout);
    }
    stage.note("docs/pictures/benchmarks.svg is drawn from figures: `cargo xtask bench all`");
    Ok(())
}

/// Checks that the picture of the layers is current, and that the other one can be drawn: the
/// script that draws it asserts the addresses that it shows.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let root = context.checkout.root();
    if std::fs::read_to_string(root.join(LAYERS)).ok() != Some(layers::picture(root)?) {
        return Err(Stop::Failed(format!("{LAYERS} is old; run `cargo xtask pictures`.")));
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
