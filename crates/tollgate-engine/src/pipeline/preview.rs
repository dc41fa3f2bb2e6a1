//! What reviewers would be told of a change, without asking anybody.
//!
//! It goes the way of a review up to where somebody would be asked, so what is shown is what would be sent. The rules are
//! not run: what they find only says which parts of a change that is too large are looked at first.

use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::prompt::ContextFile;
use tollgate_core::verify::Weight;

use super::models::{self, Scene, Sent, Told};
use super::{Memory, World, fetch, intent, policy, recall_before, since};
use crate::failure::Failure;

/// What reviewers would be told.
#[derive(Debug)]
pub struct Preview {
    /// What would be sent, call by call.
    pub sent: Vec<Sent>,
    /// The files of the project that are in it, whole.
    pub context: Vec<ContextFile>,
    /// How many parts of the change would not be sent, because there is too much of it.
    pub n_left_out: usize,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// Writes what the reviewers of a change would be told. `world.asking.only_print` must be set, and nothing is stored.
pub fn preview(world: &mut World<'_>) -> Result<Preview, Failure> {
    let mut notes = Vec::new();
    let change = fetch(world, None)?;
    notes.extend(change.notes.iter().cloned());
    let (intent, subjects) = intent(world, &change, &mut notes);
    let policy = policy(&intent, world.settings);
    let subject = world.standing.subject().cloned().or_else(|| super::subject(&world.forge));
    let snapshot = Snapshot::of(&change.files);
    let recalled = match world.memory {
        Memory::Off => None,
        _ => recall_before(world, subject.as_ref(), &change, &snapshot, &mut notes),
    };
    let last: Option<since::Last> = recalled.map(|recalled| recalled.seen_from(&snapshot));
    let told = Told { subjects: &subjects, policy: &policy, last: last.as_ref(), only_fresh: false };
    debug_assert!(world.asking.only_print, "nobody is asked for a preview");
    world.asking.only_print = true;
    let scene = Scene {
        settings: world.settings,
        forge: &world.forge,
        executable: &world.executable,
        title: world.title,
        body: world.body,
        spec: world.spec,
        criteria: world.criteria,
        weight: if world.standing.is_gate() { Weight::Statement } else { Weight::Findings },
        asking: &world.asking,
        events: world.events,
    };
    let (heard, context) = models::preview(&scene, &change, &told)?;
    notes.extend(heard.notes);
    Ok(Preview { sent: heard.sent, context, n_left_out: heard.missed.len(), notes })
}
