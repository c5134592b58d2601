//! How costs grow: with the rank, with the number of live exports, with threads.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, ExportArc};

use crate::contender::{Contender, Samples, Shares, delete};
use crate::floor::Floor;
use crate::measure::{BATCH, Subject, Times, timed};
use crate::ours::{Matrix, Ours, OursArc};
use crate::report::{Entry, Figure, Report, wanted};
use crate::shapes::element::F32;
use crate::shapes::floor::{Lists, Placed, bytes, contiguous};
use crate::{rows, shapes};

/// A tensor of any rank.
#[derive(DLPackExport)]
struct Ranked {
    data: Arc<[f32]>,
    shape: Vec<usize>,
}

impl shapes::floor::Floor for Ranked {
    type Owner = Arc<[f32]>;

    fn owner(&self) -> Arc<[f32]> {
        Arc::clone(&self.data)
    }

    fn place(&self, lists: &mut Lists) -> Option<Placed> {
        let (first, len) = bytes(&self.data);
        contiguous(lists, &self.shape, first, len, F32)
    }
}

/// Rank 0 to 16, of 256 elements in all. Beyond 8 dimensions the packet has no inline space
/// for them, and there is a second allocation. The floor has room for 8 dimensions, so it has
/// no more for higher ranks.
pub fn ranks(report: &mut Report, rounds: usize) {
    for rank in [0, 1, 2, 3, 4, 6, 8, 9, 12, 16] {
        type Export = fn(&Ranked) -> *mut DLManagedTensorVersioned;
        let entry = move |name: &str, rank: usize, export: Export| {
            let mut shape = vec![1; rank];
            if let Some(last) = shape.last_mut() {
                *last = 256;
            }
            let len = shape.iter().product();
            let tensor = Ranked { data: vec![1.0; len].into(), shape };
            let run = move || {
                // SAFETY: just exported.
                unsafe { delete(black_box(export(black_box(&tensor)))) };
            };
            let allocations = Some(crate::counting::count(&run));
            let batch = move || timed(|| (0..BATCH).for_each(|_| run()));
            Entry { subject: Subject::new(name, batch), allocations }
        };
        let ours: Export = |tensor| tensor.to_dlpack().expect("a tensor").into_raw();
        let entries = vec![
            entry("floor", rank.min(8), shapes::floor::shared),
            entry("dlpack-traits", rank, ours),
            entry("dlpack-traits, rank 2", 2, ours),
        ];
        let bar = (rank > 8).then_some(2.5);
        report.row(&format!("to_dlpack + deleter, rank {rank}"), bar, entries, rounds);
    }
}

/// Nanoseconds of each of `count` exports that live at once, and of their deleters.
fn live(count: usize, export: impl Fn() -> *mut DLManagedTensorVersioned) -> f64 {
    // Small counts are repeated, so that every row times enough exports.
    let times = (100_000 / count).max(1);
    let mut alive = Vec::with_capacity(count);
    let start = Instant::now();
    for _ in 0..times {
        alive.extend((0..count).map(|_| export()));
        for managed in alive.drain(..) {
            // SAFETY: just exported.
            unsafe { delete(managed) };
        }
    }
    start.elapsed().as_nanos() as f64 / (count * times) as f64
}

/// Memory that can be had without swapping, in bytes, where that is known.
fn available() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// 1 to 10,000,000 exports of one owner that live at the same time.
pub fn live_exports(report: &mut Report) {
    let owner = OursArc::owner(Samples::new());
    for count in [1, 100, 10_000, 1_000_000, 10_000_000] {
        let title = format!("to_dlpack + deleter, {count} live");
        if !wanted(&title) {
            continue;
        }
        // A packet has some 250 bytes; the list, and what the allocator adds.
        let bytes = count as u64 * 300;
        if available().is_some_and(|available| available < 2 * bytes) {
            println!("{title}: SKIPPED, there is no memory for {} MB\n", bytes / 1_000_000);
            continue;
        }
        let floor = || Floor::export(Samples { data: Vec::new(), shape: [16, 16] });
        let rounds = if count < 1_000_000 { 9 } else { 3 };
        let mut figures = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            figures[0].push(live(count, floor));
            figures[1].push(live(count, || OursArc::export_shared(&owner)));
        }
        let [floor, ours] = figures.map(Times::of);
        let figure = |name: &str, times| Figure { name: name.to_owned(), times, allocations: None };
        let both =
            [figure("floor, without memory", floor), figure("dlpack-traits, Arc<[f32]>", ours)];
        report.add(&title, "ns", None, &both);
    }
}

/// Nanoseconds per export and deleter, of `threads` threads that do so all the time.
fn on_threads(threads: usize, run: impl Fn() + Sync) -> f64 {
    const TIMES: usize = 50_000;
    let start = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let started = Instant::now();
                    (0..TIMES).for_each(|_| run());
                    started.elapsed().as_nanos() as f64 / TIMES as f64
                })
            })
            .collect();
        start.wait();
        let all: Vec<f64> =
            workers.into_iter().map(|worker| worker.join().expect("no panic")).collect();
        all.iter().sum::<f64>() / threads as f64
    })
}

/// 1 to 8 threads: with an owner for each export, and all with one owner.
pub fn threads(report: &mut Report) {
    let arc = OursArc::owner(Samples::new());
    let shared: ExportArc<Matrix> = Ours::owner(Samples::new());
    for threads in [1, 2, 4, 8] {
        let word = if threads == 1 { "thread" } else { "threads" };
        let title = format!("export + deleter, {threads} {word}");
        if !wanted(&title) {
            continue;
        }
        // SAFETY: just exported.
        let done = |managed| unsafe { delete(black_box(managed)) };
        let runs: [(&str, &(dyn Fn() + Sync)); 4] = [
            ("floor", &|| done(Floor::export(Samples::new()))),
            ("dlpack-traits", &|| done(Ours::export(Samples::new()))),
            ("dlpack-traits, one Arc<[f32]>", &|| done(OursArc::export_shared(&arc))),
            ("dlpack-traits, one ExportArc", &|| done(Ours::export_shared(&shared))),
        ];
        let mut samples = vec![Vec::new(); runs.len()];
        for _ in 0..9 {
            for (samples, (_, run)) in samples.iter_mut().zip(&runs) {
                samples.push(on_threads(threads, run));
            }
        }
        let figures: Vec<Figure> = runs
            .iter()
            .zip(samples)
            .map(|((name, _), samples)| Figure {
                name: (*name).to_owned(),
                times: Times::of(samples),
                allocations: None,
            })
            .collect();
        report.add(&title, "ns", None, &figures);
    }
}

/// What needs no time: borrowed views allocate nothing.
pub fn borrowed(report: &mut Report, rounds: usize) {
    let matrix = OursArc::owner(Samples::new());
    let look = move || {
        let view = matrix.tensor().expect("a tensor");
        black_box(view.dl_tensor().as_raw());
    };
    let allocations = Some(crate::counting::count(&look));
    let batch = move || timed(|| (0..BATCH).for_each(|_| look()));
    let entry = Entry { subject: Subject::new("dlpack-traits", batch), allocations };
    report.row("borrowed view", None, vec![rows::export::<Floor>(), entry], rounds);
}
