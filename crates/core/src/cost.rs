//! How much one request is charged.

use core::fmt;
use core::str::FromStr;

use crate::decimal::{Decimal, SCALE};

/// How much a request is charged, in tokens, to the thousandth.
///
/// Always more than zero. A cost above a quota's limit is legal and is answered *never*.
///
/// ```
/// use tollgate_core::{Cost, CostError};
///
/// assert_eq!(Cost::new(3)?.to_string(), "3");
/// assert_eq!(Cost::try_from(0.25)?.as_thousandths(), 250);
/// assert_eq!("1.5".parse::<Cost>()?.as_thousandths(), 1_500);
/// assert_eq!(Cost::try_from(f64::NAN), Err(CostError::NotFinite));
/// assert_eq!(Cost::new(0), Err(CostError::NotPositive));
/// # Ok::<(), CostError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Cost(u64);

impl Cost {
    /// One token, what a request costs unless it says otherwise.
    pub const ONE: Self = Self(1_000);

    /// The smallest cost, a thousandth of a token.
    pub const MIN: Self = Self(1);

    /// The largest cost that can be told apart, 2^64 - 1 thousandths. Larger than any quota.
    pub const MAX: Self = Self(u64::MAX);

    /// A cost of `tokens` whole tokens, at most [`Cost::MAX`].
    ///
    /// # Errors
    ///
    /// [`CostError::NotPositive`] for zero.
    pub const fn new(tokens: u64) -> Result<Self, CostError> {
        Self::from_thousandths(tokens.saturating_mul(1_000))
    }

    /// A cost of `thousandths` thousandths of a token.
    ///
    /// # Errors
    ///
    /// [`CostError::NotPositive`] for zero.
    pub const fn from_thousandths(thousandths: u64) -> Result<Self, CostError> {
        if thousandths == 0 {
            Err(CostError::NotPositive)
        } else {
            Ok(Self(thousandths))
        }
    }

    /// The cost in thousandths of a token.
    #[must_use]
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::ONE
    }
}

/// Reads the shortest decimal form of the number, rounded up to a thousandth.
///
/// The noise of binary arithmetic does not count as a reason to round up: `0.1 + 0.2` costs 0.3.
/// A finite number above [`Cost::MAX`] becomes [`Cost::MAX`], which no quota admits.
impl TryFrom<f64> for Cost {
    type Error = CostError;

    fn try_from(tokens: f64) -> Result<Self, CostError> {
        if !tokens.is_finite() {
            return Err(CostError::NotFinite);
        }
        if tokens <= 0.0 {
            return Err(CostError::NotPositive);
        }
        let decimal = Decimal::from_f64(tokens).ok_or(CostError::NotANumber)?;
        Ok(Self::round_up(decimal))
    }
}

impl Cost {
    fn round_up(decimal: Decimal) -> Self {
        /// One thousandth, in the units of `Decimal::fraction`.
        const THOUSANDTH: u64 = SCALE / 1_000;
        /// A millionth of a thousandth: what is smaller is the noise of binary arithmetic.
        const NOISE: u64 = THOUSANDTH / 1_000_000;

        let rest = decimal.fraction % THOUSANDTH;
        let thousandths = decimal
            .whole
            .saturating_mul(1_000)
            .saturating_add(decimal.fraction / THOUSANDTH)
            .saturating_add(u64::from(rest > NOISE));
        Self(thousandths.max(1))
    }
}

/// Reads a decimal number of tokens as [`f64::from_str`] does, then rounds up to a thousandth.
impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Self, CostError> {
        match Decimal::parse(text) {
            Some(Decimal {
                whole: 0,
                fraction: 0,
                inexact: false,
            }) => Err(CostError::NotPositive),
            Some(decimal) => Ok(Self::round_up(decimal)),
            None => f64::from_str(text)
                .map_err(|_| CostError::NotANumber)?
                .try_into(),
        }
    }
}

/// Prints the tokens as a decimal number without trailing zeros.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_thousandths(f, self.0)
    }
}

/// Prints `thousandths / 1000` without trailing zeros.
pub(crate) fn write_thousandths(f: &mut fmt::Formatter<'_>, thousandths: u64) -> fmt::Result {
    let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
    match rest {
        0 => write!(f, "{whole}"),
        _ if rest % 100 == 0 => write!(f, "{whole}.{}", rest / 100),
        _ if rest % 10 == 0 => write!(f, "{whole}.{:02}", rest / 10),
        _ => write!(f, "{whole}.{rest:03}"),
    }
}

/// Why a number is not a [`Cost`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CostError {
    /// The text is not a number.
    NotANumber,
    /// The number is NaN or infinite.
    NotFinite,
    /// The number is zero or negative.
    NotPositive,
}

impl fmt::Display for CostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "a cost must be a number of tokens",
            Self::NotFinite => "a cost must be finite",
            Self::NotPositive => "a cost must be greater than 0",
        })
    }
}

impl core::error::Error for CostError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn read(text: &str) -> Result<u64, CostError> {
        text.parse::<Cost>().map(Cost::as_thousandths)
    }

    #[test]
    fn reads_what_a_header_may_say() {
        assert_eq!(read("1"), Ok(1_000));
        assert_eq!(read("2.5"), Ok(2_500));
        assert_eq!(read("1e3"), Ok(1_000_000));
        assert_eq!(read("0.0001"), Ok(1), "rounded up to a thousandth");
        assert_eq!(read("1.0001"), Ok(1_001));
        assert_eq!(read("1e300"), Ok(u64::MAX), "more than any quota holds");
        assert_eq!(read("99999999999999999999"), Ok(u64::MAX));
        assert_eq!(read("1e400"), Err(CostError::NotFinite));
        for text in ["NaN", "inf", "-inf", "Infinity"] {
            assert_eq!(read(text), Err(CostError::NotFinite), "{text}");
        }
        for text in ["0", "0.0", "-0", "-1", "-0.5"] {
            assert_eq!(read(text), Err(CostError::NotPositive), "{text}");
        }
        for text in ["abc", "", " 1", "1 ", "0x10", "1,5", "1_000"] {
            assert_eq!(read(text), Err(CostError::NotANumber), "{text:?}");
        }
    }

    #[test]
    fn binary_noise_is_not_rounded_up() {
        assert_eq!(Cost::try_from(0.1 + 0.2).map(Cost::as_thousandths), Ok(300));
        assert_eq!(Cost::try_from(0.3 - 0.1).map(Cost::as_thousandths), Ok(200));
    }

    #[test]
    fn prints_without_trailing_zeros() {
        for (thousandths, text) in [
            (1, "0.001"),
            (10, "0.01"),
            (100, "0.1"),
            (1_000, "1"),
            (1_250, "1.25"),
        ] {
            assert_eq!(Cost(thousandths).to_string(), text);
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        assert_eq!(
            CostError::NotANumber.to_string(),
            "a cost must be a number of tokens"
        );
        assert_eq!(CostError::NotFinite.to_string(), "a cost must be finite");
        assert_eq!(
            CostError::NotPositive.to_string(),
            "a cost must be greater than 0"
        );
    }
}
