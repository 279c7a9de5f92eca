//! A day that the caller gives, written as `strftime` does. No clock is read and a time of day is refused.

use super::error::TextError;

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

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Refuses a day that no calendar has.
    pub fn new(year: u16, month: u8, day: u8) -> Result<Date, TextError> {
        let date = Date { year, month, day };
        let exists = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=date.days_in(month)).contains(&u16::from(day));
        if exists { Ok(date) } else { Err(TextError::Date { year, month, day }) }
    }

    fn days_in(self, month: u8) -> u16 {
        let leap =
            self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match month {
            2 => 28 + u16::from(leap),
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
    pub fn format(self, format: &str) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::Date;

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
