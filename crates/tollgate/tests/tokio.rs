//! Waiting on the tokio runtime: exact on its paused clock, and once for real.

#![cfg(feature = "tokio")]

use std::time::Duration;

use tollgate::{Clock, Pacer, Rate, Timestamp, WaitError};

const FOREVER: Duration = Duration::MAX;

fn pacer(rate: Rate) -> Pacer {
    let clock = Clock::tokio(Timestamp::from_secs(1_000));
    Pacer::builder(rate).clock(clock).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn s4_12_wakes_at_the_instant_of_each_slot_on_a_paused_clock() {
    let pacer = pacer(Rate::per_second(5).unwrap());
    pacer.wait(FOREVER).await.unwrap();
    let start = tokio::time::Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for who in 1..=100_u64 {
        let pacer = pacer.clone();
        callers.spawn(async move {
            pacer.wait(FOREVER).await.unwrap();
            (Duration::from_millis(who * 200), start.elapsed())
        });
    }
    while let Some(done) = callers.join_next().await {
        let (expected, at) = done.unwrap();
        assert_eq!(at, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn s4_16_a_caller_that_hangs_up_hands_its_slot_forward() {
    let pacer = pacer(Rate::per_second(1).unwrap());
    pacer.wait(FOREVER).await.unwrap();
    let start = tokio::time::Instant::now();
    let mut callers: Vec<_> = (0..1_010)
        .map(|_| {
            let pacer = pacer.clone();
            tokio::spawn(async move {
                pacer.wait(FOREVER).await.unwrap();
                start.elapsed()
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    for caller in callers.drain(..1_000) {
        caller.abort();
    }
    for (slot, caller) in (1..).zip(callers) {
        assert_eq!(caller.await.unwrap(), Duration::from_secs(slot));
    }
}

#[tokio::test]
async fn s4_11_waits_for_real() {
    let pacer = Pacer::new(Duration::from_millis(20)).unwrap();
    let start = Clock::system().now();
    for _ in 0..5 {
        pacer.wait(Duration::from_secs(8)).await.unwrap();
    }
    let taken = Clock::system().now().since(start);
    assert!(taken >= Duration::from_millis(80), "{taken:?}");
    assert!(taken < Duration::from_secs(8), "{taken:?}");
}

#[test]
fn without_a_runtime_there_is_nobody_to_wake_a_caller() {
    let pacer = Pacer::new(Duration::from_secs(1)).unwrap();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut first = Box::pin(pacer.wait(FOREVER));
    assert!(first.as_mut().poll(&mut context).is_ready());
    let mut second = Box::pin(pacer.wait(FOREVER));
    let result = second.as_mut().poll(&mut context);
    assert_eq!(result, std::task::Poll::Ready(Err(WaitError::NoTimer)));
    assert_eq!(pacer.waiting(), 0);
}
