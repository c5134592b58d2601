//! A report as a person reads it.

use core::fmt::{self, Display, Write};

use dlpack_traits::{DataType, Flags};

use crate::read;
use crate::report::{
    Answer, Array, CapsuleFacts, DeviceAnswer, Fit, LayoutFacts, Place, Report, Severity,
    TableFacts, TensorFacts,
};

/// Whether the text has terminal colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Letters only.
    #[default]
    Plain,
    /// With the colours of a terminal.
    Colour,
}

const BOLD: u8 = 1;
const RED: u8 = 31;
const GREEN: u8 = 32;
const YELLOW: u8 = 33;
const GREY: u8 = 90;

impl Style {
    fn paint(self, colour: u8, text: impl Display) -> String {
        match self {
            Self::Plain => text.to_string(),
            Self::Colour => format!("\x1b[{colour}m{text}\x1b[0m"),
        }
    }
}

impl Severity {
    const fn word(self) -> (&'static str, u8) {
        match self {
            Self::Error => ("error", RED),
            Self::Warning => ("warning", YELLOW),
            Self::Note => ("note", GREY),
        }
    }
}

impl Fit {
    /// The word for the outcome.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Copy => "copy",
            Self::Converted => "converted",
            Self::Refused => "refused",
            Self::Leaks => "leaks",
            Self::Wrong => "WRONG",
            Self::Unusable => "UNUSABLE",
            Self::Crash => "CRASH",
            Self::Unknown => "unknown",
        }
    }

    const fn colour(self) -> u8 {
        match self {
            Self::Same => GREEN,
            Self::Copy | Self::Converted | Self::Leaks => YELLOW,
            Self::Refused | Self::Wrong | Self::Unusable | Self::Crash => RED,
            Self::Unknown => GREY,
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Style::Plain))
    }
}

impl Report {
    /// The report as text, with lines of about 100 characters.
    pub fn text(&self, style: Style) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        self.write(&mut out, style).unwrap_or_default();
        out
    }

    fn write(&self, out: &mut String, style: Style) -> fmt::Result {
        writeln!(out, "{}", style.paint(BOLD, &self.type_name))?;
        writeln!(out, "\n__dlpack_device__()  {}", device(&self.device))?;
        let mut shown: Vec<(&str, &Answer)> = Vec::new();
        for request in &self.requests {
            write!(out, "__dlpack__({})  ", request.keywords)?;
            let before = shown.iter().find(|(_, answer)| same(answer, &request.answer));
            match before {
                Some((keywords, _)) => writeln!(out, "as __dlpack__({keywords})")?,
                None if shown.iter().any(|(_, answer)| only_older(answer, &request.answer)) => {
                    writeln!(out, "capsule \"dltensor\", the same without version and flags")?;
                }
                None => self::answer(out, &request.answer)?,
            }
            shown.push((&request.keywords, &request.answer));
        }
        match &self.table {
            None => writeln!(out, "exchange table  none")?,
            Some(facts) => table(out, facts)?,
        }
        if !self.checks.is_empty() {
            writeln!(out, "\n{}", style.paint(BOLD, "tried"))?;
            for check in &self.checks {
                let (word, colour) = match check.severity {
                    Severity::Note => ("ok", GREEN),
                    severity => severity.word(),
                };
                let word = style.paint(colour, format_args!("{word:7}"));
                writeln!(out, "  {word} {:30} {}", check.name, check.seen)?;
            }
        }
        writeln!(out, "\n{}", style.paint(BOLD, "findings"))?;
        for finding in &self.findings {
            let (word, colour) = finding.severity.word();
            let word = style.paint(colour, format_args!("{word:7}"));
            writeln!(out, "  {word} {} [{}]", finding.message, finding.rule)?;
        }
        if self.findings.is_empty() {
            writeln!(out, "  none")?;
        }
        writeln!(out, "\n{}", style.paint(BOLD, "consumers"))?;
        for verdict in &self.verdicts {
            let name = format!("{} {}", verdict.consumer, verdict.version);
            let word = style.paint(verdict.fit.colour(), format_args!("{:9}", verdict.fit.word()));
            let line = format!("  {name:23} {word} {}", verdict.why);
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn device(answer: &DeviceAnswer) -> String {
    match answer {
        DeviceAnswer::Said(device) => {
            format!("({}, {}), {}", device.device_type, device.device_id, device.name)
        }
        DeviceAnswer::Odd { found, .. } => found.clone(),
        DeviceAnswer::Raised { exception, message } => format!("{exception}: {message}"),
        DeviceAnswer::Missing => "missing".to_owned(),
    }
}

/// Whether the text of both would be the same.
fn same(one: &Answer, other: &Answer) -> bool {
    match (one, other) {
        (Answer::Capsule(one), Answer::Capsule(other)) => {
            let mut rewritten = other.tensor.clone();
            if let (Some(rewritten), Some(tensor)) = (&mut rewritten, &one.tensor) {
                // Each export has its own context pointer.
                rewritten.manager_ctx = tensor.manager_ctx;
            }
            one.name == other.name && one.tensor == rewritten && one.accepted == other.accepted
        }
        (
            Answer::Raised { exception, message },
            Answer::Raised { exception: other, message: others },
        ) => exception == other && message == others,
        _ => false,
    }
}

/// Whether the second is the first in the legacy struct.
fn only_older(one: &Answer, other: &Answer) -> bool {
    let (Some(tensor), Some(legacy)) = (one.tensor(), other.tensor()) else { return false };
    let mut rewritten = legacy.clone();
    rewritten.version = tensor.version;
    rewritten.flags = tensor.flags;
    rewritten.manager_ctx = tensor.manager_ctx;
    // Each struct has its own deleter pointer; only the library is compared.
    let library = |tensor: &TensorFacts| tensor.deleter.as_ref().map(|place| place.library.clone());
    let same_library = library(tensor) == library(legacy);
    rewritten.deleter.clone_from(&tensor.deleter);
    let accepted = |answer: &Answer| answer.capsule().and_then(|facts| facts.accepted.clone());
    legacy.version.is_none()
        && tensor.version.is_some()
        && same_library
        && rewritten == *tensor
        && accepted(one) == accepted(other)
}

fn answer(out: &mut String, answer: &Answer) -> fmt::Result {
    match answer {
        Answer::Odd { found } => writeln!(out, "{found}"),
        Answer::Raised { exception, message } => writeln!(out, "{exception}: {message}"),
        Answer::Capsule(facts) => capsule(out, facts),
    }
}

fn capsule(out: &mut String, facts: &CapsuleFacts) -> fmt::Result {
    match &facts.name {
        Some(name) => write!(out, "capsule {name:?}")?,
        None => write!(out, "capsule without a name")?,
    }
    match &facts.tensor {
        None => writeln!(out, ", no struct to read"),
        Some(facts) => tensor(out, facts),
    }
}

fn row(out: &mut String, name: &str, value: impl Display) -> fmt::Result {
    writeln!(out, "    {name:9} {value}")
}

fn tensor(out: &mut String, facts: &TensorFacts) -> fmt::Result {
    match facts.version {
        Some((major, minor)) => {
            writeln!(out, ", DLPack {major}.{minor}")?;
            let flags = Flags::from_bits(facts.flags);
            row(
                out,
                "flags",
                if facts.flags == 0 { "none".to_owned() } else { flags.to_string() },
            )?;
        }
        None => writeln!(out, ", without version and flags")?,
    }
    let (code, bits, lanes) = facts.dtype;
    let dtype: DataType = read::dtype_of(facts);
    row(out, "dtype", format_args!("{dtype} (code {code}, {bits} bits, {lanes} lanes)"))?;
    row(out, "device", &facts.device.name)?;
    row(out, "shape", array(&facts.shape, facts.ndim))?;
    row(out, "strides", array(&facts.strides, facts.ndim))?;
    if let Some(layout) = &facts.layout {
        row(out, "layout", layout_words(layout))?;
        let (start, end) = layout.bytes;
        let mapped = if layout.mapped == Some(false) { ", NOT ALL THERE" } else { "" };
        row(
            out,
            "memory",
            format_args!(
                "{} elements in {} bytes, from {start} to {end}{mapped}",
                layout.numel,
                end.abs_diff(start)
            ),
        )?;
    }
    let data = if facts.data == 0 { "NULL".to_owned() } else { format!("{:#x}", facts.data) };
    let alignment = facts.layout.as_ref().and_then(|layout| layout.alignment);
    let aligned = alignment.map_or_else(String::new, |to| format!(", aligned to {to} bytes"));
    row(out, "data", format_args!("{data}, byte_offset {}{aligned}", facts.byte_offset))?;
    let context = if facts.manager_ctx == 0 { "NULL" } else { "set" };
    let deleter = facts.deleter.as_ref().map_or_else(|| "NULL".to_owned(), place);
    row(out, "deleter", format_args!("{deleter}; manager_ctx {context}"))
}

fn array(array: &Array, ndim: i32) -> String {
    match array {
        Array::Null => "NULL".to_owned(),
        Array::Unreadable => "leads to no memory".to_owned(),
        Array::Uncounted => format!("not read, as `ndim` is {ndim}"),
        Array::Values(values) => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            let comma = if values.len() == 1 { "," } else { "" };
            format!("({}{comma})", values.join(", "))
        }
    }
}

fn layout_words(layout: &LayoutFacts) -> String {
    let words = [
        (layout.row_major, "row-major (C)"),
        (layout.column_major, "column-major (Fortran)"),
        (layout.compact && !layout.row_major && !layout.column_major, "compact in another order"),
        (!layout.compact && !layout.overlap, "not compact"),
        (layout.broadcast, "broadcast"),
        (layout.negative, "negative strides"),
        (layout.overlap, "elements shared by indices"),
    ];
    let words: Vec<&str> =
        words.into_iter().filter_map(|(holds, word)| holds.then_some(word)).collect();
    words.join(", ")
}

fn place(place: &Place) -> String {
    let library = place
        .library
        .as_deref()
        .map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned());
    match (&place.symbol, library) {
        (Some(symbol), Some(library)) => format!("{symbol} in {library}"),
        (None, Some(library)) => format!("in {library}"),
        _ => "in no library (made at run time)".to_owned(),
    }
}

fn table(out: &mut String, facts: &TableFacts) -> fmt::Result {
    let versions: Vec<String> =
        facts.versions.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
    writeln!(out, "exchange table  {}, version {}", facts.attribute, versions.join(" -> "))?;
    if let Some(reason) = &facts.unreadable {
        writeln!(out, "    {reason}")?;
    }
    for slot in &facts.slots {
        let owner = slot.place.as_ref().map_or_else(|| "NULL".to_owned(), place);
        writeln!(out, "    {:37} {owner}", slot.name)?;
    }
    Ok(())
}
