//! Draws the layers of `dlpack-traits` from the list in the architecture test.

use crate::checkout::Outcome;
use std::path::Path;

const LIST: &str = "tests/rust/architecture.rs";
const WIDTH: usize = 880;
const LAYER: usize = 46;
const STYLE: &str = "text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; \
                     font-size: 13px; fill: #1f2328 } .level { fill: #57606a } .layer { fill: \
                     #ffffff; stroke: #d0d7de } .module { fill: #ddf4ff; stroke: #0969da }";

/// Returns the picture as SVG.
pub(super) fn picture(root: &Path) -> Outcome<String> {
    let source = std::fs::read_to_string(root.join(LIST))
        .map_err(|error| format!("{LIST} cannot be read ({error})."))?;
    let layers = layers(&source).ok_or_else(|| format!("{LIST} has no list of layers."))?;
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

/// The modules of each layer, from the lowest layer on.
fn layers(source: &str) -> Option<Vec<Vec<&str>>> {
    let (_, rest) = source.split_once("const LAYERS")?;
    let (_, rest) = rest.split_once("= [\n")?;
    let (list, _) = rest.split_once("\n];")?;
    Some(
        list.lines()
            .map(str::trim)
            .filter(|line| line.starts_with("&["))
            .map(|line| line.split('"').skip(1).step_by(2).collect())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_in_the_repository_is_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let file = std::fs::read_to_string(root.join("docs/pictures/layers.svg")).unwrap();
        assert!(picture(&root).unwrap() == file, "run `cargo xtask pictures`");
    }

    #[test]
    fn the_list_is_read() {
        let source = "const LAYERS: [&[&str]; 2] = [\n    // a\n    &[\"ffi\", \"contain\"],\n    \
                      &[\"dtype\"],\n];\n";
        assert_eq!(layers(source), Some(vec![vec!["ffi", "contain"], vec!["dtype"]]));
        assert_eq!(layers(""), None);
    }
}
