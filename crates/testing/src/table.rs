//! By-hand tables: what is asked when, and what must be answered, one line each.
//!
//! ```
//! use tollgate_core::{Algorithm, Quota};
//! use tollgate_testing::table;
//!
//! let quota = Quota::parse(Algorithm::TokenBucket, "1/s burst 1").unwrap();
//! table(quota, "
//!     0s     check 1            -> allow 0 reset 1s
//!     600ms  peek 1             -> deny 0 wait 400ms
//!     600ms  check 1 within 1s  -> allow 0 wait 400ms
//!     600ms  check 2            -> never 0
//! ");
//! ```
//!
//! A line is the time since the start, a verb with its cost and perhaps a patience, and after the
//! arrow the outcome with what remains. The wait must be given unless it is zero; the time to
//! reset is only looked at where it is given. `#` starts a comment.

use std::time::Duration;

use tollgate_core::{Ask, Cost, Outcome, Quota, Timestamp};

use crate::oracle::{Answer, Oracle};
use crate::subject::{CoreKey, Subject};

/// Runs `rows` on the core and on the oracle, from the epoch on, without debt.
///
/// # Panics
///
/// If an answer is not the one in the table, with the line.
pub fn table(quota: Quota, rows: &str) {
    table_from(Timestamp::EPOCH, quota, None, rows);
}

/// Runs `rows` on the core and on the oracle, for a limit with `debt`, from `start` on.
///
/// # Panics
///
/// As [`table`].
pub fn table_from(start: Timestamp, quota: Quota, debt: Option<Cost>, rows: &str) {
    let mut oracle = Oracle::new(quota, debt);
    rows_on("the oracle", start, rows, |now, ask| oracle.ask(now, ask));
    table_on("the core", start, rows, &mut CoreKey::new(quota, debt));
}

/// Runs `rows` on `subject`, called `name`, from `start` on.
///
/// # Panics
///
/// As [`table`].
pub fn table_on(name: &str, start: Timestamp, rows: &str, subject: &mut impl Subject) {
    rows_on(name, start, rows, |now, ask| {
        Answer::of(&subject.ask(now, ask))
    });
}

fn rows_on(
    name: &str,
    start: Timestamp,
    rows: &str,
    mut answer: impl FnMut(Timestamp, Ask) -> Answer,
) {
    for line in rows.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let row = Row::parse(line).unwrap_or_else(|| panic!("not a row: {line}"));
        let seen = answer(start + row.at, row.ask);
        let wanted = Answer {
            reset: row.reset.unwrap_or(seen.reset),
            ..row.wanted
        };
        assert_eq!(seen, wanted, "{name}: {line}");
    }
}

struct Row {
    at: Duration,
    ask: Ask,
    wanted: Answer,
    reset: Option<u128>,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let (question, answer) = line.split_once("->")?;
        let question: Vec<&str> = question.split_whitespace().collect();
        let (&[at, verb, cost], patience) = question.split_first_chunk::<3>()?;
        let cost: Cost = cost.parse().ok()?;
        let ask = match verb {
            "check" => Ask::check(cost),
            "peek" => Ask::peek(cost),
            "refund" => Ask::refund(cost),
            "charge" => Ask::charge(cost),
            _ => return None,
        };
        let ask = match *patience {
            [] => ask,
            ["within", patience] => ask.within(duration(patience)?),
            _ => return None,
        };
        let answer: Vec<&str> = answer.split_whitespace().collect();
        let (&[outcome, remaining], times) = answer.split_first_chunk::<2>()?;
        let mut row = Self {
            at: duration(at)?,
            ask,
            wanted: Answer {
                outcome: match outcome {
                    "allow" => Outcome::Allow,
                    "deny" => Outcome::Deny,
                    "never" => Outcome::Never,
                    _ => return None,
                },
                remaining: remaining.parse().ok()?,
                wait: 0,
                reset: 0,
            },
            reset: None,
        };
        for time in times.chunks(2) {
            match *time {
                ["wait", time] => row.wanted.wait = duration(time)?.as_nanos(),
                ["reset", time] => row.reset = Some(duration(time)?.as_nanos()),
                _ => return None,
            }
        }
        Some(row)
    }
}

/// Reads `600ms`, `59.999999999s`, `25d`.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let unit: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut nanos = whole.parse::<u64>().ok()? * unit;
    let mut weight = unit;
    for digit in fraction.chars() {
        weight /= 10;
        nanos += u64::from(digit.to_digit(10)?) * weight;
    }
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use tollgate_core::Algorithm;

    use super::*;

    #[test]
    fn reads_times_to_the_nanosecond() {
        assert_eq!(
            duration("59.999999999s"),
            Some(Duration::from_nanos(59_999_999_999))
        );
        assert_eq!(duration("0.5ms"), Some(Duration::from_micros(500)));
        assert_eq!(duration("2d"), Some(Duration::from_secs(172_800)));
        assert_eq!(duration("2"), None);
        assert_eq!(duration("2m"), None);
    }

    /// A helper that cannot fail proves nothing.
    #[test]
    fn wrong_tables_fail() {
        for wrong in [
            "0s check 1 -> allow 1",
            "0s check 1 -> deny 0 wait 1s",
            "0s check 1 -> allow 0 wait 1ns",
            "0s check 1 -> allow 0 reset 999ms",
            "0s check 2 -> deny 1 wait 1s",
            "0s check 1 -> perhaps 0",
            "0s check 1 => allow 0",
        ] {
            let quota = Quota::parse(Algorithm::TokenBucket, "1/s burst 1").unwrap();
            assert!(catch_unwind(|| table(quota, wrong)).is_err(), "{wrong}");
        }
    }
}
