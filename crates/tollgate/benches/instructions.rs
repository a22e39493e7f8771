//! A workload that does nothing else, for counting instructions: `instructions WORKLOAD COUNT`.
//!
//! `scripts/instructions.sh` runs it under callgrind, which counts in `measured` only.

#![allow(missing_docs, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Duration;

use tollgate::{Decision, Key, Limiter, MemoryStore, Quota, Rate};

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let [workload, count] = args.as_slice() else {
        println!("instructions WORKLOAD COUNT");
        return;
    };
    let count: usize = count.parse().expect("a count");
    let generous = Quota::token_bucket(Rate::per_second(1_000_000_000).unwrap(), 200_000).unwrap();
    let stingy = Quota::token_bucket(Rate::per_day(1).unwrap(), 1).unwrap();
    let (quota, keys) = match workload.as_str() {
        "hot-allowed" | "many" => (generous, 16),
        "hot-denied" => (stingy, 16),
        // As many places as keys, or so few that each key but the first displaces another.
        "new" => (stingy, count),
        "flood-of-1e3" => (stingy, 1_000),
        "flood-of-1e5" => (stingy, 100_000),
        "fixed-window" => {
            let window = tollgate::Window::of(Duration::from_secs(1)).unwrap();
            (Quota::fixed_window(1 << 30, window).unwrap(), 16)
        }
        "sliding-window" => (
            Quota::sliding_window(1 << 30, Duration::from_secs(1)).unwrap(),
            16,
        ),
        _ => panic!("no workload {workload}"),
    };
    let store = MemoryStore::builder().max_keys(keys).build();
    let limiter = Limiter::builder("bench")
        .quota(quota)
        .build(&store)
        .unwrap();
    if workload.starts_with("flood") {
        for key in 0..keys as u64 {
            let _ = limiter.check(("old", key));
        }
    }
    measured(&limiter, workload, count);
}

#[inline(never)]
fn measured(limiter: &Limiter, workload: &str, count: usize) {
    let name = "user:000000000000000".to_owned();
    match workload {
        "new" | "flood-of-1e3" | "flood-of-1e5" => {
            for key in 0..count as u64 {
                let _ = black_box(limiter.check(key));
            }
        }
        "many" => {
            let batch = vec![Key::from(&name); 16];
            let mut decisions = [Decision::disabled(); 16];
            for _ in 0..count / 16 {
                limiter.check_many(&batch, &mut decisions);
                let _ = black_box(&decisions);
            }
        }
        _ => {
            for _ in 0..count {
                let _ = black_box(limiter.check(black_box(&name)));
            }
        }
    }
}
