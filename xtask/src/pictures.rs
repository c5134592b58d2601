//! `cargo xtask pictures`: draws the pictures of the documents.

use std::path::Path;

use crate::bench;
use crate::checkout::{read, root, target, write};
use crate::checks::python::develop;
use crate::context::Context;
use crate::outcome::{Ending, Outcome};

/// One buffer and its users: the script that draws it asserts the addresses that it shows.
const ONE_BUFFER: &str = "examples/python/picture.py";
/// The picture of the layers of `dlpack-traits`, and the test that lists them.
const LAYERS: &str = "docs/pictures/layers.svg";
const LIST: &str = "tests/rust/sources/architecture.rs";
const WIDTH: usize = 880;
const LAYER: usize = 46;
const STYLE: &str = "text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; \
                     font-size: 13px; fill: #1f2328 } .level { fill: #57606a } .layer { fill: \
                     #ffffff; stroke: #d0d7de } .module { fill: #ddf4ff; stroke: #0969da }";

/// Draws the pictures and replaces the files.
pub(crate) fn draw(context: &Context) -> Ending {
    write(&root().join(LAYERS), layers(root())?)?;
    let environment = develop(context)?;
    let script = &mut environment.python(ONE_BUFFER);
    context.run(script.arg("docs/pictures/one-buffer.svg"))?;
    if target("bench/python.json").is_file() {
        return bench::page(context);
    }
    context.note("docs/pictures/benchmarks.svg is drawn from figures: `cargo xtask bench all`");
    Ok(())
}

/// Checks that the picture of the layers is current, and that the other one can be drawn.
pub(crate) fn check(context: &Context) -> Ending {
    if read(&root().join(LAYERS))? != layers(root())? {
        return Err(format!("{LAYERS} is old; run `cargo xtask pictures`.").into());
    }
    let environment = context.modules()?;
    Ok(context.run(environment.python(ONE_BUFFER).arg("target/one-buffer.svg"))?)
}

/// Returns the picture of the layers as SVG.
fn layers(root: &Path) -> Outcome<String> {
    let source = read(&root.join(LIST))?;
    let list = source.split_once("const LAYERS").and_then(|(_, rest)| rest.split_once("= [\n"));
    let list = list.and_then(|(_, rest)| rest.split_once("\n];")).ok_or("no list of layers")?.0;
    let layers = list.lines().map(str::trim).filter(|line| line.starts_with("&["));
    // The modules of each layer, from the lowest layer on.
    let layers: Vec<Vec<&str>> =
        layers.map(|line| line.split('"').skip(1).step_by(2).collect()).collect();
    let height = 24 + LAYER * layers.len() + 34;
    let mut parts = vec![
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"The layers of \
             dlpack-traits; modules import from lower layers only\">"
        ),
        format!("<style>{STYLE}</style>"),
        format!("<rect width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#f6f8fa\"/>"),
    ];
    for (level, modules) in layers.iter().enumerate() {
        let top = 16 + LAYER * (layers.len() - 1 - level);
        parts.push(format!(
            "<rect class=\"layer\" x=\"16\" y=\"{top}\" width=\"{}\" height=\"{LAYER}\"/>",
            WIDTH - 32
        ));
        parts.push(format!("<text class=\"level\" x=\"30\" y=\"{}\">L{level}</text>", top + 28));
        let mut left = 76;
        for module in modules {
            let width = 24 + 8 * module.len();
            parts.push(format!(
                "<rect class=\"module\" x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"28\" \
                 rx=\"4\"/>",
                top + 9
            ));
            parts.push(format!("<text x=\"{}\" y=\"{}\">{module}</text>", left + 12, top + 28));
            left += width + 14;
        }
    }
    parts.push(format!(
        "<text class=\"level\" x=\"30\" y=\"{}\">modules import from lower layers only; a test \
         checks it</text>",
        height - 14
    ));
    parts.push("</svg>\n".to_owned());
    Ok(parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_in_the_repository_is_current() {
        let file = read(&root().join(LAYERS)).unwrap();
        assert!(layers(root()).unwrap() == file, "run `cargo xtask pictures`");
    }
}
