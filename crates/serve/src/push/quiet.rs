//! [`QuietHours`]: when a device is not to be disturbed, by the clock of its person.
use jiff::{Timestamp, ToSpan, civil::Time, tz::TimeZone};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Hours in which a device is told nothing; a question that still waits then is told at their end
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuietHours {
    /// When they begin: `22:00`
    from: String,
    /// When they end, maybe on the next day: `07:30`
    to: String,
    /// Time zone: `Europe/Berlin`
    zone: String,
}

/// Hours that were read.
struct Hours {
    from: Time,
    to: Time,
    zone: TimeZone,
}

impl QuietHours {
    /// Why they are invalid, as a sentence without its dot; `None` if they are valid.
    pub(super) fn fault(&self) -> Option<String> {
        self.read().err()
    }

    /// The end of the quiet hours that `now` is in; `None` if the device may be notified.
    pub(super) fn end(&self, now: Timestamp) -> Option<Timestamp> {
        let Hours { from, to, zone } = self.read().ok()?;
        let local = now.to_zoned(zone.clone());
        let time = local.time();
        let is_quiet = if from < to { from <= time && time < to } else { from <= time || time < to };
        let day = if time < to { local.date() } else { local.date().saturating_add(1.day()) };
        let end = is_quiet.then(|| day.to_datetime(to).to_zoned(zone).ok().map(|end| end.timestamp()))?;
        // If the clock is put back past the end, the quiet hours end when it is first reached.
        end.filter(|end| *end > now)
    }

    fn read(&self) -> Result<Hours, String> {
        let time = |text: &str| {
            let time: Option<Time> = text.parse().ok();
            time.ok_or_else(|| format!("`{}` is not a time such as `22:00`", text.escape_debug()))
        };
        let (from, to) = (time(&self.from)?, time(&self.to)?);
        if from == to {
            return Err("quiet hours must not end when they begin".to_owned());
        }
        let zone = TimeZone::get(&self.zone)
            .map_err(|_| format!("the server does not know the time zone `{}`", self.zone.escape_debug()))?;
        Ok(Hours { from, to, zone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-98
    #[test]
    fn quiet_hours_are_those_of_the_time_zone() {
        let table = [
            ("22:00", "07:00", "2026-11-27T20:59:00Z", None),
            ("22:00", "07:00", "2026-11-27T21:00:00Z", Some("2026-11-28T06:00:00Z")),
            ("22:00", "07:00", "2026-11-28T05:59:00Z", Some("2026-11-28T06:00:00Z")),
            ("22:00", "07:00", "2026-11-28T06:00:00Z", None),
            ("12:00", "13:30", "2026-11-28T11:15:00Z", Some("2026-11-28T12:30:00Z")),
            ("12:00", "13:30", "2026-11-28T13:00:00Z", None),
            // The clock is put forward at 01:00 UTC: the night is an hour shorter.
            ("22:00", "07:00", "2026-03-28T22:00:00Z", Some("2026-03-29T05:00:00Z")),
            ("22:00", "02:30", "2026-03-28T22:00:00Z", Some("2026-03-29T01:30:00Z")),
            // It is put back at 01:00 UTC: 02:30 comes twice, and the first one counts.
            ("22:00", "02:30", "2026-10-24T21:00:00Z", Some("2026-10-25T00:30:00Z")),
            ("22:00", "02:30", "2026-10-25T01:15:00Z", None),
        ];
        for (from, to, now, expected) in table {
            let hours = QuietHours { from: from.into(), to: to.into(), zone: "Europe/Berlin".into() };
            let found = hours.end(now.parse().unwrap());
            assert_eq!(found, expected.map(|text| text.parse().unwrap()), "{from} to {to} at {now}");
        }
    }

    // H-98
    #[test]
    fn invalid_quiet_hours_are_told() {
        for (from, to, zone, fault) in [
            ("25:00", "07:00", "UTC", Some("`25:00` is not a time such as `22:00`")),
            ("07:00", "07:00", "UTC", Some("quiet hours must not end when they begin")),
            ("22:00", "07:00", "Nowhere", Some("the server does not know the time zone `Nowhere`")),
            ("22:00", "07:00", "UTC", None),
        ] {
            let hours = QuietHours { from: from.into(), to: to.into(), zone: zone.into() };
            assert_eq!(hours.fault().as_deref(), fault, "{from} {to} {zone}");
        }
    }
}
