//! Who is charged.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ahash::RandomState;

/// Who is charged: one typed part, or several of them.
///
/// Keys of different kinds or with different parts are never equal: `("a:b", "c")` is not
/// `("a", "b:c")`, and the text `"192.0.2.1"` is not the address. Borrowed, so that a check
/// allocates nothing. `Debug` does not show what a key holds.
///
/// ```
/// use std::net::IpAddr;
/// use tollgate::{Key, Limiter, Part, Quota, Rate};
///
/// let limiter = Limiter::new(Quota::token_bucket(Rate::per_second(1)?, 1)?);
/// assert!(limiter.check("192.0.2.1").is_allowed());
/// assert!(limiter.check("192.0.2.1".parse::<IpAddr>()?).is_allowed());
/// assert!(limiter.check(("tenant", 42)).is_allowed());
/// assert!(limiter.check(&[Part::Text("a"), Part::Bytes(b"b"), Part::Number(3)][..]).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Key<'a>(Parts<'a>);

#[derive(Clone)]
enum Parts<'a> {
    One([Part<'a>; 1]),
    Two([Part<'a>; 2]),
    Three([Part<'a>; 3]),
    Slice(&'a [Part<'a>]),
}

/// One part of a [`Key`].
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Part<'a> {
    /// A text.
    Text(&'a str),
    /// Bytes that need not be a text; never equal to a text.
    Bytes(&'a [u8]),
    /// A number.
    Number(u64),
    /// A client address, as far as it tells clients apart.
    Address(AddressKey),
}

impl Key<'_> {
    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part<'_>] {
        match &self.0 {
            Parts::One(parts) => parts,
            Parts::Two(parts) => parts,
            Parts::Three(parts) => parts,
            Parts::Slice(parts) => parts,
        }
    }
}

/// Two keys are equal when their parts are.
impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Key<'_> {}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text(..)",
            Self::Bytes(_) => "Bytes(..)",
            Self::Number(_) => "Number(..)",
            Self::Address(_) => "Address(..)",
        })
    }
}

impl<'a, P: Into<Part<'a>>> From<P> for Key<'a> {
    #[inline]
    fn from(part: P) -> Self {
        Self(Parts::One([part.into()]))
    }
}

impl<'a, A: Into<Part<'a>>, B: Into<Part<'a>>> From<(A, B)> for Key<'a> {
    #[inline]
    fn from((a, b): (A, B)) -> Self {
        Self(Parts::Two([a.into(), b.into()]))
    }
}

impl<'a, A: Into<Part<'a>>, B: Into<Part<'a>>, C: Into<Part<'a>>> From<(A, B, C)> for Key<'a> {
    #[inline]
    fn from((a, b, c): (A, B, C)) -> Self {
        Self(Parts::Three([a.into(), b.into(), c.into()]))
    }
}

impl<'a> From<&'a [Part<'a>]> for Key<'a> {
    fn from(parts: &'a [Part<'a>]) -> Self {
        Self(Parts::Slice(parts))
    }
}

impl<'a> From<&'a str> for Part<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Part<'a> {
    #[inline]
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Part<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<u64> for Part<'_> {
    #[inline]
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<AddressKey> for Part<'_> {
    #[inline]
    fn from(address: AddressKey) -> Self {
        Self::Address(address)
    }
}

/// The address as [`AddressKey::new`] has it: an IPv6 address counts with its whole /64.
impl From<IpAddr> for Part<'_> {
    #[inline]
    fn from(address: IpAddr) -> Self {
        Self::Address(AddressKey::new(address))
    }
}

/// A client address, as far as it tells clients apart.
///
/// IPv4 counts whole. An IPv6 address counts with all of its network, because a single host is
/// routinely given a /64 to choose from. IPv4 addresses mapped into IPv6 are IPv4, by their bits.
/// NAT64 and 6to4 addresses are not unwrapped.
///
/// ```
/// use tollgate::AddressKey;
///
/// let same: AddressKey = "2001:db8:0:1::1".parse()?;
/// assert_eq!("2001:DB8:0:1:ffff:0:0:2".parse(), Ok(same));
/// assert_eq!(same.to_string(), "2001:db8:0:1::/64");
/// assert_eq!("::ffff:192.0.2.1".parse::<AddressKey>()?.to_string(), "192.0.2.1");
/// # Ok::<(), tollgate::AddressError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AddressKey {
    bits: u128,
    /// The length of an IPv6 network; `None` for IPv4.
    prefix: Option<u8>,
}

impl AddressKey {
    /// The prefix that IPv6 addresses count by unless told otherwise.
    pub const DEFAULT_PREFIX: u8 = 64;

    /// `address`, an IPv6 one with its /64.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self::fold(address, Self::DEFAULT_PREFIX)
    }

    /// `address`, an IPv6 one with its network of `prefix` bits.
    ///
    /// # Errors
    ///
    /// [`AddressError::Prefix`] for a prefix outside 1 to 128.
    pub fn with_prefix(address: IpAddr, prefix: u8) -> Result<Self, AddressError> {
        match prefix {
            1..=128 => Ok(Self::fold(address, prefix)),
            _ => Err(AddressError::Prefix(prefix)),
        }
    }

    /// The address of an IPv4 client, or the first of an IPv6 network.
    #[must_use]
    pub fn address(self) -> IpAddr {
        match self.prefix {
            Some(_) => IpAddr::V6(Ipv6Addr::from_bits(self.bits)),
            None => IpAddr::V4(Ipv4Addr::from_bits(self.bits as u32)),
        }
    }

    fn fold(address: IpAddr, prefix: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self {
                bits: u128::from(v4.to_bits()),
                prefix: None,
            },
            IpAddr::V6(v6) => {
                let host_bits = 128 - u32::from(prefix);
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                Self {
                    bits: v6.to_bits() & mask,
                    prefix: Some(prefix),
                }
            }
        }
    }
}

/// Reads an address without port or brackets, with the default prefix. A zone id is dropped.
impl FromStr for AddressKey {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let address = match text.split_once('%') {
            Some((address, _)) => address.parse::<Ipv6Addr>().map(IpAddr::V6),
            None => text.parse::<IpAddr>(),
        };
        address
            .map(Self::new)
            .map_err(|_| AddressError::NotAnAddress)
    }
}

impl fmt::Display for AddressKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            Some(prefix) => write!(f, "{}/{prefix}", self.address()),
            None => self.address().fmt(f),
        }
    }
}

/// Why something is not an [`AddressKey`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AddressError {
    /// The text is not an IPv4 or IPv6 address.
    NotAnAddress,
    /// The prefix is not between 1 and 128.
    Prefix(u8),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAddress => f.write_str("not an IPv4 or IPv6 address"),
            Self::Prefix(prefix) => {
                write!(
                    f,
                    "an IPv6 prefix is between 1 and 128 bits long, not {prefix}"
                )
            }
        }
    }
}

impl std::error::Error for AddressError {}

/// The secret by which a store hashes keys, so that nobody outside can aim at one of its places.
///
/// Each kind of key has a secret of its own, so that keys of different kinds have nothing to do
/// with each other.
#[derive(Clone)]
pub(crate) struct KeyHasher {
    text: RandomState,
    bytes: RandomState,
    number: RandomState,
    address: RandomState,
    several: RandomState,
}

impl KeyHasher {
    pub(crate) fn new() -> Self {
        Self::with(RandomState::new)
    }

    /// A hasher that hashes alike in every run, for tests and models.
    #[cfg(test)]
    pub(crate) fn fixed() -> Self {
        let mut seed = 0;
        Self::with(|| {
            seed += 1;
            RandomState::with_seed(seed)
        })
    }

    fn with(mut secret: impl FnMut() -> RandomState) -> Self {
        Self {
            text: secret(),
            bytes: secret(),
            number: secret(),
            address: secret(),
            several: secret(),
        }
    }

    /// The 64 bits that stand for `key`; never zero.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &Key<'_>) -> u64 {
        // Parts are copied before they are passed on, so that a key whose kind is known where it is
        // made never has to be put together in memory.
        let hash = match &key.0 {
            Parts::One([part]) => self.hash_part(part),
            Parts::Two(parts) => self.hash_parts(&{ *parts }),
            Parts::Three(parts) => self.hash_parts(&{ *parts }),
            Parts::Slice(parts) => self.hash_parts(parts),
        };
        hash | u64::from(hash == 0)
    }

    #[inline(always)]
    fn hash_part(&self, part: &Part<'_>) -> u64 {
        let (secret, bytes) = match part {
            Part::Text(text) => (&self.text, text.as_bytes()),
            Part::Bytes(bytes) => (&self.bytes, *bytes),
            Part::Number(number) => return self.number.hash_one(number),
            Part::Address(address) => return self.hash_address(*address),
        };
        let mut hasher = secret.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }

    #[inline(never)]
    fn hash_address(&self, address: AddressKey) -> u64 {
        self.address.hash_one(address)
    }

    #[inline(never)]
    /// Parts do not run into one another: each is a hash of its own, and so is how many there are.
    fn hash_parts(&self, parts: &[Part<'_>]) -> u64 {
        if let [part] = parts {
            return self.hash_part(part);
        }
        let mut hasher = self.several.build_hasher();
        hasher.write_usize(parts.len());
        for part in parts {
            hasher.write_u64(self.hash_part(part));
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C27: parts do not run into one another, and kinds of key do not meet.
    #[test]
    fn c27_keys_that_look_alike_are_different() {
        let hasher = KeyHasher::fixed();
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        let [nested, flat] = [[Part::Text("a")], [Part::Text("ab")]];
        let keys: Vec<Key<'_>> = vec![
            ("a:b", "c").into(),
            ("a", "b:c").into(),
            ("aa", "b").into(),
            ("a", "ab").into(),
            ("a", "").into(),
            ("", "a").into(),
            "127.0.0.1".into(),
            address.into(),
            b"127.0.0.1".as_slice().into(),
            0x7f00_0001.into(),
            "".into(),
            b"".as_slice().into(),
            0.into(),
            nested.as_slice().into(),
            flat.as_slice().into(),
            "\u{e9}".into(),
            "e\u{301}".into(),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[..i] {
                assert_ne!(a, b);
                assert_ne!(hasher.hash(a), hasher.hash(b), "{i}");
            }
        }
        assert_eq!(
            hasher.hash(&"a".into()),
            hasher.hash(&nested.as_slice().into())
        );
    }

    /// The address table of the conventions.
    #[test]
    fn addresses_fold_by_their_bits() {
        for (text, at_64, at_56) in [
            ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"),
            ("::ffff:c000:201", "192.0.2.1", "192.0.2.1"),
            (
                "2001:db8:1234:5678::1",
                "2001:db8:1234:5678::/64",
                "2001:db8:1234:5600::/56",
            ),
            ("2001:db8::1.2.3.4", "2001:db8::/64", "2001:db8::/56"),
            ("64:ff9b::c000:201", "64:ff9b::/64", "64:ff9b::/56"),
            (
                "2002:c000:201::1",
                "2002:c000:201::/64",
                "2002:c000:201::/56",
            ),
            ("::1", "::/64", "::/56"),
            ("fe80::1%eth0", "fe80::/64", "fe80::/56"),
        ] {
            let key: AddressKey = text.parse().unwrap();
            assert_eq!(key.to_string(), at_64);
            let address = text.split('%').next().unwrap().parse().unwrap();
            assert_eq!(
                AddressKey::with_prefix(address, 56).unwrap().to_string(),
                at_56
            );
        }
        let whole = AddressKey::with_prefix("2001:db8::1".parse().unwrap(), 128);
        assert_eq!(whole.unwrap().to_string(), "2001:db8::1/128");
        for prefix in [0, 129] {
            let error = AddressKey::with_prefix("::1".parse().unwrap(), prefix).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("an IPv6 prefix is between 1 and 128 bits long, not {prefix}")
            );
        }
        for text in ["", "1.2.3.4:80", "[::1]", "1.2.3.4%eth0", "1.2.3", "host"] {
            assert_eq!(
                text.parse::<AddressKey>(),
                Err(AddressError::NotAnAddress),
                "{text}"
            );
        }
    }

    #[test]
    fn debug_does_not_show_what_a_key_holds() {
        let key = Key::from(("secret", 42));
        assert_eq!(format!("{key:?}"), "[Text(..), Number(..)]");
    }
}
