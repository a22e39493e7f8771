//! The stretches of time that fixed windows count in.

use core::time::Duration;

use crate::time::{Timestamp, nanos};

const DAY: u64 = 86_400_000_000_000;

/// The length of a fixed window, aligned to the Unix epoch or to the calendar in UTC.
///
/// Windows are half-open: the instant at which one ends belongs to the next.
///
/// ```
/// use core::time::Duration;
/// use tollgate_core::{Timestamp, Window};
///
/// let minute = Window::of(Duration::from_secs(60)).unwrap();
/// assert_eq!(minute.end_of(Timestamp::from_secs(59)), Timestamp::from_secs(60));
/// assert_eq!(minute.end_of(Timestamp::from_secs(60)), Timestamp::from_secs(120));
///
/// // 2026-02-15T00:00:00Z belongs to a month that ends on 2026-03-01.
/// let mid_february = Timestamp::from_secs(1_771_113_600);
/// assert_eq!(Window::Month.end_of(mid_february).since(mid_february), Duration::from_secs(1_209_600));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Window {
    /// Windows of one length, the first of which starts at the Unix epoch.
    Length(WindowLength),
    /// Calendar months in UTC.
    Month,
    /// Calendar years in UTC.
    Year,
}

/// A window length, more than zero.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct WindowLength(u64);

impl WindowLength {
    /// The length as a duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Window {
    /// Windows of `length`, from a nanosecond to 584 years; `None` for zero and for more.
    #[must_use]
    pub fn of(length: Duration) -> Option<Self> {
        match u64::try_from(length.as_nanos()) {
            Ok(0) | Err(_) => None,
            Ok(nanos) => Some(Self::Length(WindowLength(nanos))),
        }
    }

    /// The longest that a window of this kind can last.
    #[must_use]
    pub const fn longest(self) -> Duration {
        Duration::from_nanos(match self {
            Self::Length(length) => length.0,
            Self::Month => DAY.saturating_mul(31),
            Self::Year => DAY.saturating_mul(366),
        })
    }

    /// The end of the window that contains `instant`, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn end_of(self, instant: Timestamp) -> Timestamp {
        self.start(self.index(instant).saturating_add(1))
    }

    /// How many windows lie between the epoch and the one that contains `instant`.
    pub(crate) fn index(self, instant: Timestamp) -> u64 {
        let nanos = instant.as_nanos();
        match self {
            Self::Length(length) => nanos.checked_div(length.0).unwrap_or(0),
            Self::Month => {
                let (year, month) = civil(nanos / DAY);
                year.saturating_sub(1970)
                    .saturating_mul(12)
                    .saturating_add(month)
            }
            Self::Year => civil(nanos / DAY).0.saturating_sub(1970),
        }
    }

    /// Where the window number `index` starts, at most [`Timestamp::MAX`].
    pub(crate) fn start(self, index: u64) -> Timestamp {
        Timestamp::from_nanos(match self {
            Self::Length(length) => index.saturating_mul(length.0),
            Self::Month => {
                days_before((index / 12).saturating_add(1970), index % 12).saturating_mul(DAY)
            }
            Self::Year => days_before(index.saturating_add(1970), 0).saturating_mul(DAY),
        })
    }
}

/// The year and the month (0 to 11) of the day number `days` since 1970-01-01, in the proleptic
/// Gregorian calendar. Years are counted from March, so that the leap day ends one.
fn civil(days: u64) -> (u64, u64) {
    const ERA: u64 = 146_097; // days in 400 years
    const EPOCH: u64 = 719_468; // days from 0000-03-01 to 1970-01-01
    let days = days.saturating_add(EPOCH);
    let (era, day) = (days / ERA, days % ERA);
    let year = day
        .saturating_sub(day / 1_460)
        .saturating_add(day / 36_524)
        .saturating_sub(day / 146_096)
        / 365;
    let day_of_year = day.saturating_sub(
        year.saturating_mul(365)
            .saturating_add(year / 4)
            .saturating_sub(year / 100),
    );
    let from_march = day_of_year.saturating_mul(5).saturating_add(2) / 153;
    let year = era.saturating_mul(400).saturating_add(year);
    if from_march < 10 {
        (year, from_march.saturating_add(2))
    } else {
        (year.saturating_add(1), from_march.saturating_sub(10))
    }
}

/// Days from 1970-01-01 to the first day of `month` (0 to 11) of `year`.
fn days_before(year: u64, month: u64) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let past = year.saturating_sub(1);
    let leaps = (past / 4)
        .saturating_sub(past / 100)
        .saturating_add(past / 400);
    // 477 leap days lie before 1970.
    year.saturating_sub(1970)
        .saturating_mul(365)
        .saturating_add(leaps.saturating_sub(477))
        .saturating_add(
            usize::try_from(month)
                .ok()
                .and_then(|m| BEFORE.get(m))
                .copied()
                .unwrap_or(0),
        )
        .saturating_add(u64::from(leap && month > 1))
}

/// A length in nanoseconds that is known to be more than zero.
impl WindowLength {
    pub(crate) const fn as_nanos(self) -> u64 {
        self.0
    }

    pub(crate) fn new(length: Duration) -> Option<Self> {
        match nanos(length) {
            0 => None,
            nanos => Some(Self(nanos)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reset_secs(window: Window, secs: u64) -> u64 {
        let now = Timestamp::from_secs(secs);
        window.end_of(now).since(now).as_secs()
    }

    #[test]
    fn months_follow_the_calendar() {
        // C21: 2026-02-15, and the last second of January, of a leap February and of the year.
        assert_eq!(reset_secs(Window::Month, 1_771_113_600), 1_209_600);
        assert_eq!(reset_secs(Window::Month, 1_769_903_999), 1);
        assert_eq!(reset_secs(Window::Month, 1_709_251_199), 1);
        assert_eq!(reset_secs(Window::Month, 1_798_761_599), 1);
        assert_eq!(reset_secs(Window::Year, 1_798_761_599), 1);
    }

    #[test]
    fn every_day_lies_in_its_own_month() {
        let mut month_ends = 0;
        for day in 0..213_503 {
            let now = Timestamp::from_nanos(day * DAY);
            let (index, end) = (Window::Month.index(now), Window::Month.end_of(now));
            assert!(Window::Month.start(index) <= now && now < end, "day {day}");
            assert!(end.since(Window::Month.start(index)) <= Window::Month.longest());
            assert_eq!(Window::Year.index(now), index / 12, "day {day}");
            month_ends += u64::from(end.since(now) == Duration::from_nanos(DAY));
        }
        assert_eq!(month_ends, 7_014, "584 years and a half");
    }

    #[test]
    fn the_last_windows_end_at_the_end_of_time() {
        let minute = Window::of(Duration::from_secs(60)).map(|w| w.end_of(Timestamp::MAX));
        assert_eq!(minute, Some(Timestamp::MAX));
        assert_eq!(Window::Month.end_of(Timestamp::MAX), Timestamp::MAX);
        assert_eq!(Window::Year.end_of(Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn lengths_are_more_than_zero_and_fit() {
        assert_eq!(Window::of(Duration::ZERO), None);
        assert_eq!(Window::of(Duration::MAX), None);
        assert!(Window::of(Duration::from_nanos(1)).is_some());
    }
}
