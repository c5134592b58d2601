//! `examples/two-versions`: a program with two versions of the crates, which are copied for it.

use std::path::Path;

use crate::checkout::{Checkout, Outcome, read, write};
use crate::context::Context;
use crate::contribute::develop::announced;
use crate::copy_sources::copy_sources;
use crate::report::Ending;
use crate::run::{Stage, cargo};

/// The version of the second copy.
const NEXT: &str = "99.0.0";
const CRATES: [&str; 2] = ["dlpack-derive", "dlpack-traits"];

pub(super) fn run(checkout: &Checkout) -> Outcome {
    announced(checkout, "two-versions", "two versions exchange tensors", |stage| {
        try_it(checkout, stage)
    })
}

pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    Ok(try_it(&context.checkout, stage)?)
}

fn try_it(checkout: &Checkout, stage: &mut Stage) -> Outcome {
    let folder = checkout.target().join("two-versions");
    copy_crates(checkout, &folder.join("crates"), env!("CARGO_PKG_VERSION"), stage)?;
    copy_crates(checkout, &folder.join("next"), NEXT, stage)?;
    let program = checkout.root().join("examples/two-versions");
    for member in ["library", "program", "reader"] {
        copy_sources(&program.join(member), &folder.join(member), stage)?;
    }
    let manifest = read(&program.join("Cargo.toml"))?;
    write(&folder.join("Cargo.toml"), manifest)?;
    // The versions of other crates are those of this checkout.
    write(&folder.join("Cargo.lock"), read(&checkout.root().join("Cargo.lock"))?)?;
    let cargo = |arguments: &[&str]| {
        let mut command = cargo(checkout);
        command.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target"));
        command.args(arguments);
        command
    };
    stage.run(&mut cargo(&["run", "--quiet", "--package", "program"]))?;
    for (arguments, message) in [
        (&["--package", "reader"][..], "`#[dlpack(crate = that_crate::dlpack_traits)]`"),
        (&["--package", "program", "--features", "without-crate"], "_see_attribute_crate`"),
    ] {
        let before = stage.log_length()?;
        let built = stage.run(cargo(&["check", "--bins"]).args(arguments));
        if built.is_ok() || !stage.logged_since(before).contains(message) {
            return Err(format!("{} should fail with {message}.", arguments.join(" ")));
        }
        stage.forget_since(before)?;
    }
    Ok(())
}

/// Copies the two crates and what they inherit, with a version.
fn copy_crates(checkout: &Checkout, to: &Path, version: &str, stage: &mut Stage) -> Outcome {
    let current = env!("CARGO_PKG_VERSION");
    let name = |version: &str| format!("dlpack_derive_{}", version.replace('.', "_"));
    for package in CRATES {
        copy_sources(&checkout.root().join(package), &to.join(package), stage)?;
    }
    let private = to.join("dlpack-traits/src/__private/mod.rs");
    write(&private, read(&private)?.replace(&name(current), &name(version)))?;
    let manifest = read(&checkout.root().join("Cargo.toml"))?;
    let (_, rest) = manifest.split_once("[workspace.package]").ok_or("no [workspace.package]")?;
    let rest = rest.replace(&format!("\"{current}\""), &format!("\"{version}\""));
    let rest = rest.replace(&format!("\"={current}\""), &format!("\"={version}\""));
    let members = format!("[workspace]\nmembers = {CRATES:?}\n\n[workspace.package]");
    write(&to.join("Cargo.toml"), members + &rest)
}
