//! [`Notice`]: the saved result of the last check for a newer version. Checks are a day apart.
use super::{Updates, current};
use haft_process::write_own_file;
use jiff::Timestamp;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// How long a result is valid, in seconds.
const INTERVAL: i64 = 24 * 60 * 60;

/// The file `update.json` in the cache.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notice {
    /// The time of the last check, in seconds since 1970-01-01 UTC.
    asked_at: i64,
    /// The newest version at that time.
    version: Option<String>,
}

impl Updates<'_> {
    /// The newer version that the last daily check found. Reads one small file.
    #[must_use]
    pub fn known(&self) -> Option<String> {
        let version: Version = Notice::read(&self.notice_file()).version?.parse().ok()?;
        (version > current()).then(|| version.to_string())
    }

    /// Asks the index if the last check was a day ago, and saves the result for [`Self::known`]. A failure is saved as
    /// well: the next check is a day later.
    pub async fn check_daily(&self) {
        let (file, now) = (self.notice_file(), Timestamp::now().as_second());
        let last = Notice::read(&file);
        if (0..INTERVAL).contains(&(now - last.asked_at)) {
            return;
        }
        let found = self.check().await;
        let version = found.map_or(last.version, |found| Some(found.to));
        Notice { asked_at: now, version }.write(&file);
    }

    fn notice_file(&self) -> PathBuf {
        self.app.places.cache.join("update.json")
    }
}

impl Notice {
    fn read(file: &Path) -> Self {
        let text = fs::read(file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write(&self, file: &Path) {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let folder = file.parent().unwrap_or(file);
        let _asked_again_next_time = fs::create_dir_all(folder).and_then(|()| write_own_file(file, text));
    }
}
