//! Tokens per time, as an exact fraction.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::decimal::{Decimal, SCALE};
use crate::math::{Ratio, gcd, saturate};
use crate::text::{self, Period, TextError};

/// The most tokens that one rate or one limit can name: 2^36, about 69 billion.
pub(crate) const MAX_TOKENS: u64 = 1 << 36;

/// Tokens per time, kept as an exact fraction: one third of a token per second is one third.
///
/// One name never means two things: `per_second(4)` is four tokens each second, and
/// `every(duration)` is one token each `duration`.
///
/// ```
/// use core::time::Duration;
/// use tollgate_core::Rate;
///
/// assert_eq!(Rate::per_second(4)?, Rate::every(Duration::from_millis(250))?);
/// assert_eq!(Rate::per(7, Duration::from_secs(13))?.to_string(), "7/13s");
/// assert_eq!("1000/day".parse::<Rate>().unwrap(), Rate::per_day(1000)?);
/// # Ok::<(), tollgate_core::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Rate {
    /// Invariant: at least 1, at most `MAX_TOKENS`, and coprime with `nanos`.
    tokens: u64,
    /// Invariant: at least 1.
    nanos: u64,
}

impl Rate {
    /// `tokens` each second.
    ///
    /// # Errors
    ///
    /// [`RateError::Zero`] for no tokens, [`RateError::TooManyTokens`] for more than 2^36.
    pub const fn per_second(tokens: u64) -> Result<Self, RateError> {
        Self::new(tokens, 1_000_000_000)
    }

    /// `tokens` each minute.
    ///
    /// # Errors
    ///
    /// As [`Rate::per_second`].
    pub const fn per_minute(tokens: u64) -> Result<Self, RateError> {
        Self::new(tokens, 60_000_000_000)
    }

    /// `tokens` each hour.
    ///
    /// # Errors
    ///
    /// As [`Rate::per_second`].
    pub const fn per_hour(tokens: u64) -> Result<Self, RateError> {
        Self::new(tokens, 3_600_000_000_000)
    }

    /// `tokens` each day of 24 hours.
    ///
    /// # Errors
    ///
    /// As [`Rate::per_second`].
    pub const fn per_day(tokens: u64) -> Result<Self, RateError> {
        Self::new(tokens, 86_400_000_000_000)
    }

    /// `tokens` each `period`.
    ///
    /// # Errors
    ///
    /// As [`Rate::per_second`]; [`RateError::ZeroPeriod`] and [`RateError::PeriodTooLong`] for a
    /// period of zero or of more than 584 years.
    pub fn per(tokens: u64, period: Duration) -> Result<Self, RateError> {
        match u64::try_from(period.as_nanos()) {
            Ok(nanos) => Self::new(tokens, nanos),
            Err(_) => Err(RateError::PeriodTooLong),
        }
    }

    /// One token each `interval`.
    ///
    /// # Errors
    ///
    /// As [`Rate::per`].
    pub fn every(interval: Duration) -> Result<Self, RateError> {
        Self::per(1, interval)
    }

    /// `tokens` each second, read by the shortest decimal form of the number: `0.1` is one token in
    /// ten seconds, exactly.
    ///
    /// # Errors
    ///
    /// [`RateError::NotANumber`] for NaN, infinite and negative numbers, [`RateError::Zero`] for
    /// zero, [`RateError::TooFine`] for a number with more than 9 digits after the point.
    pub fn try_per_second(tokens: f64) -> Result<Self, RateError> {
        let decimal = Decimal::from_f64(tokens).ok_or(RateError::NotANumber)?;
        Self::from_decimal(decimal, 1_000_000_000)
    }

    const fn new(tokens: u64, nanos: u64) -> Result<Self, RateError> {
        if tokens == 0 {
            return Err(RateError::Zero);
        }
        if nanos == 0 {
            return Err(RateError::ZeroPeriod);
        }
        let divisor = gcd(tokens, nanos);
        let (Some(tokens), Some(nanos)) = (tokens.checked_div(divisor), nanos.checked_div(divisor))
        else {
            return Err(RateError::Zero);
        };
        if tokens > MAX_TOKENS {
            return Err(RateError::TooManyTokens);
        }
        Ok(Self { tokens, nanos })
    }

    /// `decimal` tokens each `nanos`, exactly.
    pub(crate) fn from_decimal(decimal: Decimal, nanos: u64) -> Result<Self, RateError> {
        /// One billionth, the finest fraction of a token that a rate may name.
        const BILLIONTH: u64 = SCALE / 1_000_000_000;
        if decimal.whole > MAX_TOKENS {
            return Err(RateError::TooManyTokens);
        }
        if decimal.inexact || !decimal.fraction.is_multiple_of(BILLIONTH) {
            return Err(RateError::TooFine);
        }
        let billionths = u128::from(decimal.whole)
            .saturating_mul(1_000_000_000)
            .saturating_add(u128::from(decimal.fraction / BILLIONTH));
        // The tokens are billionths / 10^9; reduced before the period is multiplied.
        let divisor = gcd(saturate(billionths % 1_000_000_000), 1_000_000_000);
        let reduce = |number: u128| number.checked_div(u128::from(divisor)).unwrap_or(number);
        let count = u64::try_from(reduce(billionths)).map_err(|_| RateError::TooManyTokens)?;
        let nanos = nanos
            .checked_mul(saturate(reduce(1_000_000_000)))
            .ok_or(RateError::PeriodTooLong)?;
        Self::new(count, nanos)
    }

    /// The tokens of the reduced fraction: `tokens()` each [`Rate::period`].
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.tokens
    }

    /// The period of the reduced fraction: [`Rate::tokens`] each `period()`.
    #[must_use]
    pub const fn period(self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// What flows in `time`, in thousandths of a token, rounded down; at most `u64::MAX`.
    #[must_use]
    pub fn thousandths_in(self, time: Duration) -> u64 {
        self.thousandths().floor_of(crate::time::nanos(time))
    }

    /// The time in which `thousandths` of a token flow, rounded down; at most 584 years.
    #[must_use]
    pub fn time_for(self, thousandths: u64) -> Duration {
        let rate = self.thousandths();
        let time = Ratio::new(rate.denominator(), rate.numerator());
        Duration::from_nanos(time.floor_of(thousandths))
    }

    /// Thousandths of a token per nanosecond.
    pub(crate) const fn thousandths(self) -> Ratio {
        let tokens = self.tokens.saturating_mul(1_000);
        let divisor = gcd(tokens, self.nanos);
        match (tokens.checked_div(divisor), self.nanos.checked_div(divisor)) {
            (Some(tokens), Some(nanos)) => Ratio::new(tokens, nanos),
            _ => Ratio::new(1, 1),
        }
    }
}

/// Reads `100/s`, `5/min`, `1.5/s`, `10/250ms`, `1000/day`. The months and years of the calendar
/// have no fixed length and so no rate; `m` could be a minute or a month and is refused.
impl FromStr for Rate {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (count, period) = text::parse_rate(text)?;
        match period {
            Period::Nanos(nanos) => {
                Self::from_decimal(count, nanos).map_err(|error| TextError::rate(text, error))
            }
            Period::Month | Period::Year => Err(TextError::calendar(text)),
        }
    }
}

/// Prints a text that reads back as the same rate.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [
            (1_000_000_000, "s"),
            (60_000_000_000, "min"),
            (3_600_000_000_000, "h"),
            (86_400_000_000_000, "day"),
        ] {
            let tokens = u128::from(self.tokens).saturating_mul(unit);
            let nanos = u128::from(self.nanos);
            // A count above the largest that a rate may name could not be read back.
            if let (Some(0), Some(count)) = (tokens.checked_rem(nanos), tokens.checked_div(nanos))
                && count <= u128::from(MAX_TOKENS)
            {
                return write!(f, "{count}/{name}");
            }
        }
        write!(f, "{}/{}", self.tokens, text::Span(self.nanos))
    }
}

/// Why numbers are not a [`Rate`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RateError {
    /// No tokens: a limit that never refills has to be asked for in another way.
    Zero,
    /// NaN, infinite or negative.
    NotANumber,
    /// More than 2^36 tokens in the reduced fraction.
    TooManyTokens,
    /// More digits after the point than billionths.
    TooFine,
    /// A period of zero.
    ZeroPeriod,
    /// A period of more than 584 years.
    PeriodTooLong,
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a rate must be greater than 0"),
            Self::NotANumber => f.write_str("a rate must be a finite, positive number"),
            Self::TooManyTokens => {
                write!(
                    f,
                    "a rate is at most {MAX_TOKENS} tokens in its reduced period"
                )
            }
            Self::TooFine => f.write_str("a rate has at most 9 digits after the point"),
            Self::ZeroPeriod => f.write_str("the period of a rate must be longer than 0"),
            Self::PeriodTooLong => f.write_str("the period of a rate is at most 584 years"),
        }
    }
}

impl core::error::Error for RateError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn prints_what_it_reads() {
        for (text, printed) in [
            ("100/s", "100/s"),
            ("100/sec", "100/s"),
            ("5/min", "5/min"),
            ("60/min", "1/s"),
            ("1.5/s", "90/min"),
            ("10/250ms", "40/s"),
            ("1000/day", "1000/day"),
            ("10/13s", "1/1300ms"),
            ("7/13s", "7/13s"),
            ("1/7 ns", "1/7ns"),
            (" 5 / 1min ", "5/min"),
            ("1/7day", "1/7day"),
            ("0.001/h", "1/1000h"),
        ] {
            let rate: Rate = text
                .parse()
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(rate.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<Rate>().as_ref(), Ok(&rate), "{text}");
        }
    }

    #[test]
    fn bounds() {
        assert_eq!(Rate::per_second(0), Err(RateError::Zero));
        assert_eq!(Rate::per(1, Duration::ZERO), Err(RateError::ZeroPeriod));
        assert_eq!(Rate::per(1, Duration::MAX), Err(RateError::PeriodTooLong));
        assert!(Rate::per_second(MAX_TOKENS.saturating_add(1)).is_err());
        assert!(Rate::per_second(1_000_000_000).is_ok());
        assert!(Rate::per(1, Duration::from_secs(365 * 86_400)).is_ok());
        for (float, error) in [
            (0.0, RateError::Zero),
            (-0.0, RateError::NotANumber),
            (-1.0, RateError::NotANumber),
            (f64::NAN, RateError::NotANumber),
            (f64::INFINITY, RateError::NotANumber),
            (1e300, RateError::TooManyTokens),
            (1e-10, RateError::TooFine),
        ] {
            assert_eq!(Rate::try_per_second(float), Err(error), "{float}");
        }
        assert_eq!(
            Rate::try_per_second(0.1),
            Rate::every(Duration::from_secs(10))
        );
        assert_eq!(RateError::Zero.to_string(), "a rate must be greater than 0");
        assert_eq!(
            RateError::TooManyTokens.to_string(),
            "a rate is at most 68719476736 tokens in its reduced period"
        );
    }
}
