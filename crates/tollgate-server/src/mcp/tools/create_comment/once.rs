//! A comment with a mark, on a pull request once, whoever else is about to write the same.
//!
//! Others may be at it in processes of their own, and a host's lists lag. So whoever has written looks again until their
//! own comment is listed, by when all older ones are; the oldest stays and says what was said last, the others go.
//!
//! ```text
//! look ─► there: edit it          A writes 7 ─► sees 7 or 7, 8 ─► 7 stays
//!     └─► not there: write ─► look B writes 8 ─► sees 7, 8      ─► 8 goes
//! ```

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_core::pull::PullRef;
use tollgate_engine::forge::host::{BotIdentity, Comment, Host, HostErrorKind, HostResult};

use super::Action;

/// How often it is looked again for what was written, and how long to wait in between: ten seconds in all, which is longer
/// than lists lag.
const LOOKS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// A comment that is to stand on a pull request.
pub(super) struct Wanted<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) pull: &'a PullRef,
    /// By which it is known again.
    pub(super) mark: &'a str,
    /// What it says, with the mark.
    pub(super) body: &'a str,
}

impl Wanted<'_> {
    /// Sees to it that the comment stands there, once.
    pub(super) fn put(&self, cancel: &CancellationToken) -> HostResult<(Action, u64)> {
        let me = self.host.me()?;
        if let Some(there) = self.first(&me)? {
            return Ok((self.say_in(&there)?, there.id));
        }
        let written = self.host.comment(&self.pull.repo, self.pull.number, self.body)?;
        for _ in 0..LOOKS {
            match self.first(&me)?.filter(|first| first.id <= written) {
                Some(first) if first.id == written => break,
                Some(first) => {
                    // Theirs was first. Ours may not be listed yet.
                    self.remove(written)?;
                    return Ok((self.say_in(&first)?, first.id));
                }
                // It stands there, whatever happens now.
                None if cancel.is_cancelled() => break,
                None => std::thread::sleep(PAUSE),
            }
        }
        Ok((Action::Created, written))
    }

    /// The oldest comment of ours with the mark; the others are removed.
    fn first(&self, me: &BotIdentity) -> HostResult<Option<Comment>> {
        let mut found = self.host.comments(&self.pull.repo, self.pull.number)?;
        found.retain(|comment| me.wrote(&comment.author) && comment.body.contains(self.mark));
        found.sort_unstable_by_key(|comment| comment.id);
        let mut found = found.into_iter();
        let first = found.next();
        for extra in found {
            self.remove(extra.id)?;
        }
        Ok(first)
    }

    /// Has a comment that is there say what it is to say.
    fn say_in(&self, there: &Comment) -> HostResult<Action> {
        // A host may write line breaks in its own way.
        if there.body.replace("\r\n", "\n").trim() == self.body.trim() {
            return Ok(Action::Unchanged);
        }
        self.host.edit_comment(&self.pull.repo, there.id, self.body).map(|()| Action::Updated)
    }

    fn remove(&self, comment: u64) -> HostResult<()> {
        match self.host.delete_comment(&self.pull.repo, comment) {
            // Somebody else removed it.
            Err(error) if error.kind == HostErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}
