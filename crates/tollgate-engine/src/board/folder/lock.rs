//! The lock of a project: `tollgate.lock`, with the process number of the server that holds it.

use std::io::{Read as _, Write as _};

use super::edit::EditError;
use super::{Folder, failure};
use crate::failure::Failure;
use crate::lock;
use crate::tree::dir_handle::Found;

const LOCK: &str = "tollgate.lock";

/// The lock of a project, released when dropped.
#[derive(Debug)]
pub struct Lock {
    _kept: lock::Lock,
}

impl Folder {
    /// True when a process holds the lock.
    pub fn is_kept(&self) -> bool {
        match self.root().and_then(|root| root.file(LOCK).map_err(|error| failure::unreadable(root.path(), &error))) {
            Ok(Found::Is(file)) => matches!(lock::Lock::shared(file), Ok(Err(_))),
            Ok(Found::Missing | Found::Link | Found::Other) | Err(_) => false,
        }
    }

    /// Takes the lock if it is free, and deletes leftovers.
    pub fn lock(&self) -> Result<Lock, Failure> {
        let root = self.root()?;
        let path = root.path().join(LOCK);
        let unwritable = |error: EditError| failure::unwritable(&path, &error);
        let file = match root.file_to_keep(LOCK).map_err(|error| unwritable(error.into()))? {
            Found::Is(file) => file,
            Found::Link => return Err(unwritable(EditError::Link)),
            Found::Missing | Found::Other => return Err(unwritable(EditError::NotAFile)),
        };
        let kept = match lock::Lock::exclusive(file).map_err(|error| unwritable(error.into()))? {
            Ok(kept) => kept,
            Err(file) => {
                let mut pid = String::new();
                // Only for the message, so errors are ignored.
                let _ = (&file).take(20).read_to_string(&mut pid);
                let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
                return Err(failure::held(root.path(), &pid));
            }
        };
        let mut file = kept.file();
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(|error| unwritable(error.into()))?;
        self.sweep()?;
        Ok(Lock { _kept: kept })
    }
}
