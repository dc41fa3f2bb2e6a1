//! Composes the posts of a finished review.
//!
//! Core writes the texts; this module collects their inputs. Nothing is published here.

use std::collections::BTreeSet;

use tollgate_core::finding::{Finding, LineRange, Side};
use tollgate_core::finding_key::FindingKey;
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::pull::Repo;
use tollgate_core::pull::surface::{self, Mode, Surface, SurfaceInput};
use tollgate_core::report::head_state::HeadState;
use tollgate_core::review::Review;
use tollgate_core::sha::Sha;

use super::post::Post;
use crate::config::{ModeWord, Settings};
use crate::forge::host::ReviewEvent;
use crate::pipeline::{self, Reviewed, SinceLast};

/// The beginning of a comment with Review Details and nothing else.
const DETAILS_ALONE: &str = "<details>\n<summary>Review Details</summary>";

/// The inputs of a review's posts.
#[derive(Clone, Copy)]
pub struct PostInputs<'a> {
    /// The review.
    pub reviewed: &'a Reviewed,
    /// The settings of the target branch.
    pub settings: &'a Settings,
    /// The name for mentions, without `@`; `None` where no server answers bot commands.
    pub mention: Option<&'a str>,
    /// The web URL of the host: `https://github.com`.
    pub site_url: &'a str,
    /// The repository.
    pub repo: &'a Repo,
    /// The keys of findings that already have a comment of ours.
    pub known: &'a BTreeSet<String>,
    /// True when the pull request already has our summary.
    pub has_summary: bool,
    /// True when nothing of the prior review was published, so that there is no delta to show.
    pub is_first_seen: bool,
    /// The findings of the prior review, as far as known.
    pub before: &'a [Finding],
    /// The page with the whole review.
    pub details_url: Option<&'a str>,
}

/// Composes the posts of a review.
pub fn posts(inputs: &PostInputs<'_>) -> Vec<Post> {
    let reviewed = inputs.reviewed;
    let head = &reviewed.review.reviewed;
    let Surface { summary, settled, review, at_files, check } = surface_of(inputs);
    let mut posts = Vec::new();
    if let Some(review) = review {
        posts.push(Post::review(head, review.body, act(review.act), review.inline));
    }
    posts.extend(at_files.into_iter().map(|inline| Post::inline(head, inline)));
    if let Some(summary) = summary.or(settled.filter(|_| inputs.has_summary)) {
        posts.push(Post::summary(head, summary));
    }
    posts.extend(resolved(inputs).into_iter().map(|key| Post::resolve(head, &key)));
    posts.extend(returned(inputs).into_iter().map(|key| Post::reopen(head, &key)));
    let (conclusion, text) = check;
    posts.push(Post::check(head, Some(conclusion), text, inputs.details_url));
    posts
}

fn surface_of(inputs: &PostInputs<'_>) -> Surface {
    let PostInputs { reviewed, settings, .. } = *inputs;
    let head = &reviewed.review.reviewed;
    let since = reviewed.since.as_ref().filter(|_| !inputs.is_first_seen);
    let delta = since.map(SinceLast::for_report).filter(|since| since.had_findings);
    let delta = delta.map(|since| since.blockers(&reviewed.review));
    let state = HeadState::of(&reviewed.review, reviewed.gate, delta);
    let summary = pipeline::summary_text(reviewed, &settings.bot, since);
    let summary = summary.map(|text| with_verdict(text, &reviewed.review, &state));
    let url_of = |file: &FilePath, lines: Option<LineRange>, side: Side| {
        let commit = match side {
            Side::Left => &reviewed.review.base,
            Side::Right => head,
        };
        permalink(inputs.site_url, inputs.repo, commit, file, lines)
    };
    surface::surface(&SurfaceInput {
        bot: &settings.bot,
        mention: inputs.mention,
        head,
        review: &reviewed.review,
        files: &reviewed.change.files,
        state: &state,
        summary: summary.as_deref(),
        new: since.map(|since| since.new.as_slice()),
        known: inputs.known,
        cap: Some(reviewed.policy.cap),
        url_of: &url_of,
        details_url: inputs.details_url,
        mode: mode(settings.mode),
        auto_approve: settings.auto_approve,
    })
}

/// A stored review that was re-evaluated after a finding was dismissed.
pub(super) struct ReevaluatedReview<'a> {
    pub(super) review: &'a Review,
    pub(super) gate: Gate,
    pub(super) settings: &'a Settings,
    pub(super) mention: &'a str,
    /// The keys of findings that have a comment.
    pub(super) known: &'a BTreeSet<String>,
    pub(super) has_summary: bool,
    pub(super) details_url: Option<String>,
}

impl ReevaluatedReview<'_> {
    /// Its posts: the summary, if there is one, and the check run. Line comments stay as they are.
    pub(super) fn posts(&self) -> Vec<Post> {
        let Self { review, gate, settings, .. } = *self;
        let head = &review.reviewed;
        let state = HeadState::stored(review, Some(gate));
        let summary = pipeline::stored_summary_text(review, gate, &settings.bot);
        let summary = summary.map(|text| with_verdict(text, review, &state));
        let surface = surface::surface(&SurfaceInput {
            bot: &settings.bot,
            mention: Some(self.mention),
            head,
            review,
            files: &[],
            state: &state,
            summary: summary.as_deref(),
            new: Some(&[]),
            known: self.known,
            cap: None,
            url_of: &|_, _, _| String::new(),
            details_url: self.details_url.as_deref(),
            mode: mode(settings.mode),
            auto_approve: false,
        });
        let mut posts = Vec::new();
        if let Some(summary) = surface.summary.or(surface.settled).filter(|_| self.has_summary) {
            posts.push(Post::summary(head, summary));
        }
        let (conclusion, text) = surface.check;
        posts.push(Post::check(head, Some(conclusion), text, self.details_url.as_deref()));
        posts
    }
}

/// Review Details alone are folded, so a verdict that a dismissal made green stands above them.
fn with_verdict(text: String, review: &Review, state: &HeadState) -> String {
    let is_alone = review.uncounted_blockers().next().is_some() && text.starts_with(DETAILS_ALONE);
    if is_alone { format!("{}\n\n{text}", state.markdown()) } else { text }
}

fn permalink(site: &str, repo: &Repo, commit: &Sha, file: &FilePath, lines: Option<LineRange>) -> String {
    let mut url = format!("{site}/{repo}/blob/{commit}/");
    for byte in file.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    match lines {
        Some(lines) if lines.start() == lines.end() => url.push_str(&format!("#L{}", lines.start())),
        Some(lines) => url.push_str(&format!("#L{}-L{}", lines.start(), lines.end())),
        None => {}
    }
    url
}

/// The keys of resolved findings whose threads can be resolved.
fn resolved(inputs: &PostInputs<'_>) -> Vec<String> {
    let now: BTreeSet<FindingKey> = FindingKey::all(&inputs.reviewed.review.findings).into_iter().collect();
    let resolved = inputs.reviewed.since.iter().flat_map(|since| &since.resolved);
    let before = FindingKey::all(inputs.before);
    let key_of = |finding: &Finding| {
        let place = inputs.before.iter().position(|before| before == finding);
        place.and_then(|place| before.get(place).copied()).unwrap_or_else(|| FindingKey::of(finding))
    };
    let keys: BTreeSet<FindingKey> = resolved.map(key_of).filter(|key| !now.contains(key)).collect();
    keys.into_iter().map(|key| key.to_string()).filter(|key| inputs.known.contains(key)).collect()
}

/// The keys of new findings that have a comment of ours already: they may be back.
fn returned(inputs: &PostInputs<'_>) -> Vec<String> {
    let findings = &inputs.reviewed.review.findings;
    let new = inputs.reviewed.since.as_ref().map(|since| since.new.as_slice());
    let is_new = |index: usize| new.is_none_or(|new| new.contains(&index));
    let keys = FindingKey::numbered(findings, is_new);
    let new = keys.into_iter().enumerate().filter(|(index, _)| is_new(*index));
    new.map(|(_, key)| key.to_string()).filter(|key| inputs.known.contains(key)).collect()
}

/// The host's event for a review.
pub fn act(act: surface::ReviewAction) -> ReviewEvent {
    match act {
        surface::ReviewAction::Comment => ReviewEvent::Comment,
        surface::ReviewAction::Approve => ReviewEvent::Approve,
        surface::ReviewAction::RequestChanges => ReviewEvent::RequestChanges,
    }
}

fn mode(mode: ModeWord) -> Mode {
    match mode {
        ModeWord::Standard => Mode::Standard,
        ModeWord::Enhanced => Mode::Enhanced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permalink_leads_to_the_lines() {
        let (repo, sha) = (Repo::parse("o/r").unwrap(), Sha::parse(&"a".repeat(40)).unwrap());
        let of = |path: &str, lines| {
            let link = permalink("https://h", &repo, &sha, &FilePath::parse(path).unwrap(), lines);
            link.replace(sha.as_str(), "SHA")
        };
        let range = LineRange::new(3, 5);
        assert_eq!(of("src/a.rs", range), "https://h/o/r/blob/SHA/src/a.rs#L3-L5");
        assert_eq!(of("a b#c?.rs", Some(LineRange::line(7))), "https://h/o/r/blob/SHA/a%20b%23c%3F.rs#L7");
        assert_eq!(of("ä", None), "https://h/o/r/blob/SHA/%C3%A4");
    }
}
