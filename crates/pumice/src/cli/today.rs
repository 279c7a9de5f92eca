//! Days of the calendar: the one that it is, and one that is given.

use std::time::{SystemTime, UNIX_EPOCH};

/// A day of the Gregorian calendar; month and day count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The year.
    pub year: u16,
    /// The month.
    pub month: u8,
    /// The day of the month.
    pub day: u8,
}

const SECONDS: u64 = 24 * 60 * 60;
const FIRST_YEAR: u16 = 1970;

impl Day {
    /// The day by UTC.
    pub(crate) fn today() -> Day {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Day::after(since.as_secs() / SECONDS)
    }

    /// So many days after the first of 1970.
    fn after(mut days: u64) -> Day {
        let mut year = FIRST_YEAR;
        while days >= length(year) && year < u16::MAX {
            days -= length(year);
            year += 1;
        }
        let mut month = 1;
        while month < 12 && days >= u64::from(of_month(year, month)) {
            days -= u64::from(of_month(year, month));
            month += 1;
        }
        Day { year, month, day: days.min(30) as u8 + 1 }
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn length(year: u16) -> u64 {
    365 + u64::from(is_leap(year))
}

fn of_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A day as `2026-11-30`.
pub(crate) fn day(text: &str) -> Result<Day, String> {
    let wanted = || "a day is wanted, as 2026-11-30".to_owned();
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return Err(wanted()) };
    let number = |text: &str| text.parse::<u16>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let all = (number(year), number(month), number(day));
    let (Some(year), Some(month), Some(day)) = all else { return Err(wanted()) };
    let (month, day) = (u8::try_from(month).map_err(|_| wanted())?, u8::try_from(day).map_err(|_| wanted())?);
    let exists = (1..=12).contains(&month) && (1..=of_month(year, month)).contains(&day);
    exists.then_some(Day { year, month, day }).ok_or_else(|| format!("{text} is in no calendar"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_calendars_do() {
        let known = [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (364, "1970-12-31"),
            (11016, "2000-02-29"),
        ];
        let more =
            [(19782, "2024-02-29"), (20788, "2026-12-01"), (47540, "2100-02-28"), (47541, "2100-03-01")];
        for (days, text) in known.into_iter().chain(more) {
            assert_eq!(Day::after(days), day(text).expect("a day"), "{days}");
        }
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-00-10",
            "2026-1-0",
            "+2026-01-01",
            "2026-01-01-1",
            "x-y-z",
        ] {
            assert!(day(text).is_err(), "{text}");
        }
        assert_eq!(day("2024-2-29"), Ok(Day { year: 2024, month: 2, day: 29 }));
    }
}
