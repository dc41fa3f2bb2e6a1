//! The outbox: the publication state of posts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::JobError;
use crate::failure::Failure;
use crate::pulls::post::Post;

/// The publication state of posts.
pub trait Outbox {
    /// True while the lease is held.
    fn is_ours(&self) -> Result<bool, Failure>;
    /// The number at the host of an earlier post with the same key, if known.
    ///
    /// A host's lists lag, so a recent post may be missing in them.
    fn known(&self, _: &Post) -> Option<u64> {
        None
    }
    /// Marks a post as posting.
    fn posting(&self, post: &Post) -> Result<(), JobError>;
    /// Marks a post as published, with its number at the host.
    fn done(&self, post: &Post, remote: Option<u64>) -> Result<(), JobError>;
    /// Marks a post as due again, because it surely had no effect.
    fn put_back(&self, post: &Post, problem: &str) -> Result<(), JobError>;
    /// Records a rejection by the host; true when the post is to be retried.
    fn refused(&self, post: &Post, problem: &str) -> Result<bool, JobError>;
}

/// An outbox in memory, for a single publisher such as the command line.
#[derive(Debug, Default)]
pub struct MemoryOutbox {
    done: RefCell<BTreeMap<String, Option<u64>>>,
}

impl MemoryOutbox {
    /// The number at the host of a published post.
    pub fn remote(&self, key: &str) -> Option<u64> {
        self.done.borrow().get(key).copied().flatten()
    }
}

impl Outbox for MemoryOutbox {
    fn is_ours(&self) -> Result<bool, Failure> {
        Ok(true)
    }

    fn posting(&self, _: &Post) -> Result<(), JobError> {
        Ok(())
    }

    fn done(&self, post: &Post, remote: Option<u64>) -> Result<(), JobError> {
        self.done.borrow_mut().insert(post.key.clone(), remote);
        Ok(())
    }

    fn put_back(&self, _: &Post, _: &str) -> Result<(), JobError> {
        Ok(())
    }

    fn refused(&self, _: &Post, _: &str) -> Result<bool, JobError> {
        Ok(false)
    }
}
