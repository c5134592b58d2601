//! The house of `dlpack-traits`, drawn from the list of floors that a test enforces.

use std::path::Path;

use crate::Outcome;

const LIST: &str = "tests/tests/architecture.rs";
const WIDTH: usize = 880;
const FLOOR: usize = 46;
const STYLE: &str = "text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; \
                     font-size: 13px; fill: #1f2328 } .level { fill: #57606a } .floor { fill: \
                     #ffffff; stroke: #d0d7de } .room { fill: #ddf4ff; stroke: #0969da }";

/// The drawing, as SVG.
pub(super) fn house(root: &Path) -> Outcome<String> {
    let source = std::fs::read_to_string(root.join(LIST))
        .map_err(|error| format!("{LIST} cannot be read ({error})."))?;
    let floors = floors(&source).ok_or_else(|| format!("{LIST} has no list of floors."))?;
    let height = 24 + FLOOR * floors.len() + 34;
    let mut parts = vec![
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"The floors of \
             dlpack-traits; imports point down\">"
        ),
        format!("<style>{STYLE}</style>"),
        format!("<rect width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#f6f8fa\"/>"),
    ];
    for (level, rooms) in floors.iter().enumerate() {
        let top = 16 + FLOOR * (floors.len() - 1 - level);
        parts.push(format!(
            "<rect class=\"floor\" x=\"16\" y=\"{top}\" width=\"{}\" height=\"{FLOOR}\"/>",
            WIDTH - 32
        ));
        parts.push(format!("<text class=\"level\" x=\"30\" y=\"{}\">L{level}</text>", top + 28));
        let mut left = 76;
        for room in rooms {
            let width = 24 + 8 * room.len();
            parts.push(format!(
                "<rect class=\"room\" x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"28\" \
                 rx=\"4\"/>",
                top + 9
            ));
            parts.push(format!("<text x=\"{}\" y=\"{}\">{room}</text>", left + 12, top + 28));
            left += width + 14;
        }
    }
    parts.push(format!(
        "<text class=\"level\" x=\"30\" y=\"{}\">imports point down; a test reads them</text>",
        height - 14
    ));
    parts.push("</svg>\n".to_owned());
    Ok(parts.join("\n"))
}

/// The rooms of each floor, from the lowest on.
fn floors(source: &str) -> Option<Vec<Vec<&str>>> {
    let (_, rest) = source.split_once("const FLOORS")?;
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
    fn the_list_is_read() {
        let source = "const FLOORS: [&[&str]; 2] = [\n    // a\n    &[\"ffi\", \"contain\"],\n    \
                      &[\"dtype\"],\n];\n";
        assert_eq!(floors(source), Some(vec![vec!["ffi", "contain"], vec!["dtype"]]));
        assert_eq!(floors(""), None);
    }
}
