//! Detects a checkout of untrusted code in a `pull_request_target` workflow.

use crate::change::view::{Reporter, View, patterns};
use crate::change::workflow;

patterns! {
    TRIGGER ["pull_request_target"] = r"^\s*(?:- |on:\s*\[?.*)?pull_request_target\b";
    HEAD = concat!(
        r"^\s*(?:ref|repository):.*(?:github\.event\.pull_request\.head\.(?:sha|ref|repo)|github\.head_ref",
        r"|refs/pull/)|\bgh pr checkout\b|git (?:fetch|checkout).*pull/",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| workflow::is_workflow(file)) {
        let lines = || file.lines.iter().enumerate().filter(|(_, line)| !line.is_removed() && !line.is_comment());
        let trigger = lines().find(|(_, line)| TRIGGER.is_match(&line.text));
        let heads = lines().filter(|(_, line)| HEAD.is_match(&line.text));
        let Some((trigger_index, trigger)) = trigger else { continue };
        for (index, head) in heads.take(3) {
            if head.is_added() || trigger.is_added() {
                let index = if head.is_added() { index } else { trigger_index };
                reporter.report(file, index..index + 1, None);
            }
        }
    }
}
