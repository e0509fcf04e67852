//! Jobs that begin by themselves: at intervals, or by a cron pattern.
use crate::failure::Failure;
use croner::Cron;
use haft::engine::Home;
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

/// What begins when: a file of its own in `schedule/` of the home.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) kind: String,
    pub(super) description: String,
    /// The folder to work in.
    pub(super) origin: PathBuf,
    pub(super) rhythm: Rhythm,
    /// When it begins next.
    pub(super) next: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rhythm {
    /// Seconds from one beginning to the next.
    Every(i64),
    /// Five fields: minute, hour, day, month, day of the week; in the person's own time zone.
    Cron(String),
}

impl Rhythm {
    /// From `90s`, `10m`, `2h`, `1d` or what jiff reads as a span.
    pub(super) fn every(text: &str) -> Result<Self, Failure> {
        let bad = |why: String| {
            Failure::usage(format!("cannot read the interval `{text}`: {why}"))
                .hint("e.g. `90s`, `10m`, `2h` or `1d`")
        };
        let span = Span::from_str(text).map_err(|error| bad(error.to_string()))?;
        let from = jiff::civil::date(2026, 1, 1);
        let seconds = span.to_duration(from).map_err(|error| bad(error.to_string()))?.as_secs();
        match seconds {
            ..60 => Err(bad("it is shorter than a minute".into())),
            seconds => Ok(Self::Every(seconds)),
        }
    }

    pub(super) fn cron(pattern: &str) -> Result<Self, Failure> {
        parse(pattern).map(|_| Self::Cron(pattern.to_owned()))
    }

    /// The first time after `now`.
    pub(super) fn after(&self, now: Timestamp) -> Result<Timestamp, Failure> {
        match self {
            Self::Every(seconds) => Ok(now + SignedDuration::from_secs(*seconds)),
            Self::Cron(pattern) => {
                let now: Zoned = now.to_zoned(jiff::tz::TimeZone::system());
                let next = parse(pattern)?.find_next_occurrence(&now, false);
                let never = |error| Failure::usage(format!("`{pattern}` never comes: {error}"));
                Ok(next.map_err(never)?.timestamp())
            }
        }
    }
}

fn parse(pattern: &str) -> Result<Cron, Failure> {
    Cron::from_str(pattern).map_err(|error| {
        Failure::usage(format!("cannot read the pattern `{pattern}`: {error}"))
            .hint("five fields: minute, hour, day, month, day of the week; e.g. `0 9 * * 1-5`")
    })
}

/// Puts a plan down; gives its name.
pub(super) fn add(home: &Home, plan: &Plan) -> Result<String, Failure> {
    let folder = folder(home);
    fs::create_dir_all(&folder)?;
    let name = format!("{}-{}", plan.kind, Timestamp::now().as_millisecond());
    write(&folder.join(format!("{name}.json")), plan)?;
    Ok(name)
}

/// Plans whose time has come; each is put down again for its next time.
pub(super) fn take_due(home: &Home, now: Timestamp) -> Result<Vec<Plan>, Failure> {
    let mut due = Vec::new();
    for (file, plan) in all(home)? {
        if plan.next <= now {
            let next = plan.rhythm.after(now)?;
            write(&file, &Plan { next, ..plan.clone() })?;
            due.push(plan);
        }
    }
    Ok(due)
}

/// Whether there was such a plan; now there is none.
pub(super) fn remove(home: &Home, name: &str) -> Result<bool, Failure> {
    let known = all(home)?.into_iter().find(|(file, _)| name_of(file) == name);
    known.map_or(Ok(false), |(file, _)| Ok(fs::remove_file(file).map(|()| true)?))
}

/// All plans by name.
pub(super) fn plans(home: &Home) -> Result<Vec<(String, Plan)>, Failure> {
    Ok(all(home)?.into_iter().map(|(file, plan)| (name_of(&file), plan)).collect())
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// When the next one begins.
pub(super) fn next(home: &Home) -> Result<Option<Timestamp>, Failure> {
    Ok(all(home)?.into_iter().map(|(_, plan)| plan.next).min())
}

fn all(home: &Home) -> Result<Vec<(PathBuf, Plan)>, Failure> {
    let files = fs::read_dir(folder(home)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files.into_iter().map(|file| Ok((file.clone(), read(&file)?))).collect()
}

fn read(file: &Path) -> Result<Plan, Failure> {
    let failed = |why: String| {
        Failure::failed(format!("cannot read the plan `{}`: {why}", file.display()))
            .hint("remove the file, and add it again")
    };
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
}

/// Whole or not at all.
fn write(file: &Path, plan: &Plan) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(plan).map_err(std::io::Error::from)?;
    let beside = file.with_extension("new");
    fs::write(&beside, text)?;
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
        let after = |rhythm: Result<Rhythm, Failure>| {
            let next = rhythm.and_then(|rhythm| rhythm.after(now)).expect("it can be read");
            next.duration_since(now).as_secs()
        };
        assert_eq!(after(Rhythm::every("10m")), 600);
        assert_eq!(after(Rhythm::every("1d")), 86_400);
        assert_eq!(after(Rhythm::cron("*/5 * * * *")), 300);
        for bad in ["5s", "soon", ""] {
            assert!(Rhythm::every(bad).is_err(), "{bad}");
        }
        assert!(Rhythm::cron("every day").is_err());
    }
}
