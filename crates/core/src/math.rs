//! Exact integer arithmetic: greatest common divisors, and products divided without overflow.

/// The greatest common divisor; `gcd(a, 0)` is `a`.
pub(crate) const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while let Some(rest) = a.checked_rem(b) {
        a = b;
        b = rest;
    }
    a
}

/// A fraction by which many numbers are multiplied: `numerator / denominator`, both at least 1.
///
/// Products of up to 63 bits, the usual ones, are divided by multiplying with a reciprocal that is
/// computed once; larger products are divided in 128 bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ratio {
    numerator: u64,
    denominator: u64,
    reciprocal: u64,
    shift: u32,
}

/// Products below this are divided by the reciprocal.
const QUICK: u64 = 1 << 63;

impl Ratio {
    /// `numerator / denominator`; a zero is read as 1, so that no division by zero exists.
    pub(crate) const fn new(numerator: u64, denominator: u64) -> Self {
        let numerator = if numerator == 0 { 1 } else { numerator };
        let denominator = if denominator == 0 { 1 } else { denominator };
        // Let s be the least s with 2^s >= d, and m = ceil(2^(63 + s) / d). For every x < 2^63,
        // x / d = (x * m) >> (63 + s): m exceeds 2^(63 + s) / d by less than 1, hence the product
        // by less than 2^63 in units of 2^-(63 + s), which is 2^-s <= 1/d: too little to reach the
        // next multiple. (Granlund and Montgomery, "Division by invariant integers", theorem 4.2.)
        // m < 2^64, because 2^(63 + s) / d < 2^64 when 2^(s - 1) < d.
        let below = denominator.saturating_sub(1);
        let bits = 64_u32.saturating_sub(below.leading_zeros());
        let (reciprocal, shift) = if bits > 63 {
            // d > 2^63 goes into no product below 2^63.
            (0, 0)
        } else {
            let power = 1_u128.wrapping_shl(bits.saturating_add(63));
            (saturate(power.div_ceil(denominator as u128)), bits)
        };
        Self {
            numerator,
            denominator,
            reciprocal,
            shift,
        }
    }

    pub(crate) const fn numerator(self) -> u64 {
        self.numerator
    }

    pub(crate) const fn denominator(self) -> u64 {
        self.denominator
    }

    /// The largest value whose product is sure to be divided by the reciprocal, however rounded.
    pub(crate) const fn quick_values(self) -> u64 {
        let most = QUICK.saturating_sub(self.denominator);
        match most.checked_div(self.numerator) {
            Some(values) => values,
            None => 0,
        }
    }

    /// `floor(value * numerator / denominator)`, at most `u64::MAX`.
    #[inline]
    pub(crate) const fn floor_of(self, value: u64) -> u64 {
        let product = widening(value, self.numerator);
        if product < QUICK as u128 {
            self.quick_floor_of(value)
        } else {
            saturate(divide(product, self.denominator))
        }
    }

    /// `ceil(value * numerator / denominator)`, at most `u64::MAX`.
    #[inline]
    pub(crate) const fn ceil_of(self, value: u64) -> u64 {
        let rounding = self.denominator.saturating_sub(1);
        let product = widening(value, self.numerator).saturating_add(rounding as u128);
        if product < QUICK as u128 {
            self.quick_ceil_of(value)
        } else {
            saturate(divide(product, self.denominator))
        }
    }

    /// As [`Ratio::floor_of`], for one of the [`Ratio::quick_values`].
    #[inline(always)]
    pub(crate) const fn quick_floor_of(self, value: u64) -> u64 {
        self.quick_divide(value.wrapping_mul(self.numerator))
    }

    /// As [`Ratio::ceil_of`], for one of the [`Ratio::quick_values`].
    #[inline(always)]
    pub(crate) const fn quick_ceil_of(self, value: u64) -> u64 {
        let rounding = self.denominator.wrapping_sub(1);
        self.quick_divide(value.wrapping_mul(self.numerator).wrapping_add(rounding))
    }

    /// `product / denominator` for a product below 2^63.
    #[inline(always)]
    const fn quick_divide(self, product: u64) -> u64 {
        // (x * m) >> (63 + s), as the upper half of 2x * m, shifted by s.
        let upper = widening(product.wrapping_shl(1), self.reciprocal).wrapping_shr(64);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the upper half of 128 bits"
        )]
        let upper = upper as u64;
        upper.wrapping_shr(self.shift)
    }
}

/// `a * b`, which fits because each factor has 64 bits.
#[inline]
pub(crate) const fn widening(a: u64, b: u64) -> u128 {
    (a as u128).wrapping_mul(b as u128)
}

#[cold]
const fn divide(product: u128, denominator: u64) -> u128 {
    match product.checked_div(denominator as u128) {
        Some(quotient) => quotient,
        None => product,
    }
}

/// `value`, at most `u64::MAX`.
pub(crate) const fn saturate(value: u128) -> u64 {
    if value > u64::MAX as u128 {
        return u64::MAX;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "compared on the line above"
    )]
    let value = value as u64;
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gcd_of_edges() {
        assert_eq!(gcd(0, 7), 7);
        assert_eq!(gcd(7, 0), 7);
        assert_eq!(gcd(12, 18), 6);
        assert_eq!(gcd(u64::MAX, u64::MAX), u64::MAX);
    }

    /// Every pairing of the edges of the number range, and a long pseudo-random walk, against
    /// plain division in 128 bits.
    #[test]
    fn agrees_with_long_division() {
        let mut numbers = alloc::vec![
            1,
            2,
            3,
            7,
            10,
            999_983,
            86_400_000_000_000,
            u64::MAX,
            u64::MAX - 1
        ];
        for bit in 1..64 {
            numbers.extend([(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        }
        let check = |n: u64, d: u64, value: u64| {
            let ratio = Ratio::new(n, d);
            let product = u128::from(value) * u128::from(n);
            let (floor, ceil) = (product / u128::from(d), product.div_ceil(u128::from(d)));
            assert_eq!(
                ratio.floor_of(value),
                u64::try_from(floor).unwrap_or(u64::MAX),
                "{value}*{n}/{d}"
            );
            assert_eq!(
                ratio.ceil_of(value),
                u64::try_from(ceil).unwrap_or(u64::MAX),
                "{value}*{n}/{d}"
            );
        };
        for &d in &numbers {
            for &value in &numbers {
                for n in [1, 3, 1_000, 1 << 40, u64::MAX] {
                    check(n, d, value);
                }
            }
        }
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed >> (seed & 63)
        };
        for _ in 0..200_000 {
            check(next().max(1), next().max(1), next());
        }
    }
}
