//! Turns progress of calls to models into events.

use std::borrow::Cow;

use crate::pipeline::ReviewProgress;
use crate::reviewer::ask::{CallJob, JobEvent};
use crate::reviewer::call::CallProgress;

/// Counts finished calls and written tokens.
#[derive(Default)]
pub(super) struct ProgressTracker {
    n_done: usize,
    /// The bytes of all answers so far.
    n_bytes: usize,
    /// The tokens of finished answers, as their models counted them.
    n_tokens: u64,
}

impl ProgressTracker {
    pub(super) fn report(
        &mut self,
        sign: JobEvent,
        jobs: &[CallJob],
        names: &[String],
        events: &dyn Fn(ReviewProgress<'_>),
    ) {
        let (job, stage) = match sign {
            JobEvent::Output { job, text } => {
                let member = jobs.get(job).and_then(|job| names.get(job.member));
                events(ReviewProgress::Output { reviewer: member.map_or("", String::as_str), text: &text });
                return;
            }
            JobEvent::Begun { job } => (job, Cow::Borrowed("is asked")),
            JobEvent::CallProgress { job, heard } => match heard {
                CallProgress::Sent => (job, Cow::Borrowed("reads")),
                CallProgress::Answer(text) => {
                    self.n_bytes += text.len();
                    (job, Cow::Borrowed("answers"))
                }
                CallProgress::Working(what) if what.is_empty() => (job, Cow::Borrowed("thinks")),
                CallProgress::Working(what) => (job, Cow::Owned(format!("works ({what})"))),
                CallProgress::Retry { after, because } => {
                    (job, Cow::Owned(format!("is asked again in {} s ({because})", after.as_secs())))
                }
            },
            JobEvent::Ended { job, usage } => {
                self.n_done += 1;
                self.n_tokens = self.n_tokens.saturating_add(usage.output);
                (job, Cow::Borrowed("answered"))
            }
        };
        let Some(about) = jobs.get(job) else { return };
        events(ReviewProgress::ModelProgress {
            reviewer: names.get(about.member).map_or("", String::as_str),
            stage: &stage,
            about: &about.about,
            n_done: self.n_done,
            n_calls: jobs.len(),
            // A token has about four bytes; models report the exact count at the end of an answer.
            n_tokens: self.n_tokens.max(self.n_bytes as u64 / 4),
        });
    }
}
