//! Why settings cannot be used.

use std::error::Error;
use std::fmt;

use tollgate_core::{QuotaError, RateError};

use crate::store::BindError;

/// Why the settings of a limiter, a pacer, a cooldown or a drip cannot be used.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// The rate is not one.
    Rate(RateError),
    /// The burst or limit is not one.
    Quota(QuotaError),
    /// The store cannot keep the limit.
    Bind(BindError),
    /// A setting has a value that it cannot have.
    Invalid {
        /// The setting.
        setting: &'static str,
        /// Its value, and what is wrong with it.
        reason: String,
    },
}

impl BuildError {
    pub(crate) fn invalid(setting: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid {
            setting,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(_) => f.write_str("the rate cannot be used"),
            Self::Quota(_) => f.write_str("the burst or limit cannot be used"),
            Self::Bind(_) => f.write_str("the store cannot keep the limit"),
            Self::Invalid { setting, reason } => write!(f, "{setting}: {reason}"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rate(error) => Some(error),
            Self::Quota(error) => Some(error),
            Self::Bind(error) => Some(error),
            Self::Invalid { .. } => None,
        }
    }
}

impl From<RateError> for BuildError {
    fn from(error: RateError) -> Self {
        Self::Rate(error)
    }
}

impl From<QuotaError> for BuildError {
    fn from(error: QuotaError) -> Self {
        Self::Quota(error)
    }
}

impl From<BindError> for BuildError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}
