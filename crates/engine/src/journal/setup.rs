//! [`SetupReader`]: reads the current agent and model of a session from its growing journal.
use crate::setup::Home;
use haft_core::{Fact, SessionId, SessionSetup, line};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom},
};

/// The position up to which a journal was read, and the setup found so far.
#[derive(Clone, Debug, Default)]
pub struct SetupReader {
    read: u64,
    changed: Option<SessionSetup>,
}

impl SetupReader {
    /// Reads the entries added to the journal of `session` since the last call, and returns the setup that was chosen
    /// last; `None` while it is the one that the session began with. A journal that cannot be read counts as unchanged.
    pub fn read(&mut self, home: &Home, session: &SessionId) -> Option<&SessionSetup> {
        if let Ok(mut journal) = File::open(home.journal(session)) {
            // The last line may be incomplete so far.
            let _unreadable = journal.seek(SeekFrom::Start(self.read)).and_then(|_| self.read_from(journal));
        }
        self.changed.as_ref()
    }

    /// The setup that was chosen last, as far as the journal was read.
    pub fn known(&self) -> Option<&SessionSetup> {
        self.changed.as_ref()
    }

    fn read_from(&mut self, journal: File) -> io::Result<()> {
        let (mut journal, mut line) = (BufReader::with_capacity(1 << 16, journal), Vec::new());
        while journal.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if line::is_one_of(&line, &[SETUP_CHANGED])
                && let Ok(entry) = line::entry(&line)
                && let Fact::SetupChanged { setup, .. } = entry.fact
            {
                self.changed = Some(setup);
            }
            self.read += line.len() as u64;
            line.clear();
        }
        Ok(())
    }
}

const SETUP_CHANGED: &[u8] = br#""type":"setup_changed""#;
