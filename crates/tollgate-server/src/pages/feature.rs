//! The page of a feature: what its reviews say, with the change they speak of, and what a person can do about it.
//!
//! The board is read once for the whole page, so that its parts are consistent. The parts that change by themselves are
//! fragments, which the script fetches on an event:
//!
//! ```text
//! GET /projects/1/features/login?iteration=2&severity=error   the page
//! GET /projects/1/features/login/part/all?iteration=2         one part: the changes, or all but them
//! GET /projects/1/features/login/iterations/2/audit           what reviewers were asked and said
//! ```

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use tollgate_core::board::machine::{AvailableAction, Status};
use tollgate_core::board::{FeatureId, Iteration, Outcome, Remark};
use tollgate_core::path::FilePath;
use tollgate_engine::board::{Board, Output, Part, Refused};

use crate::app::{ProjectId, Shared};
use crate::extract::{OfFeature, OfIteration, Query as FromAddress};
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::{Page, diff, finding};
use crate::problem::{self, Kind, Problem};
use crate::view::FeatureBody;
use crate::view::record::{DismissalBody, HistoryEntry, RunDetails};

mod about;
pub(in crate::pages) mod acts;
mod audit;
mod findings;
mod head;
mod query;

pub(crate) use query::Asked;

use about::About;
use acts::Acts;
use audit::AuditView;
use findings::{Compared, Findings};
use head::Head;
use query::{Query, Which};

/// So much of what an agent said is on the page at first.
const OUTPUT_BYTES: usize = 24 * 1024;

/// A feature with all that its page shows, read at once.
pub(super) struct Loaded {
    project: ProjectId,
    feature: FeatureBody,
    /// The reviews that stand, one for each number.
    reviews: Vec<Iteration>,
    which: Which,
    offers: Vec<AvailableAction>,
    history: Vec<HistoryEntry>,
    dismissals: Vec<DismissalBody>,
    /// The name of the step it is at.
    step: Option<String>,
    run: Option<RunDetails>,
    /// The iteration whose output is shown, where it begins, and the output.
    output: Option<(u32, u64, Output)>,
}

/// The name of a step in the settings of a project.
fn step_name(board: &Board, project: ProjectId, status: &Status) -> Option<String> {
    let Status::Step(id) = status else { return None };
    let (steps, _) = board.steps(project).ok()?;
    steps.into_iter().find(|step| step.id == *id).map(|step| step.name)
}

impl Loaded {
    fn read(board: &Board, project: ProjectId, id: &FeatureId, which: Which) -> Result<Self, Problem> {
        let feature = FeatureBody::read(board, project, id)?;
        let mut reviews: Vec<Iteration> = Vec::new();
        for review in board.iterations(project, id)?.into_iter().map(|row| row.iteration) {
            reviews.retain(|earlier| earlier.number != review.number);
            if !review.outdated {
                reviews.push(review);
            }
        }
        let offers = board.available_actions(project, id)?;
        let history = board.history(project, id)?.into_iter().map(HistoryEntry::from).collect();
        let dismissals = board.dismissals_of(project, id)?.into_iter().map(DismissalBody::from).collect();
        let step = step_name(board, project, &feature.state.status);
        let mut loaded =
            Self { project, feature, reviews, which, offers, history, dismissals, step, run: None, output: None };
        let wanted = match which {
            Which::Last => vec![],
            Which::One(number) => vec![number],
            Which::Two(one, other) => vec![one, other],
        };
        for number in wanted {
            loaded.review(number).ok_or_else(|| no_review(number))?;
        }
        if let Some(number) = loaded.number() {
            loaded.run = board.run_of(project, id, number)?.and_then(RunDetails::of);
        }
        let output = loaded.number().filter(|_| which != Which::Last).unwrap_or(loaded.feature.state.iteration);
        if output > 0 {
            let (from, text) = board.last_output(project, id, output, OUTPUT_BYTES)?;
            loaded.output = Some((output, from, text));
        }
        Ok(loaded)
    }

    /// What the feature is called.
    fn title(&self) -> String {
        let first_line = self.feature.description.lines().map(str::trim).find(|line| !line.is_empty());
        let title = Some(self.feature.title.trim()).filter(|title| !title.is_empty());
        title.or(first_line).unwrap_or(self.feature.id.as_str()).to_owned()
    }

    fn review(&self, number: u32) -> Option<&Iteration> {
        self.reviews.iter().find(|review| review.number == number)
    }

    /// The review before another that brought an answer.
    fn before(&self, number: u32) -> Option<&Iteration> {
        self.reviews.iter().rfind(|review| review.number < number && review.outcome != Outcome::Failed)
    }

    /// The number of the review that is looked at; of two, the later one.
    fn number(&self) -> Option<u32> {
        match self.which {
            Which::Last => self.reviews.last().map(|review| review.number),
            Which::One(number) | Which::Two(_, number) => Some(number),
        }
    }

    fn shown(&self) -> Option<&Iteration> {
        self.number().and_then(|number| self.review(number))
    }

    /// The change that is looked at, if something was changed.
    fn change(&self) -> Option<diff::DiffTarget> {
        let iteration = self.shown().filter(|review| review.commit.is_some())?.number;
        let part = if self.is_compared() { Part::Delta } else { Part::Whole };
        Some(diff::DiffTarget { project: self.project, feature: self.feature.id.clone(), iteration, part })
    }

    fn is_compared(&self) -> bool {
        matches!(self.which, Which::Two(..))
    }

    fn dismissed(&self, remark: &Remark) -> Option<&DismissalBody> {
        self.dismissals.iter().find(|dismissed| dismissed.covers(remark))
    }

    fn compared(&self) -> Option<Compared> {
        let Which::Two(one, other) = self.which else { return None };
        Some(Compared::new(self, self.review(one)?, self.review(other)?))
    }
}

fn no_review(number: u32) -> Problem {
    Problem::new(Kind::NotFound, format!("iteration {number} has no review"))
        .hint("The page of the feature shows those that have one.")
}

/// How much of the page is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum With {
    Changes,
    /// All but the change, which is the most work.
    Rest,
}

/// All parts of the page.
struct Parts {
    project: ProjectId,
    feature: FeatureBody,
    base: String,
    /// The query string, so that a script requests fragments of the same view.
    tail: String,
    head: Head,
    acts: Acts,
    findings: Findings,
    compared: Option<Compared>,
    about: About,
    /// The review that is looked at.
    number: Option<u32>,
    /// When it was made; another time is another review.
    reviewed: String,
    changes: Option<Markup>,
    /// The message where the change cannot be shown.
    no_changes: String,
}

impl Parts {
    fn read(board: &Board, project: ProjectId, id: &FeatureId, query: &Query, with: With) -> Result<Self, Problem> {
        let loaded = Loaded::read(board, project, id, query.which)?;
        let base = query::base(project, id);
        let mut findings = Findings::new(&loaded, query, &base);
        let (changes, no_changes) = match with {
            With::Changes => changes(board, &loaded, query, &base)?,
            With::Rest => (None, String::new()),
        };
        if let Some(of) = loaded.change() {
            // Without places in the diff a list is still a list.
            let shown = board.shown(project, id, of.iteration, of.part).ok();
            let files = shown.iter().flat_map(|shown| &shown.files);
            let files: Vec<FilePath> = files.map(|file| FilePath::of_repo_path(file.path())).collect();
            findings::link(&mut findings, &files);
        }
        Ok(Self {
            project,
            tail: query.tail(),
            head: Head::new(&loaded, query, &base),
            acts: Acts::new(&loaded.feature, &loaded.offers),
            findings,
            compared: loaded.compared(),
            about: About::new(&loaded, query.is_all),
            number: loaded.number(),
            reviewed: loaded.shown().map(|review| review.reviewed_at.clone()).unwrap_or_default(),
            changes,
            no_changes,
            base,
            feature: loaded.feature,
        })
    }
}

/// The change that is looked at, or why there is none.
fn changes(board: &Board, loaded: &Loaded, query: &Query, base: &str) -> Result<(Option<Markup>, String), Problem> {
    let (Some(review), Some(of)) = (loaded.shown(), loaded.change()) else {
        let is_reviewed = loaded.shown().is_some();
        let words = if is_reviewed {
            "Nothing was changed in this iteration."
        } else {
            "What an agent changes is shown here once it was reviewed."
        };
        return Ok((None, words.to_owned()));
    };
    let address = |is_split| format!("{base}{}", Query { is_split, ..query.clone() }.tail());
    let view = if query.is_split { diff::View::Split } else { diff::View::Unified };
    let options = diff::Options { view, addresses: [address(false), address(true)] };
    let findings = finding::marked(review, loaded.before(review.number), &loaded.dismissals);
    match diff::section(board, &of, &options, findings) {
        Ok(markup) => Ok((Some(markup), String::new())),
        // The rest of the page is worth having without it.
        Err(problem) if problem.kind() != Kind::NotFound => {
            Ok((None, format!("The change cannot be shown: {}.", problem.in_words().1)))
        }
        Err(problem) => Err(problem),
    }
}

#[derive(Template)]
#[template(path = "feature.html")]
struct FeaturePage {
    chrome: Chrome,
    page: Parts,
}

/// Everything but the change.
#[derive(Template)]
#[template(path = "feature_all.html")]
struct AllPart {
    page: Parts,
}

#[derive(Template)]
#[template(path = "feature_changes.html")]
struct ChangesPart {
    page: Parts,
}

#[derive(Template)]
#[template(path = "feature_audit.html")]
struct AuditPage {
    chrome: Chrome,
    base: String,
    audit: AuditView,
}

#[derive(Template)]
#[template(path = "feature_audit_part.html")]
struct AuditPart {
    audit: AuditView,
}

/// The page of a feature.
pub(crate) async fn page(
    State(app): State<Shared>,
    visitor: Visitor,
    OfFeature(project, id): OfFeature,
    FromAddress(asked): FromAddress<Asked>,
) -> Result<Response, Problem> {
    let chrome = visitor.chrome(&app, Section::Board, "Feature", Some(project)).await?;
    let page =
        app.call_in(project, move |board| Parts::read(board, project, &id, &asked.read(), With::Changes)).await?;
    let chrome = Chrome { title: page.head.title.clone(), ..chrome };
    Ok(Page(FeaturePage { chrome, page }).into_response())
}

pub(crate) async fn part(
    State(app): State<Shared>,
    OfFeature(project, id): OfFeature,
    Path(names): Path<HashMap<String, String>>,
    FromAddress(asked): FromAddress<Asked>,
) -> Result<Response, Problem> {
    let name = names.get("part").cloned().unwrap_or_default();
    let with = match name.as_str() {
        "all" => With::Rest,
        "changes" => With::Changes,
        _ => return Err(problem::no_such_path()),
    };
    let page = app.call_in(project, move |board| Parts::read(board, project, &id, &asked.read(), with)).await?;
    Ok(match name.as_str() {
        "all" => Page(AllPart { page }).into_response(),
        _ => Page(ChangesPart { page }).into_response(),
    })
}

/// The prompts and answers of an iteration: a page, or a fragment of one.
pub(crate) async fn audit(
    State(app): State<Shared>,
    visitor: Visitor,
    headers: HeaderMap,
    OfIteration(project, id, number): OfIteration,
) -> Result<Response, Problem> {
    let chrome = visitor.chrome(&app, Section::Board, "Audit", Some(project)).await?;
    let base = query::base(project, &id);
    let (feature, audit) = app
        .call_in(project, move |board| {
            Ok::<_, Refused>((board.feature(project, &id)?, board.audit(project, &id, number)?))
        })
        .await?;
    let audit = AuditView::new(number, audit);
    let accepts = |value: &axum::http::HeaderValue| value.to_str().is_ok_and(|value| value.contains("fragment"));
    if headers.get(header::ACCEPT).is_some_and(accepts) {
        return Ok(Page(AuditPart { audit }).into_response());
    }
    let title = format!("Audit of review {number} · {}", feature.facts.title);
    Ok(Page(AuditPage { chrome: Chrome { title, ..chrome }, base, audit }).into_response())
}
