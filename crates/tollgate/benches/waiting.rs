//! Waiting, side by side with other limiters: throughput, fairness and the accuracy of wake-ups.
//!
//! `cargo bench -p tollgate --features tokio --bench waiting`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "prints what it measures"
)]

use std::future::Future;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use tollgate::{Clock, Cost, Limiter, Pacer, Quota, Rate};

type Governor = governor::DefaultDirectRateLimiter;

const FOREVER: Duration = Duration::MAX;

/// One of the limiters that are compared.
#[derive(Clone)]
enum Subject {
    Pacer(Pacer),
    Limiter(Limiter),
    LeakyBucket(Arc<leaky_bucket::RateLimiter>),
    Governor(Arc<Governor>),
}

impl Subject {
    const NAMES: [&str; 4] = [
        "tollgate::Pacer",
        "tollgate::Limiter",
        "leaky-bucket",
        "governor",
    ];

    /// Limiters of one call each `interval`, with a `burst`, all of them full.
    fn all(interval: Duration, burst: u32) -> [Self; 4] {
        let rate = Rate::every(interval).unwrap();
        let builder = Pacer::builder(rate)
            .burst(u64::from(burst))
            .max_waiters(1_000_000);
        let quota = Quota::token_bucket(rate, u64::from(burst)).unwrap();
        // It refills at whole milliseconds.
        let tick = interval.max(Duration::from_millis(1));
        let refill = (tick.as_nanos() / interval.as_nanos()) as usize;
        let leaky = leaky_bucket::RateLimiter::builder()
            .max(refill.max(burst as usize))
            .initial(burst as usize)
            .refill(refill)
            .interval(tick)
            .build();
        let governor = governor::Quota::with_period(interval)
            .unwrap()
            .allow_burst(NonZeroU32::new(burst).unwrap());
        [
            Self::Pacer(builder.build().unwrap()),
            Self::Limiter(Limiter::new(quota)),
            Self::LeakyBucket(Arc::new(leaky)),
            Self::Governor(Arc::new(Governor::direct(governor))),
        ]
    }

    async fn wait(&self) {
        match self {
            Self::Pacer(pacer) => pacer.wait(FOREVER).await.unwrap(),
            Self::Limiter(limiter) => limiter.wait("key", Cost::ONE, FOREVER).await.unwrap(),
            Self::LeakyBucket(bucket) => bucket.acquire_one().await,
            Self::Governor(governor) => governor.until_ready().await,
        }
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        println!("a wait that has its slot at once, one task, ns");
        uncontended();
        println!("\na wait that has its slot at once, four tasks on two threads, ns for each wait");
        contended().await;
        println!("\nbooking a slot ahead and giving it back, 1000 in line before it, ns");
        in_line();
    });
    // On one thread, so that the order of arrival is that of the tasks.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (micros, tasks) in [(2_000, 500), (100, 5_000)] {
            let interval = Duration::from_micros(micros);
            println!("\n{tasks} tasks that wait at once, one slot each {interval:?}");
            println!("  last done / ideal, worst and median over the slot, out of order");
            for (name, subject) in Subject::NAMES.into_iter().zip(Subject::all(interval, 1)) {
                crowd(name, subject, interval, tasks).await;
            }
        }
    });
}

/// Interval and burst with which nobody ever waits.
fn quick() -> [Subject; 4] {
    Subject::all(Duration::from_nanos(10), 1_000_000)
}

fn uncontended() {
    const ROUNDS: u32 = 500_000;
    for (name, subject) in Subject::NAMES.into_iter().zip(quick()) {
        let mut context = Context::from_waker(Waker::noop());
        let best = (0..5).map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let start = Clock::system().now();
            for _ in 0..ROUNDS {
                let ready = pin!(subject.wait()).poll(&mut context).is_ready();
                assert!(black_box(ready));
            }
            Clock::system().now().since(start) / ROUNDS
        });
        println!("  {name:<18} {:>7}", best.min().unwrap().as_nanos());
    }
}

async fn contended() {
    const ROUNDS: u32 = 200_000;
    for (name, subject) in Subject::NAMES.into_iter().zip(quick()) {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let start = Clock::system().now();
            let tasks = [(); 4].map(|()| {
                let subject = subject.clone();
                tokio::spawn(async move {
                    for _ in 0..ROUNDS {
                        subject.wait().await;
                    }
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
            best = best.min(Clock::system().now().since(start) / (4 * ROUNDS));
        }
        println!("  {name:<18} {:>7}", best.as_nanos());
    }
}

fn in_line() {
    const ROUNDS: u32 = 100_000;
    let pacer = Pacer::new(Duration::from_secs(60)).unwrap();
    let held: Vec<_> = (0..1_000)
        .map(|_| pacer.reserve(FOREVER).unwrap())
        .collect();
    let start = Clock::system().now();
    for _ in 0..ROUNDS {
        black_box(pacer.reserve(FOREVER).unwrap()).cancel();
    }
    let each = Clock::system().now().since(start) / ROUNDS;
    println!("  {:<18} {:>7}", "tollgate::Pacer", each.as_nanos());
    drop(held);
}

async fn crowd(name: &str, subject: Subject, interval: Duration, tasks: u32) {
    subject.wait().await;
    let start = Clock::system().now();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    for who in 1..=tasks {
        let (subject, sender) = (subject.clone(), sender.clone());
        tokio::spawn(async move {
            subject.wait().await;
            let _ = sender.send((who, Clock::system().now().since(start)));
        });
    }
    drop(sender);
    let mut done = vec![];
    while let Some(one) = receiver.recv().await {
        done.push(one);
    }
    let last = done.iter().map(|(_, at)| *at).max().unwrap();
    // How much later than its slot by arrival each one was; a later caller's slot does not help.
    let mut over: Vec<_> = done
        .iter()
        .map(|(who, at)| at.saturating_sub(interval * *who))
        .collect();
    over.sort();
    let out_of_order = done.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
    println!(
        "  {name:<18} {:>6.3}  {:>10.1?}  {:>10.1?}  {out_of_order:>5}",
        last.as_secs_f64() / (interval * tasks).as_secs_f64(),
        over.last().unwrap(),
        over[over.len() / 2],
    );
}
