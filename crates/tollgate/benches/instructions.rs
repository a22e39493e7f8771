//! A workload that does nothing else, for counting instructions: `instructions WORKLOAD COUNT`.
//!
//! `scripts/instructions.sh` runs it under callgrind with two counts; the difference is what the
//! decisions cost, without what it takes to start.

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
        "new" => (stingy, count),
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
    let names: Vec<String> = (0..keys).map(|n| format!("user:{n:015}")).collect();
    match workload.as_str() {
        "new" => {
            for name in &names {
                let _ = black_box(limiter.check(name));
            }
        }
        "many" => {
            let batch: Vec<Key<'_>> = names.iter().map(Key::from).collect();
            let mut decisions = [Decision::disabled(); 16];
            for _ in 0..count / 16 {
                limiter.check_many(&batch, &mut decisions);
                let _ = black_box(&decisions);
            }
        }
        _ => {
            for _ in 0..count {
                let _ = black_box(limiter.check(black_box(&names[0])));
            }
        }
    }
}
