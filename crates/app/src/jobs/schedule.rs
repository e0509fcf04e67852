//! [`Schedule`]: a job that begins by itself at intervals or by a cron pattern.
use crate::{Failure, untrusted_file};
use croner::Cron;
use haft_engine::Home;
use haft_process::{own_folder, write_own_file};
use jiff::{SignedDuration, Span, Timestamp, Zoned, tz::TimeZone};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::{self, File},
    io::ErrorKind,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    str::FromStr,
};

/// A job that begins at certain times. Each schedule is a file in `schedule/` of the home.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// The agent that does the job.
    pub kind: String,
    /// The task.
    pub description: String,
    /// The directory to work in.
    pub origin: PathBuf,
    /// How often it begins.
    #[serde(rename = "rhythm")]
    pub recurrence: Recurrence,
    /// The time zone of a cron pattern: an IANA name, or a `TZ` value of POSIX. `None` is the zone of the process that
    /// evaluates the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The next time at which it begins.
    pub next: Timestamp,
}

/// The schedules of a home, sorted by name.
#[derive(Debug, Default)]
pub struct List {
    /// Schedules that could be read, with their names.
    pub readable: Vec<(String, Schedule)>,
    /// The others, each with the error.
    pub unreadable: Vec<(String, Failure)>,
}

/// How often a job begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    /// Interval in seconds.
    Every(i64),
    /// Five fields: minute, hour, day, month, day of the week.
    Cron(String),
}

impl fmt::Display for Schedule {
    /// Writes how often it begins, with the time zone.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.as_ref().map(|zone| format!(" ({zone})")).unwrap_or_default();
        write!(out, "{}{zone}", self.recurrence)
    }
}

impl fmt::Display for Recurrence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(seconds) => write!(out, "every {:#}", SignedDuration::from_secs(*seconds)),
            Self::Cron(pattern) => write!(out, "at `{pattern}`"),
        }
    }
}

impl Recurrence {
    /// Reads an interval: `90s`, `10m`, `2h`, `1d` or any other span that the crate `jiff` parses.
    ///
    /// # Errors
    ///
    /// If it is invalid or shorter than a minute.
    pub fn every(text: &str) -> Result<Self, Failure> {
        let bad = |why: String| {
            Failure::usage(format!("cannot read the interval `{text}`: {why}"))
                .hint("e.g. `90s`, `10m`, `2h` or `1d`")
        };
        let span = Span::from_str(text).map_err(|error| bad(error.to_string()))?;
        let from = jiff::civil::date(2026, 1, 1);
        let seconds = span.to_duration(from).map_err(|error| bad(error.to_string()))?.as_secs();
        match seconds {
            ..60 => Err(bad("shorter than one minute".into())),
            seconds => Ok(Self::Every(seconds)),
        }
    }

    /// Reads a cron pattern.
    ///
    /// # Errors
    ///
    /// If it is invalid.
    pub fn cron(pattern: &str) -> Result<Self, Failure> {
        // The library would read a sixth field as seconds. A name such as `@daily` is a single word.
        match pattern.split_whitespace().count() {
            fields if fields != 5 && !pattern.trim().starts_with('@') => {
                Err(unreadable(pattern, &format!("it has {fields} fields")))
            }
            _ => parse(pattern).map(|_| Self::Cron(pattern.to_owned())),
        }
    }

    /// The first time after `now`. `zone`: the time zone of a cron pattern, if known.
    ///
    /// # Errors
    ///
    /// If the pattern matches no date, or there is no such zone.
    pub fn after(&self, now: Timestamp, zone: Option<&str>) -> Result<Timestamp, Failure> {
        match self {
            Self::Every(seconds) => Ok(now + SignedDuration::from_secs(*seconds)),
            Self::Cron(pattern) => {
                let zone = zone.map_or_else(|| Ok(TimeZone::system()), zone_named)?;
                let now: Zoned = now.to_zoned(zone);
                let next = parse(pattern)?.find_next_occurrence(&now, false);
                let never = |_| {
                    Failure::usage(format!("`{pattern}` never matches a date"))
                        .hint("a day and a month that never meet, such as `0 0 31 2 *`?")
                };
                Ok(next.map_err(never)?.timestamp())
            }
        }
    }

    /// The time zone of this process, which is saved with a cron pattern. `tz`: the value of the variable `TZ`.
    ///
    /// # Errors
    ///
    /// If `tz` names no zone.
    pub fn zone(&self, tz: Option<&str>) -> Result<Option<String>, Failure> {
        match (self, tz) {
            (Self::Every(_), _) => Ok(None),
            (Self::Cron(_), Some(tz)) => {
                let name = tz.trim_start_matches(':');
                zone_named(name).map(|_| Some(name.to_owned()))
            }
            (Self::Cron(_), None) => Ok(TimeZone::system().iana_name().map(str::to_owned)),
        }
    }
}

fn zone_named(name: &str) -> Result<TimeZone, Failure> {
    TimeZone::get(name).or_else(|_| TimeZone::posix(name)).map_err(|_| {
        Failure::usage(format!("there is no time zone `{}`", name.escape_debug()))
            .hint("set TZ to a name such as `Europe/Berlin` or `UTC`")
    })
}

fn parse(pattern: &str) -> Result<Cron, Failure> {
    Cron::from_str(pattern).map_err(|error| match pattern.trim().starts_with('@') {
        true => unreadable(pattern, "there is no such name"),
        false => unreadable(pattern, &error.to_string()),
    })
}

fn unreadable(pattern: &str, why: &str) -> Failure {
    Failure::usage(format!("cannot read the pattern `{pattern}`: {why}"))
        .hint("five fields: minute, hour, day, month, day of the week; e.g. `0 9 * * 1-5`; or a name: `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`")
}

/// Saves a schedule; returns its name.
///
/// # Errors
///
/// If its file cannot be written.
pub fn add(home: &Home, schedule: &Schedule) -> Result<String, Failure> {
    let _alone = locked(home)?;
    let name = format!("{}-{}", schedule.kind, Timestamp::now().as_millisecond());
    write(&file_of(home, &name), schedule)?;
    Ok(name)
}

/// Takes the earliest due schedule for which `wanted` holds, and saves it with its next time. Only the process that
/// takes a schedule begins the job, even if several processes look at the same time.
pub(super) fn take_due(
    home: &Home,
    now: Timestamp,
    wanted: impl Fn(&Schedule) -> bool,
) -> Result<Option<Schedule>, Failure> {
    let is_due = |schedule: &Schedule| schedule.next <= now && wanted(schedule);
    // Does not take the lock if there is nothing to do.
    if !list(home).readable.iter().any(|(_, schedule)| is_due(schedule)) {
        return Ok(None);
    }
    let _alone = locked(home)?;
    let due = list(home).readable.into_iter().filter(|(_, schedule)| is_due(schedule));
    let due = due.min_by_key(|(_, schedule)| schedule.next);
    let Some((name, schedule)) = due else { return Ok(None) };
    let next = schedule.recurrence.after(now, schedule.zone.as_deref())?;
    write(&file_of(home, &name), &Schedule { next, ..schedule.clone() })?;
    Ok(Some(schedule))
}

/// The lock; while it is held, no other process changes schedules.
fn locked(home: &Home) -> Result<File, Failure> {
    own_folder(&folder(home))?;
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(home.0.join("schedule.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Removes the schedule; returns whether it existed.
///
/// # Errors
///
/// If its file cannot be removed.
pub fn remove(home: &Home, name: &str) -> Result<bool, Failure> {
    if !folder(home).exists() {
        return Ok(false);
    }
    let _alone = locked(home)?;
    let known = list(home).readable.into_iter().find(|(known, _)| known == name);
    known.map_or(Ok(false), |(name, _)| Ok(fs::remove_file(file_of(home, &name)).map(|()| true)?))
}

/// All schedules by name.
#[must_use]
pub fn list(home: &Home) -> List {
    let mut list = List::default();
    for file in files(home) {
        match read(&file) {
            Ok(schedule) => list.readable.extend(schedule.map(|schedule| (name_of(&file), schedule))),
            Err(failure) => list.unreadable.push((name_of(&file), failure)),
        }
    }
    list
}

/// The schedule of this name, or the only one whose name begins with it.
///
/// # Errors
///
/// If the file of this name cannot be read.
pub fn find(home: &Home, name: &str) -> Result<Option<(String, Schedule)>, Failure> {
    let List { readable: mut list, unreadable } = list(home);
    if let Some((_, failure)) = unreadable.into_iter().find(|(known, _)| known == name) {
        return Err(failure);
    }
    if let Some(place) = list.iter().position(|(known, _)| known == name) {
        return Ok(Some(list.swap_remove(place)));
    }
    list.retain(|(known, _)| !name.is_empty() && known.starts_with(name));
    Ok(if list.len() == 1 { list.pop() } else { None })
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// When the next schedule is due.
pub(super) fn next(home: &Home) -> Option<Timestamp> {
    list(home).readable.into_iter().map(|(_, schedule)| schedule.next).min()
}

fn file_of(home: &Home, name: &str) -> PathBuf {
    folder(home).join(format!("{name}.json"))
}

fn files(home: &Home) -> Vec<PathBuf> {
    let files = fs::read_dir(folder(home)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

/// Reads a schedule; `None` if it was removed meanwhile.
fn read(file: &Path) -> Result<Option<Schedule>, Failure> {
    let failed = |why: String| {
        Failure::failed(format!("cannot read the scheduled job `{}`: {why}", file.display()))
            .hint("delete the file, and add the job again")
    };
    let text = match untrusted_file::read(file, None) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| failed(error.to_string()))?,
    };
    serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string()))
}

/// Writes the file atomically.
fn write(file: &Path, schedule: &Schedule) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(schedule).map_err(std::io::Error::from)?;
    let beside = file.with_extension("new");
    write_own_file(&beside, text)?;
    Ok(fs::rename(beside, file)?)
}

fn folder(home: &Home) -> PathBuf {
    home.0.join("schedule")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rhythms_say_when_it_begins_next() {
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().expect("a time");
        let after = |recurrence: Result<Recurrence, Failure>| {
            let next = recurrence.and_then(|recurrence| recurrence.after(now, None)).expect("it can be read");
            next.duration_since(now).as_secs()
        };
        assert_eq!(after(Recurrence::every("10m")), 600);
        assert_eq!(after(Recurrence::every("1d")), 86_400);
        assert_eq!(after(Recurrence::cron("*/5 * * * *")), 300);
        for bad in ["5s", "soon", ""] {
            assert!(Recurrence::every(bad).is_err(), "{bad}");
        }
        for bad in ["every day", "0 9 * *", "0 9 * * 1 2"] {
            assert!(Recurrence::cron(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_pattern_is_about_the_time_zone_that_it_was_saved_with() {
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().expect("a time");
        let daily = Recurrence::cron("0 9 * * *").expect("a pattern");
        let table = [
            (Some("America/New_York"), "2026-11-22T14:00:00Z"),
            (Some(":UTC"), "2026-11-23T09:00:00Z"),
            (Some("EST5EDT"), "2026-11-22T14:00:00Z"),
            (Some("<+03>-3"), "2026-11-23T06:00:00Z"),
        ];
        for (tz, expected) in table {
            let zone = daily.zone(tz).expect("a zone");
            let next = daily.after(now, zone.as_deref()).expect("a date");
            assert_eq!(next.to_string(), expected, "{tz:?}");
        }
        assert!(daily.zone(Some("Nonsense/Zone")).is_err_and(|failure| failure.message.contains("Nonsense")));
        let never = Recurrence::cron("0 0 31 2 *").and_then(|never| never.after(now, Some("UTC")));
        assert!(never.is_err_and(|failure| failure.message.contains("never matches")));
    }

    #[test]
    fn a_plan_that_is_due_begins_once_however_many_look() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home(folder.path().to_owned());
        let now: Timestamp = "2026-11-22T10:00:00Z".parse().expect("a time");
        assert!(take_due(&home, now, |_| true).is_ok_and(|due| due.is_none()));
        let schedule = |description: &str, next| Schedule {
            kind: "builder".into(),
            description: description.into(),
            origin: "/".into(),
            recurrence: Recurrence::Every(600),
            zone: None,
            next,
        };
        let due: Vec<_> =
            (0..8).map(|age| schedule(&age.to_string(), now - SignedDuration::from_secs(age))).collect();
        for (number, schedule) in due.iter().enumerate() {
            fs::create_dir_all(super::folder(&home)).expect("a folder");
            write(&super::folder(&home).join(format!("{number}.json")), schedule).expect("a plan");
        }
        let taken = || {
            let taken = std::iter::from_fn(|| take_due(&home, now, |_| true).expect("plans"));
            taken.map(|schedule| schedule.description).collect::<Vec<_>>()
        };
        let mut all = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4).map(|_| scope.spawn(taken)).collect();
            takers.into_iter().flat_map(|taker| taker.join().expect("it ends")).collect::<Vec<_>>()
        });
        all.sort();
        assert_eq!(all, ["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert!(list(&home).readable.iter().all(|(_, schedule)| schedule.next > now));
    }
}
