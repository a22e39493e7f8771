//! Each algorithm, by tables that can be followed by hand. They hold for the oracle as well.

use tollgate_core::{Algorithm, Cost, Quota, Timestamp, Window};
use tollgate_testing::{table, table_from};

fn quota(algorithm: Algorithm, text: &str) -> Quota {
    Quota::parse(algorithm, text).unwrap()
}

#[test]
fn token_bucket() {
    table(
        quota(Algorithm::TokenBucket, "2/s burst 3"),
        "
        # Full at first. What is spent flows back at a token each half second.
        0s     check 1    -> allow 2  reset 500ms
        0s     check 2    -> allow 0  reset 1500ms
        0s     check 1    -> deny 0   wait 500ms reset 1500ms
        200ms  peek 1     -> deny 0   wait 300ms reset 1300ms
        500ms  peek 1     -> allow 1  reset 1s
        750ms  check 0.5  -> allow 1  reset 1s
        750ms  check 3    -> deny 1   wait 1s
        750ms  check 3.1  -> never 1
        # Given back, but never above the burst.
        750ms  refund 9   -> allow 3  reset 0s
        9s     check 3    -> allow 0  reset 1500ms
        # Booked ahead: two seconds for a debt of one and a cost of three.
        9s     check 1 within 499ms  -> deny 0   wait 500ms
        9s     check 1 within 500ms  -> allow 0  wait 500ms reset 2s
        9s     check 3 within 9s     -> allow 0  wait 2s reset 3500ms
        9s     refund 4              -> allow 0  reset 1500ms
        # Spent after the fact: what is there is taken, and the rest is not.
        10s    charge 1.5 -> allow 0  reset 1250ms
        10s    charge 1   -> deny 0   wait 500ms reset 1500ms
        ",
    );
}

#[test]
fn token_bucket_with_debt() {
    table_from(
        Timestamp::EPOCH,
        quota(Algorithm::TokenBucket, "1/s burst 10"),
        Some(Cost::new(5).unwrap()),
        "
        0s  charge 12  -> allow 0  reset 12s
        0s  charge 12  -> never 0  reset 15s
        0s  check 1    -> deny 0   wait 6s
        5s  check 1    -> deny 0   wait 1s
        6s  check 1    -> allow 0  reset 10s
        6s  charge 6   -> deny 0   wait 11s reset 15s
        ",
    );
}

#[test]
fn fixed_window() {
    table(
        quota(Algorithm::FixedWindow, "3/10s"),
        "
        4s    check 1    -> allow 2  reset 6s
        9s    check 2    -> allow 0  reset 1s
        9s    check 1    -> deny 0   wait 1s
        # A full limit again at the boundary: six in two seconds.
        10s   check 3    -> allow 0  reset 10s
        10s   check 0.5  -> deny 0   wait 10s
        12s   refund 1.5 -> allow 1  reset 8s
        # A booking is not split: two do not fit into one and a half.
        12s   check 2 within 7s -> deny 1   wait 8s
        12s   check 2 within 8s -> allow 0  wait 8s reset 18s
        12s   check 1    -> deny 0   wait 8s
        20s   check 1    -> allow 0  reset 10s
        20s   check 1    -> deny 0   wait 10s
        # An idle window is not saved up.
        59s   check 3    -> allow 0  reset 1s
        59s   check 4    -> never 0
        ",
    );
}

#[test]
fn fixed_window_with_debt() {
    table_from(
        Timestamp::EPOCH,
        quota(Algorithm::FixedWindow, "3/10s"),
        Some(Cost::new(5).unwrap()),
        "
        # Seven of three: this window, the next, and a third of the one after that.
        1s    charge 7   -> allow 0  reset 29s
        1s    charge 2   -> deny 0   wait 29s reset 29s
        1s    check 1    -> deny 0   wait 19s
        19s   check 1    -> deny 0   wait 1s
        20s   check 1    -> allow 0  reset 10s
        29s   check 1    -> deny 0   wait 1s
        30s   check 3    -> allow 0  reset 10s
        ",
    );
}

#[test]
fn rolling_window() {
    table(
        quota(Algorithm::RollingWindow, "3/10s"),
        "
        1s             check 1  -> allow 2  reset 10s
        4s             check 1  -> allow 1  reset 10s
        9s             check 1  -> allow 0  reset 10s
        9s             check 1  -> deny 0   wait 2s reset 10s
        # The first leaves at exactly 11 s, the second at 14 s.
        10.999999999s  check 1  -> deny 0   wait 1ns
        11s            check 1  -> allow 0  reset 10s
        11s            check 2  -> deny 0   wait 8s
        # A booking is logged at its slot, and later callers come after it.
        11s            check 2 within 8s -> allow 0  wait 8s reset 18s
        14s            check 1  -> deny 0   wait 7s
        19s            check 1  -> deny 0   wait 2s
        21s            check 1  -> allow 0  reset 10s
        # The newest is given back first.
        21s            refund 1 -> allow 1  reset 8s
        29s            check 3  -> allow 0  reset 10s
        ",
    );
}

#[test]
fn sliding_window() {
    table(
        quota(Algorithm::SlidingWindow, "10/10s"),
        "
        5s      check 8    -> allow 2  reset 15s
        # Eight in the last window, of which seven tenths are still covered: 5.6.
        13s     check 4.4  -> allow 0  reset 17s
        13s     check 1    -> deny 0   wait 1.25s
        # 4.6 are left for the last window, that is 5.75 s of it.
        14.25s  check 1    -> allow 0  reset 15.75s
        # Of the last window 0.08 are left, and there are 5.4 in this one. They count for half of
        # that in the middle of the next window, at 25 s.
        19.9s   check 7.3  -> deny 4   wait 5.1s
        19.9s   check 4.5  -> allow 0
        # Two windows later, all is forgotten.
        45s     check 10   -> allow 0  reset 15s
        # Booked ahead, but not into the next window.
        50s     check 2 within 9s  -> allow 0  wait 2s
        52s     check 1    -> deny 0   wait 1s
        52s     check 9 within 1h  -> deny 0   wait 13s
        ",
    );
}

/// C21: a month is a month, in UTC.
#[test]
fn fixed_window_of_a_month() {
    let month = Quota::fixed_window(2, Window::Month).unwrap();
    // 2024-02-28T23:59:59Z: February has one day more.
    table_from(
        Timestamp::from_secs(1_709_164_799),
        month,
        None,
        "
        0s  check 1  -> allow 1  reset 86401s
        1d  check 1  -> allow 0  reset 1s
        1d  check 1  -> deny 0   wait 1s
        # In March already, which has 31 days: less the second that has passed.
        2d  check 1  -> allow 1  reset 2592001s
        ",
    );
}
