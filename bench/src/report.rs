//! The table, and the same figures as JSON.

use std::fmt::Write as _;

use crate::measure::{Subject, interleaved};
use crate::rows::Entry;

/// Collects rows, printing each as it is done.
#[derive(Default)]
pub struct Report {
    json: String,
}

impl Report {
    /// Times the entries of one row. The first of them is the floor.
    pub fn row(&mut self, title: &str, entries: Vec<Entry>, rounds: usize) {
        let (mut subjects, allocations): (Vec<Subject>, Vec<_>) =
            entries.into_iter().map(|entry| (entry.subject, entry.allocations)).unzip();
        let times = interleaved(&mut subjects, rounds);
        let floor = times[0];
        println!("{title}");
        println!(
            "  {:<28} {:>8} {:>8} {:>8} {:>7} {:>7}",
            "", "quartile", "median", "x floor", "allocs", "bytes"
        );
        for ((subject, times), (calls, bytes)) in subjects.iter().zip(&times).zip(&allocations) {
            let ratio = times.median / floor.median;
            println!(
                "  {:<28} {:>8.1} {:>8.1} {:>8.2} {:>7} {:>7}",
                subject.name, times.lower_quartile, times.median, ratio, calls, bytes
            );
            let comma = if self.json.is_empty() { "" } else { ",\n" };
            let _ = write!(
                self.json,
                "{comma}  {{\"row\": \"{title}\", \"contender\": \"{}\", \"lower_quartile_ns\": \
                 {:.2}, \"median_ns\": {:.2}, \"to_floor\": {ratio:.3}, \"allocations\": {calls}, \
                 \"bytes\": {bytes}}}",
                subject.name, times.lower_quartile, times.median
            );
        }
        println!();
    }

    /// Writes the JSON to the file that `BENCH_JSON` names.
    pub fn finish(self) {
        if let Some(path) = std::env::var_os("BENCH_JSON") {
            if let Err(error) = std::fs::write(&path, format!("[\n{}\n]\n", self.json)) {
                eprintln!("{}: {error}", path.display());
                std::process::exit(1);
            }
        }
    }
}
