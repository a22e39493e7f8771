//! Many threads at once admit exactly what one would.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use tollgate::{Algorithm, Ask, Cost, Quota};

use super::{Bench, ask, ask_each, limiter, slow, ten, tokens};

/// How often a race is run: what is seen once in a thousand times is wrong.
const ROUNDS: u64 = if cfg!(debug_assertions) { 25 } else { 1_000 };

/// Runs `each` on `threads` threads that start each of the rounds together, and shows to `look`
/// after each round what all of them returned, summed up.
fn rounds(threads: usize, each: impl Fn(u64) -> u64 + Sync, look: impl Fn(u64, u64) + Sync) {
    let barrier = Barrier::new(threads);
    let total = AtomicU64::new(0);
    let failure = Mutex::new(None);
    // A thread that panics must not leave the others waiting for it.
    let guard = |work: &dyn Fn()| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            *failure.lock().expect("not held by a panic") = Some(panic);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    barrier.wait();
                    guard(&|| {
                        total.fetch_add(each(round), Ordering::SeqCst);
                    });
                    if barrier.wait().is_leader() {
                        guard(&|| look(round, total.swap(0, Ordering::SeqCst)));
                    }
                    // All have to see the same, so that they leave together.
                    barrier.wait();
                    if failure.lock().expect("not held by a panic").is_some() {
                        break;
                    }
                }
            });
        }
    });
    if let Some(panic) = failure.into_inner().expect("not held by a panic") {
        resume_unwind(panic);
    }
}

/// Of 200 checks by `threads` threads of a new key in each round, as many pass as `quotas` admit.
fn admit_exactly<B: Bench>(bench: &B, threads: usize, checks: u64, quotas: &[Quota], right: u64) {
    let limiter = limiter(bench, quotas);
    rounds(
        threads,
        |round| {
            let check = |_: &u64| ask(bench, &limiter, round, Ask::check(Cost::ONE)).is_allowed();
            (0..checks).filter(check).count() as u64
        },
        |round, passed| assert_eq!(passed, right, "round {round} of {quotas:?}"),
    );
}

/// C39: 200 checks of a new key, of which ten may pass.
pub fn threads_admit_exactly_the_limit(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        admit_exactly(bench, 20, 10, &[ten(algorithm)], 10);
    }
}

/// C39: 64 threads that meet a new key first, of which one may pass.
pub fn threads_that_meet_a_new_key_admit_one(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        admit_exactly(bench, 64, 1, &[slow(algorithm, 1)], 1);
    }
}

/// The tight quota of two decides how many pass, and the wide one is charged for those.
pub fn threads_charge_all_quotas_or_none(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        for other in [Algorithm::TokenBucket, Algorithm::RollingWindow] {
            let limiter = limiter(bench, &[slow(algorithm, 7), slow(other, 10)]);
            let check = |round, cost| ask(bench, &limiter, round, Ask::check(tokens(cost)));
            rounds(
                10,
                |round| (0..4).filter(|_| check(round, 1).is_allowed()).count() as u64,
                |round, passed| {
                    assert_eq!(passed, 7, "round {round} of {algorithm} and {other}");
                    let (_, left) = ask_each(bench, &limiter, round, Ask::peek(Cost::ONE));
                    assert_eq!(
                        (left[0].remaining(), left[1].remaining()),
                        (0, 3),
                        "{round}"
                    );
                },
            );
        }
    }
}

/// What every thread spends and gives back is all there in the end.
pub fn threads_lose_nothing_that_is_given_back(bench: &impl Bench) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[ten(algorithm)]);
        rounds(
            8,
            |round| {
                let mut spent = 0;
                for _ in 0..10 {
                    if ask(bench, &limiter, round, Ask::check(tokens(2))).is_allowed() {
                        spent += 2;
                        assert!(ask(bench, &limiter, round, Ask::refund(tokens(2))).is_allowed());
                    }
                }
                spent
            },
            |round, spent| {
                assert!(spent > 0, "{algorithm}: somebody must have passed");
                let left = ask(bench, &limiter, round, Ask::peek(Cost::ONE)).remaining();
                assert_eq!(left, 10, "round {round} of {algorithm}");
            },
        );
    }
}
