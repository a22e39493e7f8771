//! The numbers of one limit, checked once.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::cost::{Cost, write_thousandths};
use crate::decimal::{Decimal, SCALE};
use crate::rate::{MAX_TOKENS, Rate};
use crate::text::{self, Period, Span, TextError};
use crate::window::{Window, WindowLength};

/// The algorithms by name.
///
/// | algorithm | choose it when | promise |
/// |---|---|---|
/// | `TokenBucket` | almost always | exact: never more than burst + rate x time |
/// | `FixedWindow` | budgets by the day or the month | exact in each aligned window, up to twice the limit across a boundary |
/// | `RollingWindow` | a hard promise about every trailing window | exact, at the price of one log entry per admitted instant |
/// | `SlidingWindow` | a trailing window at a fixed cost | an estimate: at most the limit in each aligned window, less than twice it in a trailing one |
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Algorithm {
    /// A level that refills continuously up to a burst.
    TokenBucket,
    /// A count per aligned window.
    FixedWindow,
    /// A log of what was admitted in the trailing window.
    RollingWindow,
    /// The count of this window, and a share of the last one that shrinks as this one passes.
    SlidingWindow,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 4] = [
        Self::TokenBucket,
        Self::FixedWindow,
        Self::RollingWindow,
        Self::SlidingWindow,
    ];

    /// The name in configuration and metrics: `token_bucket`, `fixed_window`, ...
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::FixedWindow => "fixed_window",
            Self::RollingWindow => "rolling_window",
            Self::SlidingWindow => "sliding_window",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The numbers of one limit: an algorithm with its rate and burst, or its limit and window.
///
/// A quota cannot be zero and cannot overflow: every value of this type can be enforced exactly.
/// The advertised limit is the number of requests that are admitted from fresh.
///
/// ```
/// use core::time::Duration;
/// use tollgate_core::{Algorithm, Quota, Rate, Window};
///
/// let steady = Quota::token_bucket(Rate::per_second(10)?, 20)?;
/// let daily = Quota::fixed_window(1_000, Window::of(Duration::from_secs(86_400)).unwrap())?;
/// assert_eq!(steady.to_string(), "10/s burst 20");
/// assert_eq!(Quota::parse(Algorithm::FixedWindow, "1000/day")?, daily);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Quota {
    pub(crate) limit: u64,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Kind {
    TokenBucket(Rate),
    FixedWindow(Window),
    RollingWindow(WindowLength),
    SlidingWindow(WindowLength),
}

impl Quota {
    /// A bucket of `burst` tokens that starts full and refills at `rate`.
    ///
    /// # Errors
    ///
    /// [`QuotaError::Zero`] or [`QuotaError::TooLarge`] for a burst outside 1 to 2^36 tokens.
    pub fn token_bucket(rate: Rate, burst: u64) -> Result<Self, QuotaError> {
        Self::new(tokens(burst)?, Kind::TokenBucket(rate))
    }

    /// At most `limit` tokens in each window, aligned to the epoch or the calendar.
    ///
    /// # Errors
    ///
    /// As [`Quota::token_bucket`], for the limit.
    pub fn fixed_window(limit: u64, window: Window) -> Result<Self, QuotaError> {
        Self::new(tokens(limit)?, Kind::FixedWindow(window))
    }

    /// At most `limit` tokens in every trailing `window`.
    ///
    /// # Errors
    ///
    /// As [`Quota::token_bucket`], for the limit; [`QuotaError::ZeroWindow`].
    pub fn rolling_window(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        let window = WindowLength::new(window).ok_or(QuotaError::ZeroWindow)?;
        Self::new(tokens(limit)?, Kind::RollingWindow(window))
    }

    /// About `limit` tokens in every trailing `window`, by two counters.
    ///
    /// # Errors
    ///
    /// As [`Quota::rolling_window`].
    pub fn sliding_window(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        let window = WindowLength::new(window).ok_or(QuotaError::ZeroWindow)?;
        Self::new(tokens(limit)?, Kind::SlidingWindow(window))
    }

    /// The same quota with another burst or limit, which may be a fraction of a token.
    ///
    /// # Errors
    ///
    /// [`QuotaError::TooLarge`] for more than 2^36 tokens.
    pub fn with_limit(self, limit: Cost) -> Result<Self, QuotaError> {
        Self::new(limit.as_thousandths(), self.kind)
    }

    fn new(limit: u64, kind: Kind) -> Result<Self, QuotaError> {
        match limit {
            0 => Err(QuotaError::Zero),
            1..=MAX_LIMIT => Ok(Self { limit, kind }),
            _ => Err(QuotaError::TooLarge {
                tokens: limit / 1_000,
            }),
        }
    }

    /// Reads the numbers of a limit of `algorithm` from a text.
    ///
    /// A token bucket is `10/s burst 20`; without a burst, it is the count of the rate (at least
    /// one). The windows are `1000/day` or `100/2h`, a fixed window also `1000/month` or `/year`.
    ///
    /// # Errors
    ///
    /// A [`TextError`] that names the text and the part that is wrong.
    pub fn parse(algorithm: Algorithm, text: &str) -> Result<Self, TextError> {
        let (count, period, burst) = text::parse_quota(text)?;
        let quota = |result: Result<Self, QuotaError>| {
            result.map_err(|error| TextError::quota(text, error))
        };
        if algorithm == Algorithm::TokenBucket {
            let Period::Nanos(nanos) = period else {
                return Err(TextError::calendar(text));
            };
            let rate =
                Rate::from_decimal(count, nanos).map_err(|error| TextError::rate(text, error))?;
            let burst = match burst {
                Some(burst) => burst.as_thousandths(),
                None => thousandths(count).max(1_000),
            };
            return quota(Self::new(burst, Kind::TokenBucket(rate)));
        }
        if burst.is_some() {
            return quota(Err(QuotaError::BurstOfWindow));
        }
        if count.fraction % (SCALE / 1_000) != 0 || count.inexact {
            return quota(Err(QuotaError::TooFine));
        }
        let kind = match (algorithm, period) {
            (Algorithm::FixedWindow, Period::Month) => Kind::FixedWindow(Window::Month),
            (Algorithm::FixedWindow, Period::Year) => Kind::FixedWindow(Window::Year),
            (_, Period::Month | Period::Year) => return Err(TextError::calendar(text)),
            (_, Period::Nanos(nanos)) => {
                let Some(length) = WindowLength::new(Duration::from_nanos(nanos)) else {
                    return quota(Err(QuotaError::ZeroWindow));
                };
                match algorithm {
                    Algorithm::RollingWindow => Kind::RollingWindow(length),
                    Algorithm::SlidingWindow => Kind::SlidingWindow(length),
                    Algorithm::TokenBucket | Algorithm::FixedWindow => {
                        Kind::FixedWindow(Window::Length(length))
                    }
                }
            }
        };
        quota(Self::new(thousandths(count), kind))
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.kind {
            Kind::TokenBucket(_) => Algorithm::TokenBucket,
            Kind::FixedWindow(_) => Algorithm::FixedWindow,
            Kind::RollingWindow(_) => Algorithm::RollingWindow,
            Kind::SlidingWindow(_) => Algorithm::SlidingWindow,
        }
    }

    /// The burst or the limit in whole tokens, rounded down: what is admitted from fresh.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit / 1_000
    }

    /// The burst or the limit, to the thousandth of a token.
    #[must_use]
    pub const fn limit_thousandths(&self) -> u64 {
        self.limit
    }

    /// The rate of a token bucket; `None` for a window.
    #[must_use]
    pub const fn rate(&self) -> Option<Rate> {
        match self.kind {
            Kind::TokenBucket(rate) => Some(rate),
            _ => None,
        }
    }

    /// The window; `None` for a token bucket.
    #[must_use]
    pub const fn window(&self) -> Option<Window> {
        match self.kind {
            Kind::TokenBucket(_) => None,
            Kind::FixedWindow(window) => Some(window),
            Kind::RollingWindow(length) | Kind::SlidingWindow(length) => {
                Some(Window::Length(length))
            }
        }
    }

    /// The time after which nothing of a spent quota is left: to refill a whole burst, or the
    /// longest window. At most 584 years.
    #[must_use]
    pub fn span(&self) -> Duration {
        match self.kind {
            Kind::TokenBucket(rate) => {
                let per_token = rate.thousandths();
                let time = crate::math::Ratio::new(per_token.denominator(), per_token.numerator());
                Duration::from_nanos(time.ceil_of(self.limit))
            }
            Kind::FixedWindow(window) => window.longest(),
            Kind::RollingWindow(length) | Kind::SlidingWindow(length) => length.duration(),
        }
    }
}

/// Prints the text that [`Quota::parse`] reads back, given the same algorithm.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = match self.kind {
            Kind::TokenBucket(rate) => {
                write!(f, "{rate} burst ")?;
                return write_thousandths(f, self.limit);
            }
            Kind::FixedWindow(window) => window,
            Kind::RollingWindow(length) | Kind::SlidingWindow(length) => Window::Length(length),
        };
        write_thousandths(f, self.limit)?;
        match window {
            Window::Month => f.write_str("/month"),
            Window::Year => f.write_str("/year"),
            Window::Length(length) => match length.as_nanos() {
                86_400_000_000_000 => f.write_str("/day"),
                3_600_000_000_000 => f.write_str("/h"),
                60_000_000_000 => f.write_str("/min"),
                1_000_000_000 => f.write_str("/s"),
                nanos => write!(f, "/{}", Span(nanos)),
            },
        }
    }
}

/// The largest limit, in thousandths.
const MAX_LIMIT: u64 = MAX_TOKENS.saturating_mul(1_000);

fn tokens(count: u64) -> Result<u64, QuotaError> {
    count
        .checked_mul(1_000)
        .ok_or(QuotaError::TooLarge { tokens: count })
}

/// The number in thousandths, rounded down, at most `u64::MAX`.
fn thousandths(decimal: Decimal) -> u64 {
    decimal
        .whole
        .saturating_mul(1_000)
        .saturating_add(decimal.fraction / (SCALE / 1_000))
}

/// Why numbers are not a [`Quota`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum QuotaError {
    /// A burst or limit of nothing.
    Zero,
    /// A burst or limit of more than 2^36 tokens.
    TooLarge {
        /// The tokens asked for.
        tokens: u64,
    },
    /// A window of no time.
    ZeroWindow,
    /// A window with a burst: its limit is its burst.
    BurstOfWindow,
    /// The limit of a window with more digits after the point than thousandths.
    TooFine,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a limit must be greater than 0"),
            Self::TooLarge { tokens } => {
                write!(f, "a limit is at most {MAX_TOKENS} tokens, not {tokens}")
            }
            Self::ZeroWindow => f.write_str("a window must be longer than 0"),
            Self::BurstOfWindow => {
                f.write_str("only a token bucket has a burst; the limit of a window is its burst")
            }
            Self::TooFine => f.write_str("a limit has at most 3 digits after the point"),
        }
    }
}

impl core::error::Error for QuotaError {}

/// Reads the name of an algorithm.
impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or(UnknownAlgorithm)
    }
}

/// A name that no [`Algorithm`] has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an algorithm is token_bucket, fixed_window, rolling_window or sliding_window")
    }
}

impl core::error::Error for UnknownAlgorithm {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn prints_what_it_reads() {
        use Algorithm::{FixedWindow, RollingWindow, SlidingWindow, TokenBucket};
        for (algorithm, text, printed) in [
            (TokenBucket, "10/s burst 20", "10/s burst 20"),
            (TokenBucket, "10/s", "10/s burst 10"),
            (TokenBucket, "0.1/s", "6/min burst 1"),
            (TokenBucket, "10/s burst 2.5", "10/s burst 2.5"),
            (FixedWindow, "1000/day", "1000/day"),
            (FixedWindow, "1000/month", "1000/month"),
            (FixedWindow, "1000/year", "1000/year"),
            (RollingWindow, "100/2h", "100/2h"),
            (SlidingWindow, "100/250ms", "100/250ms"),
            (FixedWindow, "1.5/s", "1.5/s"),
        ] {
            let quota = Quota::parse(algorithm, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(quota.algorithm(), algorithm);
            assert_eq!(quota.to_string(), printed, "{text}");
            assert_eq!(Quota::parse(algorithm, printed), Ok(quota), "{text}");
        }
    }

    #[test]
    fn refuses_what_cannot_be_a_quota() {
        use Algorithm::{FixedWindow, RollingWindow, SlidingWindow, TokenBucket};
        for (algorithm, text, needle) in [
            (TokenBucket, "10/s burst 0", "\"0\" is not a burst"),
            (TokenBucket, "10/s burst", "\"\" is not a burst"),
            (TokenBucket, "10/s burst x", "\"x\" is not a burst"),
            (
                TokenBucket,
                "10/s burst 68719476737",
                "at most 68719476736 tokens",
            ),
            (TokenBucket, "10/month", "only a fixed window"),
            (RollingWindow, "10/month", "only a fixed window"),
            (
                SlidingWindow,
                "10/s burst 5",
                "only a token bucket has a burst",
            ),
            (FixedWindow, "0/s", "greater than 0"),
            (FixedWindow, "0.0001/s", "at most 3 digits"),
        ] {
            let error = Quota::parse(algorithm, text).expect_err(text).to_string();
            assert!(error.contains(needle), "{text}: {error}");
        }
    }

    #[test]
    fn spans() {
        let quota = |text| Quota::parse(Algorithm::TokenBucket, text).map(|quota| quota.span());
        assert_eq!(quota("10/s burst 20"), Ok(Duration::from_secs(2)));
        assert_eq!(quota("3/s burst 1"), Ok(Duration::from_nanos(333_333_334)));
        assert_eq!(
            quota("1/365day burst 68719476736"),
            Ok(Duration::from_nanos(u64::MAX))
        );
    }
}
