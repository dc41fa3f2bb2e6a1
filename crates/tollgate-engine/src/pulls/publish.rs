//! What is to be seen on a pull request comes to be seen there, once.
//!
//! For each post: look for our own mark, see whether the work is still ours, note that it is being posted, post it, look
//! again and remove what is there twice, note its number. Whoever is killed in between leaves it so that the next one
//! finds out what happened. Nothing here knows where that is noted: a server keeps a [`Ledger`] in its database, the
//! command line one in memory.
//!
//! A host may refuse a review because of one of its comments; then the comments are posted one by one, those that it
//! still refuses at their file, and what is left in the text: no finding is lost.

use tollgate_core::pull::Repo;
use tollgate_core::pull::post::check_id;
use tollgate_core::sha::Sha;

use super::post::{Post, What};
use crate::failure::Failure;
use crate::forge::host::{Host, HostError, Me, Trouble};
use crate::process;

mod check;
mod conversation;
mod ledger;
mod review;
mod seen;

pub use ledger::{InMemory, Ledger};
use seen::Seen;

/// Where something is posted.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The host.
    pub host: &'a dyn Host,
    /// Who we are there.
    pub me: &'a Me,
    /// The repository.
    pub repo: &'a Repo,
    /// The pull request.
    pub number: u64,
    /// The name of our check.
    pub check_name: &'a str,
}

/// Why it does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The work is somebody else's by now.
    LeaseLost,
    /// The host did not do it, and may later.
    Host(HostError),
    /// Something of ours failed.
    Failure(Failure),
}

impl From<HostError> for Stop {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// What was posted, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// How many posts are there now.
    pub n_done: usize,
    /// How many were refused and are tried once more later.
    pub n_later: usize,
    /// What cannot be posted, and why.
    pub refused: Vec<(String, HostError)>,
}

impl Target<'_> {
    /// Our own name for the check of a commit.
    fn external_id(&self, head: &Sha) -> String {
        check_id(self.number, head)
    }
}

/// Posts what is not there yet, in its order.
///
/// It ends early when the work is not ours any more, and when the host is in trouble that may pass; what is done by then
/// is noted, and calling it again goes on where it ended. What the host refuses for good does not hold up the rest.
pub fn publish(target: &Target<'_>, posts: &[Post], ledger: &dyn Ledger) -> Result<Published, Stop> {
    let mut seen = Seen::new(*target);
    let mut published = Published::default();
    for post in posts {
        let done = match &post.what {
            What::Summary(body) => conversation::summary(&mut seen, post, body, ledger),
            What::Note(body) => conversation::note(&mut seen, post, body, ledger),
            What::Reply { to, body } => conversation::reply(&mut seen, post, *to, body, ledger),
            What::Review { body, act, inline } => review::review(&mut seen, post, (body, *act, inline), ledger),
            What::Inline(inline) => review::inline(&mut seen, post, inline, ledger),
            What::Resolve => review::resolve(&mut seen, post),
            What::Check { conclusion, text, details_url } => {
                check::check(&mut seen, post, (*conclusion, text, details_url.as_deref()), ledger)
            }
        };
        match done {
            Ok(remote) => {
                process::crash_point("post-before-ack");
                ledger.done(post, remote)?;
                published.n_done += 1;
            }
            Err(Stop::Host(error)) if error.may_pass() => {
                // What may have been done is looked for the next time, what was surely not is simply due again.
                if error.trouble != Trouble::Unclear {
                    ledger.put_back(post, &error.message)?;
                }
                return Err(Stop::Host(error));
            }
            Err(Stop::Host(error)) => {
                // Hosts refuse for reasons that pass, too: a commit that they do not know yet, a right that comes later.
                if ledger.refused(post, &error.message)? {
                    published.n_later += 1;
                } else {
                    published.refused.push((post.key.clone(), error));
                }
            }
            Err(stop) => return Err(stop),
        }
    }
    Ok(published)
}

/// Notes that it is being posted, if it is still ours to post.
fn about_to(post: &Post, ledger: &dyn Ledger) -> Result<(), Stop> {
    if !ledger.is_ours()? {
        return Err(Stop::LeaseLost);
    }
    ledger.posting(post)
}
