//! [`Step`]: changes one file, link or folder from `before` to `after`. The content is prepared under a temporary name
//! beside it, put in place in one atomic step, and reverted if the step replaced something other than `before`.
//!
//! The replaced content is never lost: it is under its own name or under the temporary name beside it until the step is
//! dropped. A file that becomes a folder is exchanged with an empty folder, and stays beside it until the folder is
//! complete. A folder that becomes a file is exchanged with the file once the folder is empty.
use crate::{
    attributes,
    blobs::Blobs,
    place::{CreatedDirs, Place, State},
    temp_names,
};
use haft_core::{Change, FileKind, FileState};
use rustix::{
    fs::{RenameFlags, Stat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
};

/// A change that is about to be made. Dropping it removes temporary files.
pub(crate) struct Step<'a> {
    pub(crate) change: &'a Change,
    place: Place,
    /// The temporary name beside the file.
    beside: OsString,
    holds: TempState,
    /// The content to put in place, if it is a file or a folder. Locked for as long as it is open.
    content: Option<File>,
    /// The inode number of the content to put in place.
    own: Option<u64>,
    /// The `stat` data of the file when it was compared.
    old: Option<Stat>,
    /// Folders that were created for it.
    made: CreatedDirs,
    is_done: bool,
}

/// The content under the temporary name beside the file.
#[derive(Clone, Copy, PartialEq)]
enum TempState {
    Nothing,
    /// The new content, or, once that is in place, the content of another process that it replaced.
    Ours,
    /// The content before the change, which was removed from its place and is recorded.
    Before,
    /// Content of another process that could not be put back.
    Theirs,
}

/// The result of [`Step::commit`].
pub(crate) enum Committed {
    Done,
    /// The file already had the state after the change.
    Found,
    /// The file has another state than `before`, or the path leads elsewhere by now.
    Left,
}

/// Maximum attempts to restore content of another process, which may replace the file repeatedly meanwhile.
const MAX_TRIES: usize = 1_000;

impl<'a> Step<'a> {
    /// Writes the new content beside the file. `old`: the current file, whose owner and attributes are kept.
    pub(crate) fn prepare(
        blobs: &Blobs,
        change: &'a Change,
        place: Place,
        made: CreatedDirs,
        old: Option<&File>,
    ) -> io::Result<Self> {
        let mut step = Self::empty(blobs, change, place, made)?;
        step.old = old.map(rustix::fs::fstat).transpose()?;
        if let Some(after) = &change.after {
            step.write(blobs, after, old)?;
        }
        Ok(step)
    }

    fn empty(blobs: &Blobs, change: &'a Change, place: Place, made: CreatedDirs) -> io::Result<Self> {
        let (beside, holds, content) = match &change.after {
            Some(link) if link.kind() == FileKind::Link => {
                let target = blobs.content(&link.hash)?;
                (temp_names::create_link(change, &place, &target)?, TempState::Ours, None)
            }
            Some(state) => {
                let (name, file) = match state.kind() {
                    FileKind::Folder => temp_names::create_folder(change, &place)?,
                    _ => temp_names::create(change, &place)?,
                };
                (name, TempState::Ours, Some(file))
            }
            None => (temp_names::free(change, &place)?, TempState::Nothing, None),
        };
        let own = change.after.as_ref().and_then(|_| place.inode_of(&beside));
        Ok(Self { change, place, beside, holds, content, own, old: None, made, is_done: false })
    }

    /// Continues the step of a killed process: the file is under the temporary name, and an empty folder in its place,
    /// or nothing if the file system cannot exchange them. `None` if there is no such step, or if that process is
    /// alive.
    pub(crate) fn adopt(change: &'a Change, place: Place) -> io::Result<Option<Self>> {
        let Some(beside) = temp_names::find_before(change, &place)? else { return Ok(None) };
        if place.inode_of(&place.name).is_none() {
            place.make_folder(&place.name)?;
        }
        let Some(folder) = temp_names::hold_folder(&place, &place.name)? else { return Ok(None) };
        let (own, made) = (place.inode_of(&place.name), CreatedDirs::default());
        let (holds, content) = (TempState::Before, Some(folder));
        Ok(Some(Self { change, place, beside, holds, content, own, old: None, made, is_done: true }))
    }

    fn makes_folder(&self) -> bool {
        self.change.after.as_ref().is_some_and(|after| after.kind() == FileKind::Folder)
    }

    fn write(&mut self, blobs: &Blobs, after: &FileState, old: Option<&File>) -> io::Result<()> {
        if self.makes_folder() {
            return Ok(());
        }
        let Some(file) = &mut self.content else { return Ok(()) };
        blobs.copy_to(&after.hash, file)?;
        match (old, &after.attributes) {
            (Some(old), recorded) => attributes::carry_over(old, file, recorded.as_ref())?,
            (None, Some(recorded)) => attributes::set(file, recorded)?,
            (None, None) => {}
        }
        file.set_permissions(fs::Permissions::from_mode(after.permissions()))
    }

    /// The content to put in place.
    pub(crate) fn content(&self) -> Option<&File> {
        self.content.as_ref()
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn has_made_folders(&self) -> bool {
        !self.made.is_empty()
    }

    /// Removes temporary files of killed processes. If the first temporary name was taken, another process may have
    /// been killed during the same change.
    pub(crate) fn tidy(&self, blobs: &Blobs) {
        if self.is_done && temp_names::names(self.change).next().as_ref() != Some(&self.beside) {
            temp_names::tidy(blobs, self.change, &self.place);
        }
    }

    /// Puts the content in place.
    pub(crate) fn commit(&mut self) -> io::Result<Committed> {
        if !self.place.is_reached() {
            return Ok(Committed::Left);
        }
        self.is_done = match (&self.change.before, &self.change.after) {
            (Some(_), Some(_)) => self.exchange()?,
            (None, Some(_)) => self.create()?,
            (_, None) => self.remove()?,
        };
        if self.is_done && !self.place.is_reached() {
            self.take_back()?;
        }
        Ok(match self.is_done {
            true => Committed::Done,
            false if self.place.look()?.0.is(&self.change.after) => Committed::Found,
            false => Committed::Left,
        })
    }

    /// Puts a file or link in the place of an empty folder, or of nothing. The folder is listed first, so that a kill
    /// does not leave a folder with files under the temporary name.
    pub(crate) fn replace_folder(&mut self) -> io::Result<Committed> {
        if !self.place.is_reached() || self.place.has_entries(&self.place.name)? == Some(true) {
            return Ok(Committed::Left);
        }
        self.is_done = match self.place.rename(&self.beside, &self.place.name, RenameFlags::EXCHANGE) {
            Ok(()) => self.remove_replaced_folder()?,
            Err(Errno::NOENT) => self.create_within_reach()?,
            // Some file systems cannot rename a folder.
            Err(error) if is_unknown(error) || error == Errno::XDEV => self.remove_folder_and_create()?,
            Err(error) => return Err(error.into()),
        };
        Ok(if self.is_done { Committed::Done } else { Committed::Left })
    }

    /// Like [`Self::replace_folder`], on a file system that cannot exchange two files.
    fn remove_folder_and_create(&mut self) -> io::Result<bool> {
        match self.place.remove_folder(&self.place.name) {
            Ok(()) | Err(Errno::NOENT) => self.create_within_reach(),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn create_within_reach(&mut self) -> io::Result<bool> {
        let created = self.create()?;
        if created && !self.place.is_reached() {
            self.withdraw()?;
            return Ok(false);
        }
        Ok(created)
    }

    /// Removes the replaced folder. If it is not empty, it is put back.
    fn remove_replaced_folder(&mut self) -> io::Result<bool> {
        if !self.place.is_reached() {
            return self.exchange_back().map(|()| false);
        }
        match self.place.remove_folder(&self.beside) {
            Ok(()) => {
                self.holds = TempState::Nothing;
                Ok(true)
            }
            Err(error) => {
                self.exchange_back()?;
                match error {
                    Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR => Ok(false),
                    error => Err(error.into()),
                }
            }
        }
    }

    /// Restores the state before [`Step::commit`], if possible.
    pub(crate) fn take_back(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_done) {
            return Ok(());
        }
        match (self.holds, &self.change.after) {
            (TempState::Before, Some(_)) => self.exchange_back().and_then(|()| self.keep_filled_folder()),
            (TempState::Before, None) => self.put_back(),
            (_, Some(_)) if self.change.before.is_none() => self.withdraw(),
            // Replaced by a plain rename, on a file system that cannot exchange files.
            _ => {
                self.is_done = true;
                Ok(())
            }
        }
    }

    fn exchange(&mut self) -> io::Result<bool> {
        // The replaced content is compared again afterwards. This check avoids replacing, even for a moment, a file
        // that was changed long before.
        if !self.is_untouched() && !self.is_before(&self.place.name)? {
            return Ok(false);
        }
        match self.place.rename(&self.beside, &self.place.name, RenameFlags::EXCHANGE) {
            Ok(()) => self.holds = TempState::Before,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) if is_unknown(error) => return self.write_over(),
            Err(error) => return Err(error.into()),
        }
        let is_before = self.is_before(&self.beside);
        if !matches!(is_before, Ok(true)) {
            self.exchange_back()?;
        }
        is_before
    }

    /// Puts a folder back to which another process has added files, and keeps the replaced content beside it.
    fn keep_filled_folder(&mut self) -> io::Result<()> {
        if !self.makes_folder() || self.place.has_entries(&self.beside)? == Some(false) {
            return Ok(());
        }
        self.holds = TempState::Theirs;
        self.place.rename(&self.beside, &self.place.name, RenameFlags::EXCHANGE)?;
        Err(self.filled())
    }

    /// Exchanges back. After an error, the temporary file may be the only copy of a content, and stays.
    fn exchange_back(&mut self) -> io::Result<()> {
        let done = self.exchange_until_back();
        if done.is_err() {
            self.holds = TempState::Theirs;
        }
        done
    }

    /// Repeats the exchange until it returns what the last one put in, so that content of another process is not lost.
    fn exchange_until_back(&mut self) -> io::Result<()> {
        let mut put_in = self.own;
        for _ in 0..MAX_TRIES {
            let next = self.place.inode_of(&self.beside);
            match self.place.rename(&self.beside, &self.place.name, RenameFlags::EXCHANGE) {
                Err(Errno::NOENT) => return self.put_back(),
                Err(error) if is_unknown(error) && self.makes_folder() => {
                    match self.place.remove_folder(&self.place.name) {
                        Err(Errno::NOTEMPTY | Errno::EXIST) => return Err(self.filled()),
                        removed => removed?,
                    }
                    return self.put_back();
                }
                exchanged => exchanged?,
            }
            if self.place.inode_of(&self.beside) == put_in {
                self.holds = TempState::Ours;
                return Ok(());
            }
            put_in = next;
        }
        Err(self.kept_aside())
    }

    fn write_over(&mut self) -> io::Result<bool> {
        if !self.is_before(&self.place.name)? {
            return Ok(false);
        }
        if self.makes_folder() {
            return self.write_folder_over();
        }
        self.place.rename_over(&self.beside, &self.place.name)?;
        self.holds = TempState::Nothing;
        Ok(true)
    }

    /// Replaces a file by a folder. A folder cannot be renamed over a file, so the file is renamed first.
    fn write_folder_over(&mut self) -> io::Result<bool> {
        self.place.remove_folder(&self.beside)?;
        self.holds = TempState::Nothing;
        if !self.remove()? {
            return Ok(false);
        }
        let made = self.place.make_folder(&self.place.name).map_err(io::Error::from);
        let held = made.and_then(|()| temp_names::hold_folder(&self.place, &self.place.name));
        match held {
            Ok(folder) => {
                (self.own, self.content) = (self.place.inode_of(&self.place.name), folder);
                Ok(true)
            }
            Err(error) => self.put_back().and(Err(error)),
        }
    }

    fn create(&mut self) -> io::Result<bool> {
        let created = self.put_where_nothing_is()?;
        if created {
            self.holds = TempState::Nothing;
        }
        Ok(created)
    }

    /// Renames the temporary file to the final name, unless that exists.
    fn put_where_nothing_is(&self) -> io::Result<bool> {
        match self.place.rename(&self.beside, &self.place.name, RenameFlags::NOREPLACE) {
            Err(error) if is_unknown(error) => self.link_where_nothing_is(),
            Err(Errno::EXIST) => Ok(false),
            renamed => renamed.map(|()| true).map_err(Into::into),
        }
    }

    /// Like [`Self::put_where_nothing_is`], on a file system that cannot rename without replacing.
    fn link_where_nothing_is(&self) -> io::Result<bool> {
        match self.place.link(&self.beside, &self.place.name) {
            Ok(()) => self.place.unlink(&self.beside).map(|()| true).map_err(Into::into),
            Err(Errno::EXIST) => Ok(false),
            Err(error) if is_unknown(error) || error == Errno::PERM => self.look_and_rename(),
            Err(error) => Err(error.into()),
        }
    }

    /// Like [`Self::link_where_nothing_is`], on a file system without hard links.
    fn look_and_rename(&self) -> io::Result<bool> {
        let is_free = self.place.look()?.0 == State::Absent;
        if is_free {
            self.place.rename_over(&self.beside, &self.place.name)?;
        }
        Ok(is_free)
    }

    /// Removes the file. It is renamed first, so that the removed file is the compared one.
    fn remove(&mut self) -> io::Result<bool> {
        if !self.take_away()? {
            return Ok(false);
        }
        let is_before = self.is_before(&self.beside);
        if !matches!(is_before, Ok(true)) {
            self.put_back()?;
        }
        is_before
    }

    /// Renames the entry in the place of the file to the temporary name, whatever it is.
    fn take_away(&mut self) -> io::Result<bool> {
        let renamed = match self.place.rename(&self.place.name, &self.beside, RenameFlags::NOREPLACE) {
            Err(error) if is_unknown(error) => self.place.rename_over(&self.place.name, &self.beside),
            renamed => renamed,
        };
        match renamed {
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
            Ok(()) => {
                self.holds = TempState::Before;
                Ok(true)
            }
        }
    }

    /// Removes a file that was created; a file that another process put in its place stays.
    fn withdraw(&mut self) -> io::Result<()> {
        if !self.take_away()? {
            return Ok(());
        }
        if self.place.inode_of(&self.beside) == self.own {
            self.holds = TempState::Ours;
            return Ok(());
        }
        self.put_back()
    }

    fn put_back(&mut self) -> io::Result<()> {
        let is_back = self.put_where_nothing_is();
        self.holds = if matches!(is_back, Ok(true)) { TempState::Nothing } else { TempState::Theirs };
        if is_back? { Ok(()) } else { Err(self.kept_aside()) }
    }

    fn is_untouched(&self) -> bool {
        let id = |found: &Stat| {
            let times = (found.st_mtime, found.st_mtime_nsec, found.st_ctime, found.st_ctime_nsec);
            (found.st_dev, found.st_ino, found.st_size, times)
        };
        self.old.as_ref().map(id) == self.place.stat(&self.place.name).as_ref().map(id)
    }

    fn is_before(&self, name: &OsStr) -> io::Result<bool> {
        Ok(self.place.look_at(name)?.0.is(&self.change.before))
    }

    fn filled(&self) -> io::Error {
        let [path, beside] = [&self.place.name, &self.beside].map(|name| self.place.above.join(name));
        io::Error::other(format!(
            "`{}` is a folder with files by now; what lay there before is kept in `{}`: move one of them elsewhere",
            path.display(),
            beside.display()
        ))
    }

    fn kept_aside(&self) -> io::Error {
        let beside = self.place.above.join(&self.beside);
        io::Error::other(format!(
            "another process replaced it again and again; one state is in `{}`",
            beside.display()
        ))
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if self.holds == TempState::Ours && self.makes_folder() {
            let _another_process_uses_it = self.place.remove_folder(&self.beside);
        } else if matches!(self.holds, TempState::Ours | TempState::Before) {
            let _already_gone = self.place.unlink(&self.beside);
        }
        self.made.is_used = self.is_done;
    }
}

/// Whether the file system or the kernel does not support such a rename.
fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests;
