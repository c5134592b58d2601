//! What an exchange costs: this project's crate beside the other crates and
//! beside the floor, in one run.
//!
//! `cargo xtask bench rust` runs it.

mod contender;
mod counting;
mod floor;
mod imports;
mod measure;
mod ours;
mod peers;
mod reading;
mod report;
mod rows;
#[cfg(feature = "rust-numpy")]
mod rust_numpy;
mod scale;
mod shapes;

use contender::Contender;
use report::{Entry, Report};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// What is done with every contender.
#[derive(Clone, Copy)]
enum Row {
    Export,
    Import,
    RoundTrip,
}

impl Row {
    fn of<C: Contender + 'static>(self, entries: &mut Vec<Entry>) {
        match self {
            Row::Export => entries.push(rows::export::<C>()),
            Row::Import if C::IMPORTS => entries.push(rows::import::<C>()),
            Row::RoundTrip if C::IMPORTS => entries.push(rows::round_trip::<C>()),
            Row::Import | Row::RoundTrip => {}
        }
    }

    fn entries(self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.of::<floor::Floor>(&mut entries);
        self.of::<ours::Ours>(&mut entries);
        self.of::<peers::dlpark::Dlpark>(&mut entries);
        self.of::<peers::dlpk::Dlpk>(&mut entries);
        self.of::<peers::dlpack_rs::DlpackRs>(&mut entries);
        #[cfg(feature = "tvm-ffi")]
        self.of::<peers::tvm_ffi::TvmFfi>(&mut entries);
        #[cfg(feature = "pyo3-dlpack")]
        self.of::<peers::pyo3_dlpack::Pyo3Dlpack>(&mut entries);
        entries
    }
}

fn main() {
    #[cfg(any(feature = "pyo3-dlpack", feature = "rust-numpy"))]
    pyo3::Python::attach(|_| run());
    #[cfg(not(any(feature = "pyo3-dlpack", feature = "rust-numpy")))]
    run();
}

fn run() {
    let rounds = std::env::var("BENCH_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(4000);
    let mut report = Report::new("rust");
    shapes::all(&mut report, rounds);
    imports::all(&mut report, rounds);
    for (title, bar, row) in [
        ("export + C deleter", 1.10, Row::Export),
        ("import to a slice + drop", 1.15, Row::Import),
        ("round trip", 1.10, Row::RoundTrip),
    ] {
        report.row(title, Some(bar), row.entries(), rounds);
    }
    let shared = vec![
        rows::export::<floor::Floor>(),
        rows::shared::<ours::Ours>(),
        rows::shared::<ours::OursArc>(),
    ];
    report.row("repeated export of one owner + C deleter", Some(0.35), shared, rounds);
    let locked = vec![
        rows::export::<floor::Floor>(),
        rows::locked::<1>("one"),
        rows::locked::<2>("two, as a repeated export has"),
    ];
    report.row("locked operations on one word, no more", None, locked, rounds);
    reading::all(&mut report, rounds);
    scale::borrowed(&mut report, rounds);
    scale::ranks(&mut report, rounds / 4);
    scale::live_exports(&mut report);
    scale::threads(&mut report);
    report.finish();
}
