//! Interleaved rounds: every contender in turn, again and again, so that
//! whatever else the machine does falls on all of them.

use std::time::Instant;

/// Operations in one timed batch.
pub const BATCH: usize = 64;

/// An operation that can be timed: prepares a batch, and runs it between two readings of
/// the clock.
pub struct Subject {
    pub name: String,
    run: Box<dyn FnMut() -> f64>,
}

impl Subject {
    /// `batch` returns the nanoseconds that [`BATCH`] operations took.
    pub fn new(name: impl Into<String>, batch: impl FnMut() -> f64 + 'static) -> Self {
        Self { name: name.into(), run: Box::new(batch) }
    }
}

/// The result, in nanoseconds per operation.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub lower_quartile: f64,
    pub median: f64,
}

/// Times all subjects in turn, `rounds` times.
pub fn interleaved(subjects: &mut [Subject], rounds: usize) -> Vec<Times> {
    let mut samples = vec![Vec::with_capacity(rounds); subjects.len()];
    for round in 0..rounds + rounds / 10 {
        for (subject, samples) in subjects.iter_mut().zip(&mut samples) {
            let nanoseconds = (subject.run)() / BATCH as f64;
            // The first tenth only warms up.
            if round >= rounds / 10 {
                samples.push(nanoseconds);
            }
        }
    }
    samples.into_iter().map(Times::of).collect()
}

impl Times {
    /// Statistics of many samples.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |part: f64| samples[((samples.len() - 1) as f64 * part) as usize];
        Self { lower_quartile: at(0.25), median: at(0.5) }
    }
}

/// The nanoseconds that `run` takes.
#[inline(always)]
pub fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64
}
