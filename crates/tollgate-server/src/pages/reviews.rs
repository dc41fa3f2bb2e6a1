//! All stored reviews: `/reviews`, with search and filters in the address.
//!
//! It is a plain form and a table, and works without a script; the script only tells when there is something new.

use askama::Template;
use axum::extract::State;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::visible::grouped;
use tollgate_engine::board::iso;
use tollgate_engine::failure::Failure;
use tollgate_engine::history;
use tollgate_engine::store::{Listed, Names, OfFeature, Order, Origin};

use crate::app::Shared;
use crate::extract::Query;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::{Page, finding, words};
use crate::problem::Problem;
use crate::routes::reviews::ReviewQuery;
use crate::view::review::ReviewPage;

mod address;
pub(crate) mod one;

pub(crate) use address::encoded;

/// So many reviews are on a page.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "reviews.html")]
pub(crate) struct ReviewsPage {
    chrome: Chrome,
    /// The current filter, to fill in the form again.
    which: ReviewQuery,
    choices: Choices,
    rows: Vec<Row>,
    total_words: String,
    /// How many there are without any filter; known only where nothing fits.
    has_any: bool,
    /// The active filters, each with the address that removes it.
    active: Vec<Active>,
    next: Option<String>,
    /// True when this is not the beginning of the list.
    is_later: bool,
    start: String,
    /// What the script asks for when something may be new.
    newer: String,
}

/// The options of the form.
struct Choices {
    names: Names,
    verdicts: [(&'static str, &'static str); 4],
    gates: [(&'static str, &'static str); 3],
    origins: [(&'static str, &'static str); 3],
    orders: [(&'static str, &'static str); 4],
    categories: [&'static str; 10],
    severities: [&'static str; 6],
    /// True when one of the rarer filters is in use.
    is_open: bool,
}

/// A filter that is in use.
struct Active {
    words: String,
    without: String,
}

/// A review in the list.
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) title: String,
    pub(crate) subject: String,
    pub(crate) repository: String,
    pub(crate) origin: &'static str,
    pub(crate) ended: String,
    pub(crate) ended_words: String,
    pub(crate) result: Chip,
    /// What the gate said, where that is not what the verdict says.
    pub(crate) partial: Option<String>,
    pub(crate) counts: Vec<Chip>,
    pub(crate) n_withheld: usize,
    pub(crate) n_new: Option<u64>,
    pub(crate) n_resolved: Option<u64>,
    pub(crate) took: String,
    pub(crate) cost: Option<String>,
    pub(crate) tokens: Option<String>,
    pub(crate) reviewers: String,
    pub(crate) feature: Option<FeatureLink>,
    pub(crate) problem: Option<String>,
}

/// A word with a meaning, told by sign and colour as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chip {
    pub(crate) class: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) words: String,
}

/// Where a feature is shown.
pub(crate) struct FeatureLink {
    pub(crate) href: String,
    pub(crate) title: String,
    pub(crate) iteration: u32,
}

impl FeatureLink {
    pub(crate) fn of(of: &OfFeature) -> Self {
        let OfFeature { project, feature, title, iteration } = of;
        let href = format!("/projects/{project}/features/{feature}?iteration={iteration}");
        let title = if title.trim().is_empty() { feature.to_string() } else { title.clone() };
        Self { href, title, iteration: *iteration }
    }
}

impl Row {
    pub(crate) fn of(listed: Listed) -> Self {
        let title = listed.title.as_deref().filter(|title| !title.trim().is_empty());
        let n_missed = listed.coverage.not_reviewed as u64;
        Self {
            id: listed.id,
            title: title.unwrap_or(&listed.subject.name).to_owned(),
            subject: in_words(&listed),
            origin: origin_in_words(listed.origin),
            ended: iso(listed.ended_ms),
            ended_words: words::moment(&iso(listed.ended_ms)),
            result: result(&listed),
            partial: (n_missed > 0).then(|| format!("partial: {} not reviewed", words::count(n_missed, "hunk"))),
            counts: counts(&listed),
            n_withheld: listed.counts.withheld,
            n_new: listed.n_new.filter(|n| *n > 0),
            n_resolved: listed.n_resolved.filter(|n| *n > 0),
            took: words::duration(listed.took_ms),
            cost: listed.cost_usd.map(words::cost),
            tokens: listed.n_tokens.map(|n| words::count(n, "token")),
            reviewers: history::reviewers(&listed).join(", "),
            feature: listed.feature.as_ref().map(FeatureLink::of),
            problem: listed.problem.as_deref().map(first_line),
            repository: listed.subject.repository,
        }
    }
}

/// The branch or pull request, and which of its changes where that is not all of them.
pub(crate) fn in_words(listed: &Listed) -> String {
    match listed.subject.scope.as_str() {
        "branch" | "pipeline" => listed.subject.name.clone(),
        scope => format!("{} ({scope})", listed.subject.name),
    }
}

pub(crate) fn origin_in_words(origin: Origin) -> &'static str {
    match origin {
        Origin::CommandLine => "command line",
        Origin::Pipeline => "pipeline",
        Origin::PullRequest => "pull request",
    }
}

/// The outcome of a review. A closed gate or unreviewed hunks are never shown as fine.
pub(crate) fn result(listed: &Listed) -> Chip {
    use tollgate_core::gate::Gate;
    use tollgate_core::verdict::Colour;
    let Some(state) = &listed.state else {
        return Chip { class: "warn", sign: "!", words: "failed".to_owned() };
    };
    let (class, sign) = match (state.colour(), state.gate()) {
        (Colour::Red, _) => ("bad", "✖"),
        (Colour::Yellow | Colour::Green | Colour::Blue, Gate::Closed) => ("warn", "✖"),
        (_, Gate::Partial | Gate::Skipped) => ("warn", "◐"),
        (Colour::Yellow, Gate::Open) => ("warn", "●"),
        (Colour::Blue, Gate::Open) => ("info", "●"),
        (Colour::Green, Gate::Open) => ("ok", "✔"),
    };
    Chip { class, sign, words: state.label().to_owned() }
}

pub(crate) fn counts(listed: &Listed) -> Vec<Chip> {
    let chip = |(severity, n): &(Severity, usize)| Chip {
        class: finding::kind(*severity),
        sign: finding::icon(*severity),
        words: format!("{n} {}", severity.as_str().to_lowercase()),
    };
    listed.counts.by_severity.iter().map(chip).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}

/// Stored reviews, the newest first.
pub(crate) async fn list(
    State(app): State<Shared>,
    visitor: Visitor,
    Query(which): Query<ReviewQuery>,
) -> Result<Page<ReviewsPage>, Problem> {
    let which = ReviewQuery { limit: Some(which.limit.unwrap_or(SHOWN)), ..address::without_blanks(which) };
    let chrome = visitor.chrome(&app, Section::Reviews, "Reviews", None).await?;
    let query = which.check()?;
    let (page, names, newest) = app
        .call(move |board| {
            let database = board.database();
            Ok::<_, Failure>((ReviewPage::read(board, &query)?, database.run_names()?, database.newest_run()?))
        })
        .await?;
    let start = address::of(&ReviewQuery { after: None, ..which.clone() });
    let newer = ReviewQuery {
        after: None,
        newer: Some(u64::try_from(newest).unwrap_or_default()),
        limit: Some(1),
        ..which.clone()
    };
    Ok(Page(ReviewsPage {
        chrome,
        choices: Choices::new(names, &which),
        active: active(&which),
        has_any: newest > 0,
        total_words: grouped(page.total),
        next: page
            .next
            .and_then(|next| u64::try_from(next).ok())
            .map(|after| address::of(&ReviewQuery { after: Some(after), ..which.clone() })),
        is_later: which.after.is_some(),
        newer: format!("/api{}", address::of(&newer)),
        start,
        rows: page.items.into_iter().map(Row::of).collect(),
        which,
    }))
}

impl Choices {
    fn new(names: Names, which: &ReviewQuery) -> Self {
        let rare = [&which.gate, &which.reviewer, &which.rule, &which.category, &which.file, &which.from, &which.to];
        Self {
            names,
            verdicts: [
                ("approved", "approved"),
                ("commented", "commented"),
                ("changes_requested", "changes requested"),
                ("failed", "failed"),
            ],
            gates: [("open", "open"), ("closed", "closed"), ("partial", "partial")],
            origins: Origin::ALL.map(|origin| (origin.as_str(), origin_in_words(origin))),
            orders: Order::ALL.map(|order| (order.as_str(), order_in_words(order))),
            categories: Category::ALL.map(Category::as_str),
            severities: Severity::ALL.map(Severity::as_str),
            is_open: rare.iter().any(|value| value.is_some()),
        }
    }
}

fn order_in_words(order: Order) -> &'static str {
    match order {
        Order::Newest => "newest first",
        Order::Findings => "most findings",
        Order::Longest => "longest",
        Order::Dearest => "most expensive",
    }
}

/// The active filters, each with the address that removes it.
fn active(which: &ReviewQuery) -> Vec<Active> {
    let mut active = Vec::new();
    for (name, words) in address::FILTERS {
        let Some(value) = address::get(which, name) else { continue };
        let mut rest = ReviewQuery { after: None, ..which.clone() };
        address::clear(&mut rest, name);
        active.push(Active { words: format!("{words}: {}", value.replace('_', " ")), without: address::of(&rest) });
    }
    active
}
