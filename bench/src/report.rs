//! The table, and the same figures as JSON.
//!
//! ```json
//! {"rows": [{
//!   "group": "rust", "row": "export + C deleter", "unit": "ns",
//!   "reference": "floor", "floor": 14.9, "ours": 15.6, "ratio": 1.05, "bar": 1.1,
//!   "peers": {"dlpark 0.10.0": 21.8},
//!   "entries": [{"name": "floor", "lower_quartile": 14.7, "median": 14.9, "ratio": 1.0,
//!                "allocations": 1, "bytes": 136}]
//! }]}
//! ```
//!
//! `floor` is the first entry, whatever its name (`reference`); `ours` is the first of this
//! project's; `ratio` is what one is of the other, by medians; `bar` is what it may be.
//! `bar` is null where there is none, and so is what was not counted.

use std::fmt::Write as _;

use crate::measure::{Subject, Times, interleaved};

/// One contender of one row: how to time it, and what it allocates.
pub struct Entry {
    pub subject: Subject,
    /// Allocations of Rust code per operation, and their bytes, where they are counted.
    pub allocations: Option<(u64, u64)>,
}

/// What this project's contenders are called, and what more there is to say of them.
pub const OURS: &str = "dlpack-traits";

/// Collects rows, printing each as it is done.
pub struct Report {
    group: &'static str,
    json: String,
}

/// A number, or null.
fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

impl Report {
    pub fn new(group: &'static str) -> Self {
        Self { group, json: String::new() }
    }

    /// Times the entries of one row. The first of them is what the others are
    /// compared with.
    pub fn row(&mut self, title: &str, bar: Option<f64>, entries: Vec<Entry>, rounds: usize) {
        self.row_with_call(title, bar, 0.0, entries, rounds);
    }

    /// A row whose bar permits a number of nanoseconds for the call, in addition to the ratio.
    pub fn row_with_call(
        &mut self,
        title: &str,
        bar: Option<f64>,
        call: f64,
        entries: Vec<Entry>,
        rounds: usize,
    ) {
        if !wanted(title) {
            return;
        }
        let (mut subjects, allocations): (Vec<Subject>, Vec<_>) =
            entries.into_iter().map(|entry| (entry.subject, entry.allocations)).unzip();
        let times = interleaved(&mut subjects, rounds);
        let names: Vec<String> = subjects.into_iter().map(|subject| subject.name).collect();
        let figures: Vec<Figure> = names
            .into_iter()
            .zip(times)
            .zip(allocations)
            .map(|((name, times), allocations)| Figure { name, times, allocations })
            .collect();
        let reference = figures.first().map_or(1.0, |figure| figure.times.median);
        self.add(title, "ns", bar.map(|bar| bar + call / reference), &figures);
    }

    /// A row that was measured some other way.
    pub fn add(&mut self, title: &str, unit: &str, bar: Option<f64>, figures: &[Figure]) {
        let [reference, ..] = figures else { return };
        let to_reference = |figure: &Figure| figure.times.median / reference.times.median;
        let bar_text = bar.map_or_else(String::new, |bar| format!(", at most {bar:.2}"));
        println!("{title} ({unit}{bar_text})");
        println!(
            "  {:<28} {:>9} {:>9} {:>7} {:>7} {:>7}",
            "", "quartile", "median", "ratio", "allocs", "bytes"
        );
        let mut entries = String::new();
        let mut peers = String::new();
        for figure in figures {
            let Figure { name, times, allocations } = figure;
            let ratio = to_reference(figure);
            let (calls, bytes) = allocations.unzip();
            let shown = |count: Option<u64>| count.map_or_else(String::new, |n| n.to_string());
            println!(
                "  {name:<28} {:>9.1} {:>9.1} {ratio:>7.2} {:>7} {:>7}",
                times.lower_quartile,
                times.median,
                shown(calls),
                shown(bytes)
            );
            let comma = if entries.is_empty() { "" } else { ", " };
            let _ = write!(
                entries,
                "{comma}{{\"name\": \"{name}\", \"lower_quartile\": {:.2}, \"median\": {:.2}, \
                 \"ratio\": {ratio:.3}, \"allocations\": {}, \"bytes\": {}}}",
                times.lower_quartile,
                times.median,
                number(calls),
                number(bytes)
            );
            if name != &reference.name && !name.starts_with(OURS) {
                let comma = if peers.is_empty() { "" } else { ", " };
                let _ = write!(peers, "{comma}\"{name}\": {:.2}", times.median);
            }
        }
        let ours = figures.iter().find(|figure| figure.name.starts_with(OURS));
        let _ = write!(
            self.json,
            "{}  {{\"group\": \"{}\", \"row\": \"{title}\", \"unit\": \"{unit}\", \"reference\": \
             \"{}\", \"floor\": {:.2}, \"ours\": {}, \"ratio\": {}, \"bar\": {}, \"peers\": \
             {{{peers}}}, \"entries\": [{entries}]}}",
            if self.json.is_empty() { "" } else { ",\n" },
            self.group,
            reference.name,
            reference.times.median,
            number(ours.map(|ours| format!("{:.2}", ours.times.median))),
            number(ours.map(|ours| format!("{:.3}", to_reference(ours)))),
            number(bar),
        );
        println!();
    }

    /// Writes the JSON to the file that `BENCH_JSON` names.
    pub fn finish(self) {
        if let Some(path) = std::env::var_os("BENCH_JSON") {
            let text = format!("{{\"rows\": [\n{}\n]}}\n", self.json);
            if let Err(error) = std::fs::write(&path, text) {
                eprintln!("{}: {error}", path.display());
                std::process::exit(1);
            }
        }
    }
}

/// Whether a row was asked for: `BENCH_ROWS` is a part of its title, or not set.
pub fn wanted(title: &str) -> bool {
    std::env::var("BENCH_ROWS").map_or(true, |part| title.contains(&part))
}

/// What came out for one contender.
pub struct Figure {
    pub name: String,
    pub times: Times,
    pub allocations: Option<(u64, u64)>,
}
