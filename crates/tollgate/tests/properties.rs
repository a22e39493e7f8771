//! What holds whatever the numbers: honest waits, and nothing admitted too early or for nothing.

mod common;

use std::collections::VecDeque;
use std::time::Duration;

use tollgate::{Clock, Cost, Limiter, ManualClock, MemoryStore, Quota, Rate, Reservation};

use common::{limiter, secs};

/// A small generator of numbers, alike in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// W-72 and U-11: waiting exactly `retry_after` passes, and a nanosecond less does not.
#[test]
fn w72_waiting_exactly_retry_after_always_passes() {
    let mut random = Random(1);
    let clock = ManualClock::default();
    for _ in 0..100_000 {
        let period = Duration::from_nanos(1 + random.below(10_u64.pow(1 + random.0 as u32 % 12)));
        let rate = Rate::per(1 + random.below(1_000_000), period).unwrap();
        let burst = 1 + random.below(50);
        let store = MemoryStore::builder()
            .clock(Clock::manual(&clock))
            .max_keys(1)
            .build();
        let quota = Quota::token_bucket(rate, burst).unwrap();
        let limiter = Limiter::builder("r").quota(quota).build(&store).unwrap();
        while limiter.check("k").is_allowed() {
            if random.below(4) == 0 {
                clock.advance(Duration::from_nanos(random.below(1_000)));
            }
            // At a very quick rate it may never be empty.
            if random.below(200) == 0 {
                break;
            }
        }
        if let Some(wait) = limiter.peek("k").retry_after() {
            clock.advance(wait - Duration::from_nanos(1));
            assert!(limiter.peek("k").is_denied(), "{quota} {wait:?}");
            clock.advance(Duration::from_nanos(1));
            limiter
                .wait_blocking("k", Cost::ONE, Duration::ZERO)
                .unwrap();
        }
    }
}

/// Callers of various costs come and go; whoever acts, acts at its slot. Over any interval no more
/// is spent than the burst and what flows in. While somebody waits nothing is lost, unless others
/// sit on slots that have come and give them back late.
#[test]
fn acts_keep_to_the_limit_and_no_slot_is_wasted() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let clock = ManualClock::default();
        let (burst, flow) = (1 + random.below(5), 1 + random.below(7));
        let some_dawdle = seed % 2 == 1;
        let limiter = limiter(Rate::per_second(flow).unwrap(), burst, &clock);
        let mut held: VecDeque<(u64, Reservation<'_>)> = VecDeque::new();
        let mut dawdlers: Vec<Reservation<'_>> = vec![];
        let mut acts: Vec<(u64, u64)> = vec![];
        let mut level = Level::full(burst, flow, clock.now().as_nanos());
        for _ in 0..1_500 {
            match random.below(10) {
                0..=3 => {
                    let cost = 1 + random.below(burst);
                    let patience = secs(random.below(40));
                    if let Ok(slot) = limiter.reserve("k", Cost::new(cost).unwrap(), patience) {
                        held.push_back((cost, slot));
                    }
                }
                4 | 5 if !held.is_empty() => {
                    let gone = random.below(held.len() as u64) as usize;
                    held.remove(gone);
                }
                6 if !dawdlers.is_empty() => {
                    let gone = random.below(dawdlers.len() as u64) as usize;
                    drop(dawdlers.swap_remove(gone));
                }
                _ => {}
            }
            // Whose slot has come acts now, in order.
            while held
                .front()
                .is_some_and(|(_, slot)| slot.act_after().is_zero())
            {
                let (cost, slot) = held.pop_front().unwrap();
                if some_dawdle && random.below(8) == 0 {
                    dawdlers.push(slot);
                } else {
                    acts.push((clock.now().as_nanos(), cost));
                    level.spend(clock.now().as_nanos(), cost);
                    slot.commit();
                }
            }
            let waits: Vec<_> = held.iter().map(|(_, slot)| slot.act_after()).collect();
            assert!(waits.is_sorted(), "first come, first served");
            if let (false, Some((cost, slot))) = (some_dawdle, held.front()) {
                let most = level.wait(clock.now().as_nanos(), *cost) + ROUNDING;
                assert!(
                    slot.act_after().as_nanos() as u64 <= most,
                    "a slot is wasted"
                );
            }
            // On to the next slot, or somewhere before it.
            let next = waits.first().copied().unwrap_or(secs(1));
            let step = random.below(1 + next.as_nanos() as u64);
            clock.advance(if random.below(2) == 0 {
                next
            } else {
                Duration::from_nanos(step)
            });
        }
        assert!(acts.len() > 200, "the trace says something");
        conforms(&acts, burst, flow);
    }
}

const TOKEN: u64 = 1_000_000_000;

/// Slots are whole nanoseconds, rounded up, and once more when they are handed forward. It does not
/// add up.
const ROUNDING: u64 = 2;

/// Over every interval, what was spent is at most the burst and what flows in.
fn conforms(acts: &[(u64, u64)], burst: u64, flow: u64) {
    for (first, (start, _)) in acts.iter().enumerate() {
        let mut spent = 0;
        for (end, cost) in &acts[first..] {
            spent += cost * TOKEN;
            let most = burst * TOKEN + (end - start + ROUNDING) * flow;
            assert!(spent <= most, "from act {first}: {spent} of {most}");
        }
    }
}

/// What a bucket holds of which only acts take, in billionths of a token.
struct Level {
    burst: u64,
    flow: u64,
    level: u64,
    at: u64,
}

impl Level {
    fn full(burst: u64, flow: u64, at: u64) -> Self {
        let level = burst * TOKEN;
        Self {
            burst,
            flow,
            level,
            at,
        }
    }

    fn settle(&mut self, now: u64) {
        let flowed = self.level + (now - self.at) * self.flow;
        (self.level, self.at) = (flowed.min(self.burst * TOKEN), now);
    }

    fn spend(&mut self, now: u64, cost: u64) {
        self.settle(now);
        self.level = self.level.saturating_sub(cost * TOKEN);
    }

    fn wait(&mut self, now: u64, cost: u64) -> u64 {
        self.settle(now);
        (cost * TOKEN)
            .saturating_sub(self.level)
            .div_ceil(self.flow)
    }
}
