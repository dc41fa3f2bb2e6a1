//! Outbox entries: the posts of a pull request, and their stored form.
//!
//! ```text
//! {"body":"…","act":"comment","inline":[{"path":"a.rs","at":{"start":3,"line":4,"side":"right"},"body":"…","key":"fp-…"}]}
//! ```

use serde::{Deserialize, Serialize};
use tollgate_core::finding::Side;
use tollgate_core::pull::check_run::{Annotation, AnnotationLevel, CheckOutput, Conclusion};
use tollgate_core::pull::inline_comment::{InlineComment, LineSpan};
use tollgate_core::pull::webhook_event::CommentRef;
use tollgate_core::sha::Sha;

use crate::forge::host::ReviewEvent;
use crate::store::pulls::{NewPost, PostKind};

/// A post on a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The commit it is about.
    pub head: Sha,
    /// Its idempotency key within its kind.
    pub key: String,
    /// Its content.
    pub what: PostContent,
}

/// The content of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostContent {
    /// The summary in the conversation.
    Summary(String),
    /// A review with line comments.
    Review {
        /// Its text.
        body: String,
        /// Its review event.
        act: ReviewEvent,
        /// Its line comments.
        inline: Vec<InlineComment>,
    },
    /// One review comment at lines or at a file.
    Inline(InlineComment),
    /// A note in the conversation.
    Note(String),
    /// A reply to a comment.
    Reply {
        /// The comment.
        to: CommentRef,
        /// The text.
        body: String,
    },
    /// Resolves the thread of a finding, which is the key.
    Resolve,
    /// Opens the thread of a finding again, which is the key.
    Reopen,
    /// The check run of the commit.
    Check {
        /// The conclusion; `None` while in progress.
        conclusion: Option<Conclusion>,
        /// The title, summary and annotations.
        text: CheckOutput,
        /// The page with details.
        details_url: Option<String>,
    },
}

impl Post {
    /// The summary.
    pub fn summary(head: &Sha, body: String) -> Self {
        Self { head: head.clone(), key: String::new(), what: PostContent::Summary(body) }
    }

    /// The review of a commit.
    pub fn review(head: &Sha, body: String, act: ReviewEvent, inline: Vec<InlineComment>) -> Self {
        Self { head: head.clone(), key: head.to_string(), what: PostContent::Review { body, act, inline } }
    }

    /// One review comment.
    pub fn inline(head: &Sha, inline: InlineComment) -> Self {
        Self { head: head.clone(), key: inline.key.clone(), what: PostContent::Inline(inline) }
    }

    /// A note about a commit; `what` names its topic.
    pub fn note(head: &Sha, what: &str, body: String) -> Self {
        Self { head: head.clone(), key: format!("{head} {what}"), what: PostContent::Note(body) }
    }

    /// A reply.
    pub fn reply(head: &Sha, to: CommentRef, body: String) -> Self {
        let key = match to {
            CommentRef::Conversation(comment) => format!("conversation {comment}"),
            CommentRef::Thread { comment, .. } => format!("thread {comment}"),
        };
        Self { head: head.clone(), key, what: PostContent::Reply { to, body } }
    }

    /// Resolves the thread of a finding.
    pub fn resolve(head: &Sha, key: &str) -> Self {
        Self { head: head.clone(), key: key.to_owned(), what: PostContent::Resolve }
    }

    /// Opens the thread of a finding again. It replaces an entry that resolves the same thread.
    pub fn reopen(head: &Sha, key: &str) -> Self {
        Self { head: head.clone(), key: key.to_owned(), what: PostContent::Reopen }
    }

    /// The check run of a commit.
    pub fn check(head: &Sha, conclusion: Option<Conclusion>, text: CheckOutput, details_url: Option<&str>) -> Self {
        let details_url = details_url.map(str::to_owned);
        Self { head: head.clone(), key: head.to_string(), what: PostContent::Check { conclusion, text, details_url } }
    }

    /// Converts the post into an outbox entry.
    pub fn stored(&self) -> NewPost {
        let (kind, body) = self.what.written();
        let is_final = !matches!(self.what, PostContent::Check { conclusion: None, .. });
        NewPost { head: self.head.clone(), kind, key: self.key.clone(), body, is_final }
    }

    /// Parses an outbox entry.
    pub fn read(stored: &NewPost) -> Result<Self, String> {
        let what = PostContent::read(stored.kind, &stored.body).map_err(|error| error.to_string())?;
        Ok(Self { head: stored.head.clone(), key: stored.key.clone(), what })
    }
}

impl PostContent {
    /// The kind and serialized content.
    pub fn written(&self) -> (PostKind, String) {
        match self {
            Self::Summary(body) => (PostKind::Summary, body.clone()),
            Self::Note(body) => (PostKind::Note, body.clone()),
            Self::Review { body, act, inline } => {
                let inline = inline.iter().map(InlineV1::from).collect();
                (PostKind::Review, json(&ReviewV1 { body: body.clone(), act: act_word(*act).to_owned(), inline }))
            }
            Self::Inline(inline) => (PostKind::Inline, json(&InlineV1::from(inline))),
            Self::Reply { to, body } => {
                let root = match to {
                    CommentRef::Conversation(_) => None,
                    CommentRef::Thread { root, .. } => Some(*root),
                };
                (PostKind::Reply, json(&ReplyV1 { comment: to.comment(), root, body: body.clone() }))
            }
            Self::Resolve => (PostKind::Resolve, String::new()),
            Self::Reopen => (PostKind::Resolve, REOPEN.to_owned()),
            Self::Check { conclusion, text, details_url } => {
                let annotations = text.annotations.iter().map(AnnotationV1::from).collect();
                let check = CheckV1 {
                    conclusion: conclusion.map(|conclusion| conclusion.as_str().to_owned()),
                    title: text.title.clone(),
                    summary: text.summary.clone(),
                    annotations,
                    details_url: details_url.clone(),
                };
                (PostKind::Check, json(&check))
            }
        }
    }

    fn read(kind: PostKind, body: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            PostKind::Summary => Self::Summary(body.to_owned()),
            PostKind::Note => Self::Note(body.to_owned()),
            PostKind::Review => {
                let ReviewV1 { body, act, inline } = serde_json::from_str(body)?;
                let act = match act.as_str() {
                    "approve" => ReviewEvent::Approve,
                    "request-changes" => ReviewEvent::RequestChanges,
                    _ => ReviewEvent::Comment,
                };
                Self::Review { body, act, inline: inline.into_iter().map(InlineComment::from).collect() }
            }
            PostKind::Inline => Self::Inline(serde_json::from_str::<InlineV1>(body)?.into()),
            PostKind::Reply => {
                let ReplyV1 { comment, root, body } = serde_json::from_str(body)?;
                let to = root.map_or(CommentRef::Conversation(comment), |root| CommentRef::Thread { comment, root });
                Self::Reply { to, body }
            }
            PostKind::Resolve if body == REOPEN => Self::Reopen,
            PostKind::Resolve => Self::Resolve,
            PostKind::Check => {
                let CheckV1 { conclusion, title, summary, annotations, details_url } = serde_json::from_str(body)?;
                let known = [Conclusion::Success, Conclusion::Failure, Conclusion::ActionRequired, Conclusion::Neutral];
                // An unknown conclusion must not pass the gate.
                let conclusion = conclusion.map(|word| {
                    known.into_iter().find(|known| known.as_str() == word).unwrap_or(Conclusion::ActionRequired)
                });
                let annotations = annotations.into_iter().map(Annotation::from).collect();
                Self::Check { conclusion, text: CheckOutput { title, summary, annotations }, details_url }
            }
        })
    }
}

/// The stored content of an entry that opens a thread again.
const REOPEN: &str = "reopen";

fn json(value: &impl Serialize) -> String {
    // These types serialize without errors.
    serde_json::to_string(value).unwrap_or_default()
}

fn act_word(act: ReviewEvent) -> &'static str {
    match act {
        ReviewEvent::Comment => "comment",
        ReviewEvent::Approve => "approve",
        ReviewEvent::RequestChanges => "request-changes",
    }
}

#[derive(Serialize, Deserialize)]
struct ReviewV1 {
    body: String,
    act: String,
    inline: Vec<InlineV1>,
}

#[derive(Serialize, Deserialize)]
struct ReplyV1 {
    comment: u64,
    root: Option<u64>,
    body: String,
}

#[derive(Serialize, Deserialize)]
struct CheckV1 {
    conclusion: Option<String>,
    title: String,
    summary: String,
    annotations: Vec<AnnotationV1>,
    details_url: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct InlineV1 {
    path: String,
    at: Option<SpanV1>,
    body: String,
    key: String,
}

#[derive(Serialize, Deserialize)]
struct SpanV1 {
    start: u32,
    line: u32,
    left: bool,
}

#[derive(Serialize, Deserialize)]
struct AnnotationV1 {
    path: String,
    start: u32,
    end: u32,
    level: String,
    title: String,
    message: String,
}

impl From<&InlineComment> for InlineV1 {
    fn from(inline: &InlineComment) -> Self {
        let at = inline.at.map(|at| SpanV1 { start: at.start, line: at.line, left: at.side == Side::Left });
        Self { path: inline.path.clone(), at, body: inline.body.clone(), key: inline.key.clone() }
    }
}

impl From<InlineV1> for InlineComment {
    fn from(inline: InlineV1) -> Self {
        let side = |left| if left { Side::Left } else { Side::Right };
        let at = inline.at.map(|at| LineSpan { start: at.start, line: at.line, side: side(at.left) });
        Self { path: inline.path, at, body: inline.body, key: inline.key }
    }
}

impl From<&Annotation> for AnnotationV1 {
    fn from(annotation: &Annotation) -> Self {
        Self {
            path: annotation.path.clone(),
            start: annotation.start_line,
            end: annotation.end_line,
            level: annotation.level.as_str().to_owned(),
            title: annotation.title.clone(),
            message: annotation.message.clone(),
        }
    }
}

impl From<AnnotationV1> for Annotation {
    fn from(annotation: AnnotationV1) -> Self {
        let level = match annotation.level.as_str() {
            "notice" => AnnotationLevel::Notice,
            "warning" => AnnotationLevel::Warning,
            _ => AnnotationLevel::Failure,
        };
        Self {
            path: annotation.path,
            start_line: annotation.start,
            end_line: annotation.end,
            level,
            title: annotation.title,
            message: annotation.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Sha {
        Sha::parse("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap()
    }

    fn inline(at: Option<LineSpan>) -> InlineComment {
        InlineComment { path: "a \"b\".rs".to_owned(), at, body: "x\r\ny\u{0}".to_owned(), key: "fp-1".to_owned() }
    }

    #[track_caller]
    fn check(post: &Post) {
        assert_eq!(Post::read(&post.stored()).as_ref(), Ok(post));
    }

    #[test]
    fn stored_posts_round_trip() {
        let head = head();
        let at = Some(LineSpan { start: 2, line: 5, side: Side::Left });
        let annotation = Annotation {
            path: "a".to_owned(),
            start_line: 1,
            end_line: 2,
            level: AnnotationLevel::Warning,
            title: "t".to_owned(),
            message: "m".to_owned(),
        };
        let text = CheckOutput { title: "t".to_owned(), summary: "s".to_owned(), annotations: vec![annotation] };
        check(&Post::summary(&head, "# a\n".to_owned()));
        check(&Post::note(&head, "skipped", "b".to_owned()));
        check(&Post::resolve(&head, "fp-1"));
        check(&Post::reopen(&head, "fp-1"));
        for act in [ReviewEvent::Comment, ReviewEvent::Approve, ReviewEvent::RequestChanges] {
            check(&Post::review(&head, "b".to_owned(), act, vec![inline(at), inline(None)]));
        }
        check(&Post::inline(&head, inline(at)));
        for place in [CommentRef::Conversation(1), CommentRef::Thread { comment: 2, root: 1 }] {
            check(&Post::reply(&head, place, "b".to_owned()));
        }
        for conclusion in [None, Some(Conclusion::Neutral), Some(Conclusion::Success), Some(Conclusion::Failure)] {
            check(&Post::check(&head, conclusion, text.clone(), Some("https://x")));
        }
    }

    #[test]
    fn an_unknown_conclusion_does_not_pass() {
        let text = CheckOutput { title: String::new(), summary: String::new(), annotations: Vec::new() };
        let mut stored = Post::check(&head(), Some(Conclusion::Success), text, None).stored();
        stored.body = stored.body.replace("success", "splendid");
        let PostContent::Check { conclusion, .. } = Post::read(&stored).unwrap().what else { panic!("no check") };
        assert_eq!(conclusion, Some(Conclusion::ActionRequired));
        stored.body = "{".to_owned();
        assert!(Post::read(&stored).is_err());
    }
}
