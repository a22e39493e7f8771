//! The text form of rates and quotas: `100/s`, `10/250ms`, `1000/day`, `10/s burst 20`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use crate::cost::Cost;
use crate::decimal::Decimal;
use crate::quota::QuotaError;
use crate::rate::RateError;

/// The time that a rate text divides by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Period {
    Nanos(u64),
    Month,
    Year,
}

/// Every unit by its names; the first name of each length is the one that is printed.
const UNITS: [(&str, u64); 26] = [
    ("day", 86_400_000_000_000),
    ("days", 86_400_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("hour", 3_600_000_000_000),
    ("hours", 3_600_000_000_000),
    ("hr", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("mins", 60_000_000_000),
    ("minute", 60_000_000_000),
    ("minutes", 60_000_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("second", 1_000_000_000),
    ("seconds", 1_000_000_000),
    ("ms", 1_000_000),
    ("millisecond", 1_000_000),
    ("milliseconds", 1_000_000),
    ("us", 1_000),
    ("microsecond", 1_000),
    ("microseconds", 1_000),
    ("ns", 1),
    ("nanosecond", 1),
    ("week", 604_800_000_000_000),
    ("weeks", 604_800_000_000_000),
];

/// Reads `count / period`.
pub(crate) fn parse_rate(text: &str) -> Result<(Decimal, Period), TextError> {
    let error = |reason| TextError {
        text: text.to_owned(),
        reason,
    };
    let (count, period) = text.split_once('/').ok_or_else(|| error(Reason::NoSlash))?;
    let count = Decimal::parse(count.trim())
        .ok_or_else(|| error(Reason::Count(count.trim().to_owned())))?;
    let period = parse_period(period.trim()).map_err(error)?;
    Ok((count, period))
}

/// Reads a quota: a rate, then optionally `burst` and a number of tokens.
pub(crate) fn parse_quota(text: &str) -> Result<(Decimal, Period, Option<Cost>), TextError> {
    let (rate, burst) = match text.split_once("burst") {
        Some((rate, burst)) => (rate, Some(burst.trim())),
        None => (text, None),
    };
    let (count, period) = parse_rate(rate).map_err(|error| TextError {
        text: text.to_owned(),
        ..error
    })?;
    let burst = match burst {
        None => None,
        Some(number) => {
            let bad = || TextError {
                text: text.to_owned(),
                reason: Reason::Burst(number.to_owned()),
            };
            Decimal::parse(number).ok_or_else(bad)?;
            Some(number.parse::<Cost>().map_err(|_| bad())?)
        }
    };
    Ok((count, period, burst))
}

fn parse_period(text: &str) -> Result<Period, Reason> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (count, unit) = text.split_at_checked(unit_at).unwrap_or((text, ""));
    let unit = unit.trim_start();
    let count = match count {
        "" => 1,
        digits => digits.parse::<u64>().map_err(|_| Reason::PeriodTooLong)?,
    };
    match unit {
        "m" | "M" => return Err(Reason::AmbiguousM),
        "month" if count == 1 => return Ok(Period::Month),
        "year" if count == 1 => return Ok(Period::Year),
        "month" | "months" | "year" | "years" => return Err(Reason::ManyMonths),
        _ => {}
    }
    let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(Reason::Unit(unit.to_owned()));
    };
    let nanos = count.checked_mul(*nanos).ok_or(Reason::PeriodTooLong)?;
    if nanos == 0 {
        Err(Reason::Rate(RateError::ZeroPeriod))
    } else {
        Ok(Period::Nanos(nanos))
    }
}

/// Prints a length in the largest unit that divides it: `13s`, `250ms`.
pub(crate) struct Span(pub(crate) u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, nanos) in UNITS {
            if self.0.is_multiple_of(nanos) {
                return write!(f, "{}{name}", self.0.checked_div(nanos).unwrap_or(0));
            }
        }
        write!(f, "{}ns", self.0)
    }
}

/// Why a text is not a rate or a quota. Names the text and the part that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TextError {
    text: String,
    reason: Reason,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Reason {
    NoSlash,
    Count(String),
    Unit(String),
    AmbiguousM,
    ManyMonths,
    Calendar,
    PeriodTooLong,
    Burst(String),
    Rate(RateError),
    Quota(QuotaError),
}

impl TextError {
    pub(crate) fn rate(text: &str, error: RateError) -> Self {
        Self {
            text: text.to_owned(),
            reason: Reason::Rate(error),
        }
    }

    pub(crate) fn quota(text: &str, error: QuotaError) -> Self {
        Self {
            text: text.to_owned(),
            reason: Reason::Quota(error),
        }
    }

    pub(crate) fn calendar(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            reason: Reason::Calendar,
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", self.text)?;
        match &self.reason {
            Reason::NoSlash => f.write_str("a rate is written count/period, as in 100/s"),
            Reason::Count(count) => write!(f, "{count:?} is not a number of tokens"),
            Reason::Unit(unit) => write!(
                f,
                "{unit:?} is not a unit of time; use ns, us, ms, s, min, h, day or week, \
                 or month or year for a fixed window"
            ),
            Reason::AmbiguousM => f.write_str("m could be a minute or a month; write min or month"),
            Reason::ManyMonths => {
                f.write_str("a calendar window is exactly one month or one year long")
            }
            Reason::Calendar => {
                f.write_str("months and years differ in length; only a fixed window can use them")
            }
            Reason::PeriodTooLong => f.write_str("a period is at most 584 years"),
            Reason::Burst(burst) => {
                write!(
                    f,
                    "{burst:?} is not a burst; write a number of tokens above 0"
                )
            }
            Reason::Rate(error) => error.fmt(f),
            Reason::Quota(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for TextError {}

#[cfg(test)]
mod tests {
    use crate::Rate;
    use alloc::string::ToString;

    /// C72: one bad part makes the whole text an error, and the error names the part.
    #[test]
    fn c72_bad_texts_are_refused_whole() {
        for (text, needle) in [
            ("10 perr day", "count/period"),
            ("1 per hour; 10 perr day", "count/period"),
            ("1/hour; 10/day", "\"hour; 10/day\" is not a unit"),
            ("5/hoursss", "\"hoursss\" is not a unit"),
            ("5/m", "minute or a month"),
            ("5/M", "minute or a month"),
            ("1/0s", "longer than 0"),
            ("5/-1min", "\"-1min\" is not a unit"),
            ("-5/min", "\"-5\" is not a number"),
            ("0/s", "greater than 0"),
            ("NaN/s", "\"NaN\" is not a number"),
            ("1e3/s", "\"1e3\" is not a number"),
            ("5/S", "\"S\" is not a unit"),
            ("5/", "\"\" is not a unit"),
            ("/s", "\"\" is not a number"),
            ("5/month", "only a fixed window"),
            ("5/2month", "exactly one month"),
            ("5/99999999999999999999s", "584 years"),
            ("5/9999999999999day", "584 years"),
        ] {
            let error = text.parse::<Rate>().expect_err(text).to_string();
            assert!(error.contains(needle), "{text}: {error}");
            assert!(error.starts_with(&alloc::format!("{text:?}")), "{error}");
        }
    }
}
