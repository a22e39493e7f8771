//! The numbers of aligned windows, counted out day by day.

use std::sync::OnceLock;

use tollgate_core::Window;

use super::Nanos;

#[derive(Debug)]
pub(super) enum Calendar {
    Every(Nanos),
    /// When each window starts.
    Listed(&'static [Nanos]),
}

impl Calendar {
    pub(super) fn new(window: Window) -> Self {
        match window {
            Window::Length(length) => Self::Every(length.duration().as_nanos()),
            Window::Month => Self::Listed(&starts().0),
            Window::Year => Self::Listed(&starts().1),
            other => panic!("no calendar for {other:?}"),
        }
    }

    /// How many windows had ended by `instant`.
    pub(super) fn window(&self, instant: Nanos) -> u128 {
        match self {
            Self::Every(length) => instant / length,
            Self::Listed(starts) => {
                let begun = starts.partition_point(|start| *start <= instant);
                assert!(begun < starts.len(), "past the end of the list");
                (begun - 1) as u128
            }
        }
    }

    /// When the window number `window` starts.
    pub(super) fn start(&self, window: u128) -> Nanos {
        match self {
            Self::Every(length) => window * length,
            Self::Listed(starts) => starts[usize::try_from(window).expect("listed")],
        }
    }
}

/// The starts of all months and of all years, far beyond the end of `Timestamp`.
fn starts() -> &'static (Vec<Nanos>, Vec<Nanos>) {
    static STARTS: OnceLock<(Vec<Nanos>, Vec<Nanos>)> = OnceLock::new();
    STARTS.get_or_init(|| {
        let (mut months, mut years) = (Vec::new(), Vec::new());
        let mut days: Nanos = 0;
        for year in 1970..20_000 {
            years.push(days * 86_400_000_000_000);
            for month in 1..=12 {
                months.push(days * 86_400_000_000_000);
                days += match month {
                    4 | 6 | 9 | 11 => 30,
                    2 if year % 400 == 0 => 29,
                    2 if year % 100 == 0 => 28,
                    2 if year % 4 == 0 => 29,
                    2 => 28,
                    _ => 31,
                };
            }
        }
        (months, years)
    })
}
