//! A day that the caller gives, written as `strftime` does. No clock is read and a time of day is refused.

use super::error::TextError;
use std::fmt;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const LAST_YEAR: u16 = 9999;

/// A day of the Gregorian calendar, of the years 1 to 9999. An earlier day is the smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    // Compared in this order.
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// A day; month and day of the month count from 1.
    ///
    /// # Errors
    /// [`TextError::Date`] for a day that no calendar has.
    pub fn new(year: u16, month: u8, day: u8) -> Result<Date, TextError> {
        let date = Date { year, month, day };
        let exists = (1..=LAST_YEAR).contains(&year)
            && (1..=12).contains(&month)
            && (1..=date.days_in(month)).contains(&u16::from(day));
        if exists { Ok(date) } else { Err(TextError::Date { year, month, day }) }
    }

    /// The day so many days after 1 January 1970, as clocks count.
    ///
    /// # Errors
    /// [`TextError::Date`] for one after the year 9999.
    pub fn after_1970(mut days: u64) -> Result<Date, TextError> {
        let mut date = Date { year: 1970, month: 1, day: 1 };
        while days >= date.days_in_year() {
            days -= date.days_in_year();
            date.year += 1;
            if date.year > LAST_YEAR {
                return Err(TextError::Date { year: date.year, month: 1, day: 1 });
            }
        }
        while days >= u64::from(date.days_in(date.month)) {
            days -= u64::from(date.days_in(date.month));
            date.month += 1;
        }
        date.day += days as u8;
        Ok(date)
    }

    /// The year: 1 to 9999.
    pub fn year(self) -> u16 {
        self.year
    }

    /// The month: 1 to 12.
    pub fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, from 1.
    pub fn day(self) -> u8 {
        self.day
    }

    fn is_leap(self) -> bool {
        self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400))
    }

    fn days_in_year(self) -> u64 {
        365 + u64::from(self.is_leap())
    }

    fn days_in(self, month: u8) -> u16 {
        match month {
            2 => 28 + u16::from(self.is_leap()),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// From 1.
    fn day_of_year(self) -> u16 {
        (1..self.month).map(|month| self.days_in(month)).sum::<u16>() + u16::from(self.day)
    }

    /// 0 is Sunday.
    fn weekday(self) -> usize {
        let years = usize::from(self.year) - 1;
        // 1 January of year 1 was a Monday.
        (years + years / 4 - years / 100 + years / 400 + usize::from(self.day_of_year())) % 7
    }

    /// Writes the date by the directives of `strftime` that ask for a date, in English; names the first that does not.
    pub(super) fn format(self, format: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut rest = format.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let directive = rest.next();
            text += &directive
                .and_then(|d| self.directive(d))
                .ok_or_else(|| format!("%{}", directive.map(String::from).unwrap_or_default()))?;
        }
        Ok(text)
    }

    fn directive(self, directive: char) -> Option<String> {
        let Date { year, month, day } = self;
        let month_name = MONTHS[usize::from(month) - 1];
        Some(match directive {
            'd' => format!("{day:02}"),
            'e' => format!("{day:2}"),
            'm' => format!("{month:02}"),
            'B' => month_name.to_owned(),
            'b' | 'h' => month_name[..3].to_owned(),
            'Y' => year.to_string(),
            'y' => format!("{:02}", year % 100),
            'A' => WEEKDAYS[self.weekday()].to_owned(),
            'a' => WEEKDAYS[self.weekday()][..3].to_owned(),
            'w' => self.weekday().to_string(),
            'j' => format!("{:03}", self.day_of_year()),
            'F' => format!("{year}-{month:02}-{day:02}"),
            'D' => format!("{month:02}/{day:02}/{:02}", year % 100),
            '%' => "%".to_owned(),
            _ => return None,
        })
    }
}

impl fmt::Display for Date {
    /// As ISO 8601 has it: `2026-11-30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn days_have_parts_and_an_order() {
        let date = |y, m, d| Date::new(y, m, d).expect("a day");
        let days =
            [date(987, 6, 5), date(2025, 12, 31), date(2026, 2, 28), date(2026, 11, 3), date(2026, 11, 30)];
        assert!(days.is_sorted_by(|a, b| a < b), "{days:?}");
        assert_eq!((days[4].year(), days[4].month(), days[4].day()), (2026, 11, 30));
        assert_eq!([days[0], days[4]].map(|day| day.to_string()), ["0987-06-05", "2026-11-30"]);
    }

    #[test]
    fn days_are_written_as_python_writes_them() {
        let check = |(y, m, d), expected: &str| {
            let date = Date::new(y, m, d).expect("a day");
            assert_eq!(date.format("%d %b %Y|%A %j|%F|%y%%").as_deref(), Ok(expected));
        };
        check((2024, 7, 26), "26 Jul 2024|Friday 208|2024-07-26|24%");
        check((2000, 2, 29), "29 Feb 2000|Tuesday 060|2000-02-29|00%");
        check((1900, 12, 31), "31 Dec 1900|Monday 365|1900-12-31|00%");
    }

    #[test]
    fn days_are_counted_as_clocks_do() {
        let known = [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (364, (1970, 12, 31)),
            (11016, (2000, 2, 29)),
            (19782, (2024, 2, 29)),
            (20788, (2026, 12, 1)),
            (47540, (2100, 2, 28)),
            (47541, (2100, 3, 1)),
            (2_932_896, (9999, 12, 31)),
        ];
        for (days, (y, m, d)) in known {
            assert_eq!(Date::after_1970(days).ok(), Date::new(y, m, d).ok(), "{days}");
        }
        assert!(Date::after_1970(2_932_897).is_err() && Date::after_1970(u64::MAX).is_err());
    }

    #[test]
    fn what_is_no_day_and_what_asks_for_a_time_is_refused() {
        for (y, m, d) in [(2023, 2, 29), (1900, 2, 29), (2024, 13, 1), (2024, 0, 1), (0, 1, 1), (2024, 4, 31)]
        {
            assert!(Date::new(y, m, d).is_err(), "{y} {m} {d}");
        }
        let date = Date::new(2024, 1, 1).expect("a day");
        assert_eq!(date.format("%d %H:%M"), Err("%H".to_owned()));
        assert_eq!(date.format("100%"), Err("%".to_owned()));
    }
}
