//! Keyed checks in memory, against peers, in one run: `cargo bench -p tollgate --bench decisions`.
//!
//! Machines are noisy, so each workload is run by all contenders in turn, several rounds long, and
//! what counts is the ratio of the medians. Every contender reads its own real clock and limits
//! 20-byte string keys by a token bucket. An argument selects workloads by their name.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::ptr_arg
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Barrier;
use std::time::Instant;

use tollgate::{Decision, Key, Limiter, MemoryStore, Quota, Rate};

const ROUNDS: usize = 7;
const MILLION: usize = 1_000_000;

/// One way to limit by key. `check` says whether the request was allowed.
trait Contender: Sync {
    fn name(&self) -> &'static str;
    fn check(&self, key: &String) -> bool;
}

/// A bucket that is always allowed, or always denied after the first request.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Mode {
    Allowed,
    Denied,
}

struct Ours(Limiter);

impl Ours {
    fn new(mode: Mode, keys: usize) -> Self {
        let quota = match mode {
            Mode::Allowed => Quota::token_bucket(Rate::per_second(1_000_000_000).unwrap(), 200_000),
            Mode::Denied => Quota::token_bucket(Rate::per_day(1).unwrap(), 1),
        };
        let store = MemoryStore::builder().max_keys(keys).build();
        Self(
            Limiter::builder("bench")
                .quota(quota.unwrap())
                .build(&store)
                .unwrap(),
        )
    }
}

impl Contender for Ours {
    fn name(&self) -> &'static str {
        "tollgate"
    }

    fn check(&self, key: &String) -> bool {
        self.0.check(key).is_allowed()
    }
}

fn governor_quota(mode: Mode) -> governor::Quota {
    match mode {
        Mode::Allowed => governor::Quota::per_second(NonZeroU32::new(1_000_000_000).unwrap())
            .allow_burst(NonZeroU32::new(200_000).unwrap()),
        Mode::Denied => {
            governor::Quota::with_period(std::time::Duration::from_secs(86_400)).unwrap()
        }
    }
}

struct Governor(governor::DefaultKeyedRateLimiter<String>);

impl Contender for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn check(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

struct GovernorAhash(
    governor::RateLimiter<
        String,
        governor::state::keyed::DashMapStateStore<String, ahash::RandomState>,
        governor::clock::DefaultClock,
    >,
);

impl Contender for GovernorAhash {
    fn name(&self) -> &'static str {
        "governor+ahash"
    }

    fn check(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

fn contenders(mode: Mode, keys: usize) -> Vec<Box<dyn Contender>> {
    let quota = governor_quota(mode);
    let store = governor::state::keyed::DashMapStateStore::with_hasher(ahash::RandomState::new());
    let clock = governor::clock::DefaultClock::default();
    vec![
        Box::new(Ours::new(mode, keys)),
        Box::new(Governor(governor::RateLimiter::keyed(quota))),
        Box::new(GovernorAhash(governor::RateLimiter::new(
            quota, store, clock,
        ))),
    ]
}

/// Nanoseconds per check, by contender and round.
type Times = BTreeMap<&'static str, Vec<f64>>;

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn report(workload: &str, times: &Times) {
    let peer = median(&times["governor"]);
    for (name, times) in times {
        let time = median(times);
        println!(
            "{workload:<28} {name:<16} {time:>8.1} ns   {:.2} of governor",
            time / peer
        );
    }
}

/// Has all contenders check `keys`, in the order of `picks`, on `threads` threads.
fn run(workload: &str, mode: Mode, threads: usize, keys: &[String], picks: &[u32]) {
    let contenders = contenders(mode, keys.len());
    for contender in &contenders {
        for key in keys {
            black_box(contender.check(key));
        }
    }
    // One after the other in memory, as requests bring them along: it is the tables that are
    // measured, not where the keys come from.
    let picks: Vec<String> = picks
        .iter()
        .map(|pick| keys[*pick as usize].clone())
        .collect();
    let mut times = Times::new();
    for _ in 0..ROUNDS {
        for contender in &contenders {
            let time = time(contender.as_ref(), threads, &picks);
            times.entry(contender.name()).or_default().push(time);
        }
    }
    report(workload, &times);
}

fn time(contender: &dyn Contender, threads: usize, picks: &[String]) -> f64 {
    let barrier = Barrier::new(threads);
    let slowest = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let barrier = &barrier;
            move || {
                // Each thread starts elsewhere, so that no two are at one key by appointment.
                let (head, tail) = picks.split_at(picks.len() / threads * thread);
                barrier.wait();
                let start = Instant::now();
                for _ in 0..MILLION / picks.len() {
                    for key in tail.iter().chain(head) {
                        black_box(contender.check(black_box(key)));
                    }
                }
                start.elapsed()
            }
        };
        let threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(work(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .max()
            .unwrap()
    });
    slowest.as_nanos() as f64 / MILLION as f64
}

/// Twenty bytes, as an account or a session has.
fn keys(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("user:{n:015}")).collect()
}

/// A generator of numbers that are random enough to pick keys by.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn uniform(keys: usize, count: usize) -> Vec<u32> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    (0..count)
        .map(|_| (random.next() % keys as u64) as u32)
        .collect()
}

/// Zipf with exponent 0.99, by the inverse of the summed weights.
fn zipf(keys: usize, count: usize) -> Vec<u32> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += (rank as f64).powf(-0.99);
            sum
        })
        .collect();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut shuffled: Vec<u32> = (0..keys as u32).collect();
    for index in (1..keys).rev() {
        shuffled.swap(index, (random.next() % (index as u64 + 1)) as usize);
    }
    let pick = |random: &mut Random| {
        let point = random.next() as f64 / u64::MAX as f64 * sum;
        shuffled[sums.partition_point(|sum| *sum < point).min(keys - 1)]
    };
    (0..count).map(|_| pick(&mut random)).collect()
}

/// A million keys that were never seen, in a table that just holds them.
fn new_keys() {
    let keys = keys(MILLION);
    let mut times = Times::new();
    let mut slowest: BTreeMap<&str, f64> = BTreeMap::new();
    for round in 0..ROUNDS {
        for contender in contenders(Mode::Allowed, MILLION) {
            let start = Instant::now();
            for key in &keys {
                black_box(contender.check(key));
            }
            let time = start.elapsed().as_nanos() as f64 / keys.len() as f64;
            times.entry(contender.name()).or_default().push(time);
        }
        if round == 0 {
            for contender in contenders(Mode::Allowed, MILLION) {
                let worst = keys.iter().map(|key| {
                    let start = Instant::now();
                    black_box(contender.check(key));
                    start.elapsed().as_nanos()
                });
                slowest.insert(contender.name(), worst.max().unwrap() as f64 / 1e6);
            }
        }
    }
    report("a million new keys", &times);
    for (name, worst) in slowest {
        println!("{:<28} {name:<16} {worst:>8.3} ms", "  slowest single call");
    }
}

/// New keys into a table that is full of keys in debt, against new keys into one with room.
fn overflow() {
    let keys = keys(2 * MILLION);
    let (fill, flood) = keys.split_at(MILLION);
    let mut times = Times::new();
    for _ in 0..ROUNDS {
        let ours = Ours::new(Mode::Denied, MILLION);
        for (name, keys) in [("insert", fill), ("overflow", flood)] {
            let start = Instant::now();
            for key in keys {
                black_box(ours.check(key));
            }
            let time = start.elapsed().as_nanos() as f64 / keys.len() as f64;
            times.entry(name).or_default().push(time);
        }
    }
    let (insert, overflow) = (median(&times["insert"]), median(&times["overflow"]));
    println!(
        "{:<28} {:<16} {overflow:>8.1} ns   {:.2} of an insert ({insert:.1} ns)",
        "flood at capacity",
        "tollgate",
        overflow / insert
    );
}

/// Sixteen keys a call, against one.
fn many() {
    let keys = keys(MILLION);
    let ours = Ours::new(Mode::Allowed, MILLION);
    for key in &keys {
        black_box(ours.check(key));
    }
    let picks: Vec<String> = uniform(MILLION, MILLION)
        .iter()
        .map(|pick| keys[*pick as usize].clone())
        .collect();
    let mut times = Times::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for key in &picks {
            black_box(ours.check(key));
        }
        times
            .entry("single")
            .or_default()
            .push(start.elapsed().as_nanos() as f64);
        let start = Instant::now();
        for picks in picks.as_chunks::<16>().0 {
            let batch: [Key<'_>; 16] = std::array::from_fn(|index| Key::from(&picks[index]));
            let mut decisions = [Decision::disabled(); 16];
            ours.0.check_many(&batch, &mut decisions);
            let _ = black_box(decisions);
        }
        times
            .entry("many")
            .or_default()
            .push(start.elapsed().as_nanos() as f64);
    }
    let count = picks.len() as f64;
    let (single, many) = (
        median(&times["single"]) / count,
        median(&times["many"]) / count,
    );
    println!(
        "{:<28} {:<16} {many:>8.1} ns   {:.2} of single calls ({single:.1} ns)",
        "check_many, 16 of 1e6",
        "tollgate",
        many / single
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|want| name.contains(want));
    let hot = vec![0_u32; MILLION];
    for threads in [1, 2] {
        for (mode, name) in [(Mode::Allowed, "allowed"), (Mode::Denied, "denied")] {
            let workload = format!("hot {name}, {threads} threads");
            if wants(&workload) {
                run(&workload, mode, threads, &keys(1), &hot);
            }
        }
        for (name, count, picks) in [
            (
                "1e5 uniform",
                MILLION / 10,
                uniform as fn(usize, usize) -> Vec<u32>,
            ),
            ("1e6 zipf", MILLION, zipf),
            ("1e6 uniform", MILLION, uniform),
        ] {
            let workload = format!("{name}, {threads} threads");
            if wants(&workload) {
                run(
                    &workload,
                    Mode::Allowed,
                    threads,
                    &keys(count),
                    &picks(count, MILLION),
                );
            }
        }
    }
    if wants("new") {
        new_keys();
    }
    if wants("flood") {
        overflow();
    }
    if wants("many") {
        many();
    }
}
