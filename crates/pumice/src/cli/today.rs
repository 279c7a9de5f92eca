//! The day that chat templates are told: the one that it is, or one that is given.

use super::CommandError;
use pumice_models::Date;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS: u64 = 24 * 60 * 60;

/// The day by UTC.
pub(crate) fn today() -> Result<Date, CommandError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date::after_1970(since.as_secs() / SECONDS).map_err(|e| CommandError::Usage(format!("the clock: {e}")))
}

/// A day as `2026-11-30`.
pub(crate) fn day(text: &str) -> Result<Date, String> {
    let wanted = || "a day is wanted, as 2026-11-30".to_owned();
    let number = |text: &str| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| digits).ok_or_else(wanted)
    };
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return Err(wanted()) };
    let small = |text: &str| number(text).and_then(|n| u8::try_from(n).map_err(|_| wanted()));
    Date::new(number(year)?, small(month)?, small(day)?).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn what_is_no_day_is_refused() {
        let wrong = [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-00-10",
            "2026-1-0",
            "0-1-1",
            "10000-01-01",
            "+2026-01-01",
            "2026-01-01-1",
            "2026-257-01",
            "x-y-z",
        ];
        for text in wrong {
            assert!(day(text).is_err(), "{text}");
        }
        let said = day("10000-01-01").expect_err("too late");
        assert!(said.contains("year 1 to 9999"), "{said}");
        assert_eq!(day("2024-2-29").ok(), pumice_models::Date::new(2024, 2, 29).ok());
    }
}
