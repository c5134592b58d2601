//! An hour of exchanges in all directions: `cargo xtask soak --seconds 3600`.

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use dlpack_tests::counted::Drops;
use tensors::SharedBuffer;

use super::alarm::alive;
use super::load::{THREADS, export, flat, import, resident, share};

/// Exchanges between two readings of the clock.
const TURN: usize = 1_000;

/// Memory does not grow after the first tenth of the time, while threads start and end.
#[test]
#[ignore = "takes as long as DLPACK_SOAK says, in seconds"]
fn soak() {
    let seconds = std::env::var("DLPACK_SOAK").expect("DLPACK_SOAK is a number of seconds");
    let seconds: u32 = seconds.parse().expect("DLPACK_SOAK is a number");
    let second = Duration::from_secs(1);
    let (begin, drops) = (Instant::now(), Drops::new());
    let buffer = SharedBuffer::<f32>::zeroed(6).unwrap();
    let shared = Arc::new([0_u8; 6]);
    let (mut first, mut turns) = (None, 0);
    while begin.elapsed() < second * seconds {
        let end = Instant::now() + second;
        turns += on_all_threads(|| {
            for round in 0..TURN {
                export(&drops, round);
                share(&buffer, &shared, round);
                import(&drops, round);
            }
            Instant::now() < end
        });
        if begin.elapsed() > second * seconds / 10 && first.is_none() {
            first = resident();
        }
    }
    let exchanges = turns * TURN;
    flat(&format!("soak, {THREADS} threads, 4 x {exchanges} exchanges"), first, resident());
    assert_eq!((drops.count(), Arc::strong_count(&shared)), (2 * exchanges, 1));
}

/// Runs a closure on all threads until it returns that it is done; returns the number of
/// runs.
fn on_all_threads(turn: impl Fn() -> bool + Sync) -> usize {
    thread::scope(|scope| {
        let workers = [(); THREADS].map(|()| {
            scope.spawn(|| {
                let before = alive();
                let turns = 1 + core::iter::repeat_with(&turn).take_while(|more| *more).count();
                assert_eq!(alive(), before, "something was lost");
                turns
            })
        });
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    })
}
