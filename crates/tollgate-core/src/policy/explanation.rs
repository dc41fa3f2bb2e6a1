//! Explains the effects of the author's declarations, one sentence each.
//!
//! ```text
//! profile strict from [strict-review] in title: findings from Low on, at most 15 comments
//! ```

use crate::intent::text::{tag_with_source, type_with_source};
use crate::intent::{Conventional, DeclaredIn, Intent, Keyword, profile_of};
use crate::policy::{Effect, Policy};

/// The sentences, most important first.
pub(super) fn sentences(intent: &Intent, policy: &Policy) -> Vec<String> {
    let mut changes = Vec::new();
    changes.extend(no_review(intent));
    changes.extend(profile(intent, policy));
    changes.extend(early_feedback(intent, policy));
    let tag = |keyword: Keyword| intent.tag(keyword).map(tag_with_source);
    changes.extend(tag(Keyword::SecurityReview).map(|tag| format!("security in focus because of {tag}")));
    changes.extend(tag(Keyword::StyleOk).map(|tag| format!("style ignored because of {tag}")));
    changes.extend(intent.conventional.as_ref().and_then(|declared| effect(declared, policy)));
    changes
}

fn no_review(intent: &Intent) -> Option<String> {
    let tag = intent.tag(Keyword::NoReview)?;
    let tag_shown = tag_with_source(tag);
    Some(match tag.place {
        DeclaredIn::Title => format!("review skipped because of {tag_shown}"),
        DeclaredIn::Body | DeclaredIn::Commit(_) => {
            format!("reviewed despite {tag_shown}: only the title skips a review")
        }
    })
}

fn profile(intent: &Intent, policy: &Policy) -> Option<String> {
    let strictest = |tag: &&crate::intent::Tag| tag.keyword.and_then(profile_of) == Some(policy.profile);
    let tag = intent.tags.iter().find(strictest)?;
    let profile = policy.profile;
    Some(format!(
        "profile {} from {}: findings from {} on, at most {} comments",
        profile.as_str(),
        tag_with_source(tag),
        profile.floor(),
        profile.cap()
    ))
}

fn early_feedback(intent: &Intent, policy: &Policy) -> Option<String> {
    let tag = intent.tag(Keyword::Wip).or(intent.tag(Keyword::Draft)).filter(|_| policy.early_feedback)?;
    let comments = if policy.cap == 1 { "comment" } else { "comments" };
    Some(format!(
        "early feedback because of {}: no style, nothing below {}, at most {} {comments}",
        tag_with_source(tag),
        policy.floor,
        policy.cap
    ))
}

fn effect(declared: &Conventional, policy: &Policy) -> Option<String> {
    let what = match policy.effect? {
        Effect::UndeclaredBreaksCountMore => {
            "no breaking change is declared, so removed or changed public API is one severity higher"
        }
        Effect::TestsExpected => "tests are expected to change with it",
        Effect::LighterDocs => "documentation files get a lighter review: no style, nothing below Medium",
    };
    Some(format!("type {}: {what}", type_with_source(declared)))
}
