//! The machine's monotonic clock, read from the processor's time stamp counter.
//!
//! A decision costs tens of nanoseconds, and asking the operating system for the time costs as much
//! again. The counter is cheaper, but a once-calibrated counter drifts (20 parts in a million were
//! measured, two seconds a day), so it is held to the operating system's monotonic clock: about
//! twice a second, the caller that happens to pass by compares the two, and the rate at which the
//! counter is read is adjusted so that the difference is gone half a second later. The time that
//! this clock tells never goes back and never repeats an interval.
//!
//! Where the processor has no such counter, the readings come from the operating system itself.

use std::hint::spin_loop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::Timestamp;

/// Readings are compared with the operating system's clock this often, in nanoseconds.
const INTERVAL: u64 = 500_000_000;

/// Differences larger than this mean that the counter stood still (a suspended machine) rather than
/// drifted; then time jumps forward.
const JUMP: u64 = 10_000_000;

/// Fractional bits of the rate, nanoseconds per count.
const FRACTION_BITS: u32 = 32;

pub(crate) struct SystemClock {
    counter: quanta::Clock,
    /// When the clock was anchored: by the operating system's clock, and in the time of day.
    anchor: Instant,
    epoch: u64,
    /// Nanoseconds per count as the calibration had it, in units of 2^-32.
    nominal: u64,
    /// The line by which counts are read: nanoseconds since the epoch at a count, and nanoseconds
    /// per count in units of 2^-32.
    count: AtomicU64,
    nanos: AtomicU64,
    rate: AtomicU64,
    /// The count at which the line is due to be checked; zero while it is changed. Never the same
    /// twice, so that it also tells one line from another.
    due: AtomicU64,
}

impl SystemClock {
    /// The clock of this process.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<SystemClock> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this module is where the clock is read"
    )]
    fn new() -> Self {
        let counter = quanta::Clock::new();
        let nominal = counter.delta_as_nanos(0, 1 << FRACTION_BITS).max(1);
        let (anchor, count) = (Instant::now(), counter.raw());
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // Half of what a timestamp can say, so that no later addition overflows.
        let epoch = as_nanos(epoch.unwrap_or(Duration::ZERO)).min(u64::MAX / 2);
        Self {
            counter,
            anchor,
            epoch,
            nominal,
            count: AtomicU64::new(count),
            nanos: AtomicU64::new(epoch),
            rate: AtomicU64::new(nominal),
            due: AtomicU64::new(count.saturating_add(counts(INTERVAL, nominal))),
        }
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Timestamp {
        let due = self.due.load(Ordering::Acquire);
        let count = self.count.load(Ordering::Acquire);
        let nanos = self.nanos.load(Ordering::Acquire);
        let rate = self.rate.load(Ordering::Acquire);
        let read = self.counter.raw();
        if read >= due || self.due.load(Ordering::Relaxed) != due {
            return self.now_slowly();
        }
        // Before `due`, some 2^31 counts after `count`, the product stays within 64 bits.
        let elapsed = read.saturating_sub(count).wrapping_mul(rate) >> FRACTION_BITS;
        Timestamp::from_nanos(nanos.wrapping_add(elapsed))
    }

    /// The time when the line is due to be checked, or is being changed.
    #[cold]
    #[inline(never)]
    fn now_slowly(&self) -> Timestamp {
        loop {
            let due = self.due.load(Ordering::Acquire);
            let count = self.count.load(Ordering::Acquire);
            let nanos = self.nanos.load(Ordering::Acquire);
            let rate = self.rate.load(Ordering::Acquire);
            let read = self.counter.raw();
            if due != 0 && self.due.load(Ordering::Relaxed) == due {
                if read >= due {
                    self.adjust(due);
                }
                let elapsed = elapsed(read.saturating_sub(count), rate);
                return Timestamp::from_nanos(nanos.saturating_add(elapsed));
            }
            spin_loop();
        }
    }

    /// Draws a new line from where the old one is now to where the operating system's clock will be
    /// one interval later. Done by one caller; others wait a moment.
    fn adjust(&self, due: u64) {
        let claimed = self
            .due
            .compare_exchange(due, 0, Ordering::AcqRel, Ordering::Relaxed);
        if claimed.is_err() {
            return;
        }
        let count = self.count.load(Ordering::Relaxed);
        let rate = self.rate.load(Ordering::Relaxed);
        let (read, truth) = (
            self.counter.raw(),
            self.epoch + as_nanos(self.anchor.elapsed()),
        );
        let told = self
            .nanos
            .load(Ordering::Relaxed)
            .saturating_add(elapsed(read.saturating_sub(count), rate));
        let line = next_line(told, truth, self.nominal);
        self.count.store(read, Ordering::Release);
        self.nanos.store(line.nanos, Ordering::Release);
        self.rate.store(line.rate, Ordering::Release);
        // A counter that stood still or went back must not repeat a line's name.
        let next = read.saturating_add(counts(INTERVAL, self.nominal));
        self.due
            .store(next.max(due.saturating_add(1)), Ordering::Release);
    }
}

struct Line {
    nanos: u64,
    rate: u64,
}

/// The line from the time `told` so far, where the true time is `truth`.
///
/// The rate leaves the nominal one by at most an eighth, so that time neither stands still nor runs.
fn next_line(told: u64, truth: u64, nominal: u64) -> Line {
    if truth > told.saturating_add(JUMP) {
        return Line {
            nanos: truth,
            rate: nominal,
        };
    }
    let bound = INTERVAL / 8;
    let ahead = told.saturating_sub(truth).min(bound);
    let behind = truth.saturating_sub(told).min(bound);
    let aim = u128::from(INTERVAL - ahead + behind);
    let rate = u128::from(nominal) * aim / u128::from(INTERVAL);
    Line {
        nanos: told,
        rate: u64::try_from(rate).unwrap_or(nominal),
    }
}

#[inline]
fn elapsed(counts: u64, rate: u64) -> u64 {
    let nanos = (u128::from(counts) * u128::from(rate)) >> FRACTION_BITS;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// How many counts `nanos` take.
fn counts(nanos: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(nanos) << FRACTION_BITS) / u128::from(rate.max(1)))
        .unwrap_or(u64::MAX)
}

fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(tollgate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn never_goes_back_and_keeps_to_the_operating_system() {
        let clock = SystemClock::new();
        let mut last = clock.now();
        let end = clock.anchor + Duration::from_millis(1_300);
        while clock.anchor.elapsed() < end.duration_since(clock.anchor) {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        let truth = clock.epoch + as_nanos(clock.anchor.elapsed());
        let off = truth.abs_diff(clock.now().as_nanos());
        assert!(off < 1_000_000, "{off} ns off after two adjustments");
    }

    #[test]
    fn a_line_meets_the_truth_one_interval_later() {
        const NANOSECOND: u64 = 1 << FRACTION_BITS;
        for (told, truth) in [
            (1_000_000, 1_000_000),
            (1_000_900, 1_000_000),
            (1_000_000, 1_000_900),
        ] {
            let line = next_line(told, truth, NANOSECOND);
            assert_eq!(line.nanos, told, "continues");
            let met = line.nanos + elapsed(INTERVAL, line.rate);
            assert!(met.abs_diff(truth + INTERVAL) <= 1, "{told} {truth}: {met}");
        }
    }

    #[test]
    fn a_suspended_counter_jumps_forward_and_a_fast_one_slows_down() {
        let line = next_line(1_000, 3_600_000_000_000, 1 << FRACTION_BITS);
        assert_eq!(
            (line.nanos, line.rate),
            (3_600_000_000_000, 1 << FRACTION_BITS)
        );
        let line = next_line(3_600_000_000_000, 1_000, 1 << FRACTION_BITS);
        assert_eq!(line.nanos, 3_600_000_000_000);
        assert_eq!(line.rate, (1 << FRACTION_BITS) / 8 * 7);
    }
}
