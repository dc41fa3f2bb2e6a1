//! The measures, one file each. To add one, copy a neighbour and name it in [`ALL`].

mod again;
mod ask;
mod board_list;
mod cards;
mod crew;
mod delta;
mod diff_diffy;
mod diff_growth;
mod diff_instructions;
mod diff_numstat;
mod fanout;
mod handover;
mod hook;
mod idle;
mod intake;
mod intent;
mod queue;
mod rules;
mod sandbox;
mod secrets;
mod sockets;
mod tokens;
mod version;
mod webhook;
mod writes;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

pub(crate) use intake::{BARE, serve as serve_bare};

use crate::row::Row;
use crate::run;

/// Every measure.
pub(crate) const ALL: &[Measure] = &[
    version::MEASURE,
    hook::MEASURE,
    again::MEASURE,
    ask::FIRST_BYTE,
    ask::RE_REVIEW,
    rules::FULL,
    rules::CHANGE,
    secrets::MEASURE,
    diff_numstat::MEASURE,
    diff_diffy::MEASURE,
    diff_instructions::MEASURE,
    diff_growth::MEASURE,
    delta::MEASURE,
    intent::MEASURE,
    tokens::MEASURE,
    writes::MEASURE,
    cards::MEASURE,
    board_list::MEASURE,
    handover::MEASURE,
    sandbox::MEASURE,
    idle::MEASURE,
    sockets::MEASURE,
    fanout::MEASURE,
    webhook::MEASURE,
    queue::MEASURE,
    intake::MEASURE,
    crew::MEASURE,
];

/// Something that can be measured by name.
pub(crate) struct Measure {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Takes it.
    pub(crate) take: fn(&Setting) -> io::Result<Vec<Row>>,
}

/// What the command line says.
pub(crate) struct Setting {
    /// A repository whose history is the material.
    pub(crate) corpus: Option<PathBuf>,
    /// The program to measure.
    pub(crate) tollgate: Option<PathBuf>,
    /// How often each program is run; the least cost counts.
    pub(crate) n_runs: usize,
}

impl Default for Setting {
    fn default() -> Self {
        Self { corpus: None, tollgate: None, n_runs: 7 }
    }
}

impl Setting {
    /// The program to measure: the one that was named, or the one beside this.
    pub(crate) fn program(&self) -> io::Result<PathBuf> {
        let beside = std::env::current_exe()?.with_file_name("tollgate");
        let named = self.tollgate.clone().or_else(|| beside.is_file().then_some(beside));
        named.ok_or_else(|| io::Error::other("no `tollgate` beside this program: build it, or name it by `--tollgate`"))
    }

    /// The command that analyses a diff: `tollgate` beside this program, or this program itself in its stead.
    pub(crate) fn analyze(&self, file: &std::path::Path) -> io::Result<Vec<OsString>> {
        let this = std::env::current_exe()?;
        let beside = this.with_file_name("tollgate");
        let tollgate = self.tollgate.clone().or_else(|| beside.is_file().then_some(beside));
        Ok(match tollgate {
            Some(program) => vec![program.into(), "analyze".into(), "--diff".into(), file.into()],
            None => vec![this.into(), run::ANALYZE.into(), file.into()],
        })
    }
}
