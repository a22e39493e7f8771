//! Exact reading of decimal numbers: `"1.5"`, and an `f64` by its shortest decimal form.

use core::fmt::{self, Write};

/// Digits after the point that are kept; anything smaller only sets [`Decimal::inexact`].
const SCALE_DIGITS: usize = 18;

/// The weight of one unit of the whole part: 10^18.
pub(crate) const SCALE: u64 = 1_000_000_000_000_000_000;

/// A non-negative decimal number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Decimal {
    /// The part before the point; saturated at `u64::MAX`.
    pub(crate) whole: u64,
    /// The part after the point, in units of 10^-18.
    pub(crate) fraction: u64,
    /// Whether digits past the eighteenth were dropped, or the whole part saturated.
    pub(crate) inexact: bool,
}

impl Decimal {
    /// Reads `digits[.digits]`; `None` for anything else, signs and exponents included.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (whole_text, fraction_text) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (text, ""),
        };
        if whole_text.is_empty() {
            return None;
        }
        let mut decimal = Self {
            whole: 0,
            fraction: 0,
            inexact: false,
        };
        for byte in whole_text.bytes() {
            let digit = digit(byte)?;
            let next = decimal
                .whole
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(digit));
            decimal.inexact |= next.is_none();
            decimal.whole = next.unwrap_or(u64::MAX);
        }
        let mut weight = SCALE / 10;
        for (place, byte) in fraction_text.bytes().enumerate() {
            let digit = digit(byte)?;
            if place < SCALE_DIGITS {
                decimal.fraction = decimal
                    .fraction
                    .saturating_add(digit.saturating_mul(weight));
                weight /= 10;
            } else {
                decimal.inexact |= digit != 0;
            }
        }
        Some(decimal)
    }

    /// The shortest decimal that reads back as `value`: `0.1` is one tenth, not the nearest binary
    /// fraction. `None` for negative numbers, infinities and NaN.
    pub(crate) fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() || value.is_sign_negative() {
            return None;
        }
        let mut text = Text {
            bytes: [0; Text::LENGTH],
            len: 0,
        };
        write!(text, "{value}").ok()?;
        Self::parse(text.as_str()?)
    }
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit()
        .then(|| u64::from(byte.wrapping_sub(b'0')))
}

/// Room for the longest `f64` that `Display` prints without an exponent.
struct Text {
    bytes: [u8; Self::LENGTH],
    len: usize,
}

impl Text {
    /// `f64::MIN_POSITIVE` and its neighbours take 2 + 307 + 17 characters, `f64::MAX` takes 309.
    const LENGTH: usize = 352;

    fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.bytes.get(..self.len)?).ok()
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.len.checked_add(part.len()).ok_or(fmt::Error)?;
        self.bytes
            .get_mut(self.len..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(part.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_digits_and_one_point() {
        let read = |text| Decimal::parse(text).map(|d| (d.whole, d.fraction, d.inexact));
        assert_eq!(read("12"), Some((12, 0, false)));
        assert_eq!(read("1.5"), Some((1, SCALE / 2, false)));
        assert_eq!(read("0.0000000000000000001"), Some((0, 0, true)));
        assert_eq!(read("18446744073709551616"), Some((u64::MAX, 0, true)));
        for bad in [
            "", ".", "1.", ".5", "-1", "+1", "1e3", "0x1", "1.2.3", " 1", "NaN", "\u{0661}",
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn floats_are_read_by_their_shortest_decimal() {
        assert_eq!(Decimal::from_f64(0.1).map(|d| d.fraction), Some(SCALE / 10));
        assert_eq!(Decimal::from_f64(1e21).map(|d| d.whole), Some(u64::MAX));
        for longest in [f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            assert!(Decimal::from_f64(longest).is_some(), "{longest}");
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0] {
            assert_eq!(Decimal::from_f64(bad), None, "{bad}");
        }
    }
}
