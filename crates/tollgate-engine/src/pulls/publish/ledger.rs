//! Where it is noted how far posting has come.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::Stop;
use crate::failure::Failure;
use crate::pulls::post::Post;

/// Where it is noted how far posting has come.
pub trait Ledger {
    /// True while what is posted is ours to post.
    fn is_ours(&self) -> Result<bool, Failure>;
    /// The number at the host of what was posted under the same key before, where that is known.
    ///
    /// A host's lists lag, so what was posted a moment ago may not be found in them.
    fn known(&self, _: &Post) -> Option<u64> {
        None
    }
    /// Notes that something is about to be posted.
    fn posting(&self, post: &Post) -> Result<(), Stop>;
    /// Notes that it is there, and under which number.
    fn done(&self, post: &Post, remote: Option<u64>) -> Result<(), Stop>;
    /// Notes that it was surely not posted, and why; it is to be posted later.
    fn put_back(&self, post: &Post, problem: &str) -> Result<(), Stop>;
    /// Notes that the host refused it, and why; true when it is to be tried once more all the same.
    fn refused(&self, post: &Post, problem: &str) -> Result<bool, Stop>;
}

/// A ledger for one who posts alone and once, as the command line does.
#[derive(Debug, Default)]
pub struct InMemory {
    done: RefCell<BTreeMap<String, Option<u64>>>,
}

impl InMemory {
    /// The number at the host of what was posted under a key.
    #[must_use]
    pub fn remote(&self, key: &str) -> Option<u64> {
        self.done.borrow().get(key).copied().flatten()
    }
}

impl Ledger for InMemory {
    fn is_ours(&self) -> Result<bool, Failure> {
        Ok(true)
    }

    fn posting(&self, _: &Post) -> Result<(), Stop> {
        Ok(())
    }

    fn done(&self, post: &Post, remote: Option<u64>) -> Result<(), Stop> {
        self.done.borrow_mut().insert(post.key.clone(), remote);
        Ok(())
    }

    fn put_back(&self, _: &Post, _: &str) -> Result<(), Stop> {
        Ok(())
    }

    fn refused(&self, _: &Post, _: &str) -> Result<bool, Stop> {
        Ok(false)
    }
}
