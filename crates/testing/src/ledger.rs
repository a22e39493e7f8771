//! What was admitted, and whether a quota allows that much.

use tollgate_core::{Algorithm, Ask, Decision, Quota, Timestamp, Verb};

/// What was admitted by a limit, and when its caller could act.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<(u64, u64)>,
    booked: bool,
}

impl Ledger {
    /// Notes what `decision`, made at `now`, admits.
    pub fn note(&mut self, now: Timestamp, ask: Ask, decision: &Decision) {
        let spends = matches!(ask.verb(), Verb::Check | Verb::Charge);
        if spends && decision.is_allowed() {
            let slot = now + decision.act_after();
            self.booked |= slot > now;
            self.entries
                .push((slot.as_nanos(), ask.cost().as_thousandths()));
        }
    }

    /// Whether `quota` promises that no more than this is admitted.
    ///
    /// # Errors
    ///
    /// The interval in which more was admitted, and how much.
    pub fn obeys(&mut self, quota: &Quota) -> Result<(), String> {
        self.entries.sort_unstable();
        let limit = quota.limit_thousandths();
        match quota.algorithm() {
            Algorithm::TokenBucket => self.every_interval(quota),
            Algorithm::RollingWindow => self.trailing_windows(quota, limit),
            Algorithm::FixedWindow => self.aligned_windows(quota),
            Algorithm::SlidingWindow => {
                self.aligned_windows(quota)?;
                // Less than twice the limit: a thousandth is the least that there is.
                self.trailing_windows(quota, limit * 2 - 1)
            }
            other => panic!("no promise of {other}"),
        }
    }

    /// At most `burst + rate x length` in every closed interval from one entry to another. The slot
    /// of a booking has been rounded up, so that the interval may be a nanosecond longer.
    fn every_interval(&self, quota: &Quota) -> Result<(), String> {
        let rate = quota.rate().expect("a token bucket has a rate");
        let (tokens, nanos) = (i128::from(rate.tokens()), rate.period().as_nanos() as i128);
        for (index, (from, _)) in self.entries.iter().enumerate() {
            let mut admitted = 0;
            for (to, cost) in &self.entries[index..] {
                admitted += i128::from(*cost);
                let above = admitted - i128::from(quota.limit_thousandths());
                let length = i128::from(to - from) + i128::from(self.booked);
                if above * nanos > tokens * 1_000 * length {
                    return Err(format!("{admitted} thousandths from {from} to {to}"));
                }
            }
        }
        Ok(())
    }

    /// At most `most` in every window that ends with an entry.
    fn trailing_windows(&self, quota: &Quota, most: u64) -> Result<(), String> {
        let length = quota.span().as_nanos();
        for (end, (to, _)) in self.entries.iter().enumerate() {
            let since = |from: u64| u128::from(to - from) < length;
            let trailing = self.entries[..=end].iter().rev();
            let admitted: u64 = trailing
                .take_while(|(from, _)| since(*from))
                .map(|(_, c)| c)
                .sum();
            if admitted > most {
                return Err(format!("{admitted} thousandths in the window to {to}"));
            }
        }
        Ok(())
    }

    /// At most the limit in every aligned window.
    fn aligned_windows(&self, quota: &Quota) -> Result<(), String> {
        let window = quota.window().expect("not a token bucket");
        let end_of = |at: u64| window.end_of(Timestamp::from_nanos(at));
        for same_window in self
            .entries
            .chunk_by(|(a, _), (b, _)| end_of(*a) == end_of(*b))
        {
            let admitted: u64 = same_window.iter().map(|(_, cost)| cost).sum();
            if admitted > quota.limit_thousandths() {
                let end = end_of(same_window[0].0);
                return Err(format!("{admitted} thousandths in the window to {end}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A promise that cannot be seen broken proves nothing: each is kept exactly, then broken by a
    /// thousandth or by a nanosecond.
    #[test]
    fn a_thousandth_too_much_is_noticed() {
        for (algorithm, text, kept, broken) in [
            (
                Algorithm::TokenBucket,
                "1/s burst 2",
                [(5, 2_000), (1_000_000_005, 1_000)],
                [(5, 2_000), (1_000_000_004, 1_000)],
            ),
            (
                Algorithm::RollingWindow,
                "3/10ns",
                [(5, 2_000), (15, 2_000)],
                [(5, 2_000), (14, 1_001)],
            ),
            (
                Algorithm::FixedWindow,
                "3/10ns",
                [(9, 3_000), (10, 3_000)],
                [(10, 2_000), (19, 1_001)],
            ),
            (
                Algorithm::SlidingWindow,
                "3/10ns",
                [(9, 3_000), (18, 2_999)],
                [(9, 3_000), (18, 3_000)],
            ),
        ] {
            let quota = Quota::parse(algorithm, text).unwrap();
            let obeys = |entries: [(u64, u64); 2]| {
                let mut ledger = Ledger::default();
                ledger.entries.extend(entries);
                ledger.obeys(&quota)
            };
            assert_eq!(obeys(kept), Ok(()), "{algorithm}");
            assert!(obeys(broken).is_err(), "{algorithm}");
        }
    }
}
