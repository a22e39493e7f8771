//! The fields of draft-ietf-httpapi-ratelimit-headers, as of its revisions 08 to 11.

use std::io::Write;
use std::time::Duration;

use hyper::header::HeaderValue;

use crate::service::{Answer, Policy};

/// `RateLimit-Policy` of a policy: `"default";q=10;w=100`, one item for each quota.
///
/// `q` is what a quota admits at once and `w` the time in which all of it comes back. A quota that
/// is back in less than a second has no `w`, because the field cannot say it.
pub(crate) fn policy(policy: &Policy) -> HeaderValue {
    let mut text = String::new();
    for (index, quota) in policy.quotas.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let name = item_name(policy, index);
        text.push_str(&format!("{comma}\"{name}\";q={}", quota.limit()));
        if quota.span() >= Duration::from_secs(1) {
            text.push_str(&format!(";w={}", seconds_up(quota.span())));
        }
    }
    // Names are letters, digits and a few marks, so that this is always a field.
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// `RateLimit` of a decision: `"default";r=9;t=10`, of the quota that governs.
///
/// `t` is the wait of a denied request, the same as in `Retry-After`; of an allowed one, the time
/// until the quota is whole again. A request that can never pass has none.
pub(crate) fn ratelimit(answer: &Answer<'_>) -> Option<HeaderValue> {
    let decision = &answer.decision;
    let mut field = Vec::with_capacity(64);
    field.push(b'"');
    field.extend_from_slice(answer.policy.name.as_bytes());
    if answer.policy.quotas.len() > 1 {
        write!(field, "#{}", decision.quota_index() + 1).ok()?;
    }
    let mut number = itoa::Buffer::new();
    field.extend_from_slice(b"\";r=");
    field.extend_from_slice(number.format(decision.remaining()).as_bytes());
    let wait = match decision.is_denied() {
        true => decision.retry_after().map(|wait| seconds_up(wait).max(1)),
        false => Some(seconds_up(decision.reset_after())),
    };
    if let Some(wait) = wait {
        field.extend_from_slice(b";t=");
        field.extend_from_slice(number.format(wait).as_bytes());
    }
    HeaderValue::from_maybe_shared(bytes::Bytes::from(field)).ok()
}

/// Whole seconds, rounded up: a client that waits them waits long enough.
pub(crate) fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

fn item_name(policy: &Policy, index: usize) -> String {
    match policy.quotas.len() {
        1 => policy.name.to_string(),
        _ => format!("{}#{}", policy.name, index + 1),
    }
}
