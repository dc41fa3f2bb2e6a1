//! The page of a feature: what its reviews say, with the change they speak of, and what a person can do about it.
//!
//! One reading of the desk makes the whole page, so that its parts do not contradict one another. The parts that change
//! by themselves are fragments, which the script asks for on an event:
//!
//! ```text
//! GET /projects/1/features/login?iteration=2&severity=error   the page
//! GET /projects/1/features/login/part/findings?iteration=2    one part: head, findings, changes or about
//! GET /projects/1/features/login/iterations/2/audit           what reviewers were asked and said
//! ```

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use tollgate_core::board::machine::Offer;
use tollgate_core::board::{FeatureId, Iteration, Remark};
use tollgate_engine::failure::{Failure, Kind};

use crate::desk::record::{Dismissed, Looked};
use crate::desk::{self, Answer, Desk, Feature, Part, ProjectId, Refusal, Step};
use crate::extract::{OfFeature, OfIteration, Query as FromAddress};
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::words;
use crate::problem::{self, Problem};
use crate::routes::Shared;

mod about;
mod acts;
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

/// What the desk knows of a feature, read at once.
pub(super) struct Loaded {
    project: ProjectId,
    feature: Feature,
    /// The reviews that stand, one for each number.
    reviews: Vec<Iteration>,
    which: Which,
    offers: Vec<Offer>,
    history: Vec<Step>,
    dismissals: Vec<Dismissed>,
    looked: Option<Looked>,
    /// The iteration whose output is shown, where it begins, and the output.
    output: Option<(u32, u64, desk::Output)>,
}

impl Loaded {
    fn read(desk: &dyn Desk, project: ProjectId, id: &FeatureId, which: Which) -> Answer<Self> {
        let feature = desk.feature(project, id)?;
        let mut reviews: Vec<Iteration> = Vec::new();
        for review in desk.iterations(project, id)? {
            reviews.retain(|earlier| earlier.number != review.number);
            if !review.outdated {
                reviews.push(review);
            }
        }
        let (offers, history, dismissals) =
            (desk.offers(project, id)?, desk.history(project, id)?, desk.dismissals(project)?);
        let mut loaded =
            Self { project, feature, reviews, which, offers, history, dismissals, looked: None, output: None };
        let wanted = match which {
            Which::Last => vec![],
            Which::One(number) => vec![number],
            Which::Two(one, other) => vec![one, other],
        };
        for number in wanted {
            loaded.review(number).ok_or_else(|| no_review(number))?;
        }
        if let Some(number) = loaded.number() {
            loaded.looked = desk.looked(project, id, number)?;
        }
        let output = loaded.number().filter(|_| which != Which::Last).unwrap_or(loaded.feature.state.iteration);
        if output > 0 {
            let (from, text) = desk.last_output(project, id, output, OUTPUT_BYTES)?;
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

    /// The review before another.
    fn before(&self, number: u32) -> Option<&Iteration> {
        self.reviews.iter().rfind(|review| review.number < number)
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

    fn is_compared(&self) -> bool {
        matches!(self.which, Which::Two(..))
    }

    fn dismissed(&self, remark: &Remark) -> Option<&Dismissed> {
        self.dismissals.iter().find(|dismissed| dismissed.covers(remark))
    }

    fn compared(&self) -> Option<Compared> {
        let Which::Two(one, other) = self.which else { return None };
        Some(Compared::new(self, self.review(one)?, self.review(other)?))
    }
}

fn no_review(number: u32) -> Refusal {
    let failure = Failure::new(Kind::User, format!("iteration {number} has no review"));
    Refusal::NotFound(failure.hint("The page of the feature shows those that have one."))
}

/// All parts of the page.
struct Parts {
    project: ProjectId,
    feature: Feature,
    base: String,
    /// What follows the address, so that a script asks for parts of the same.
    tail: String,
    head: Head,
    acts: Acts,
    findings: Findings,
    compared: Option<Compared>,
    about: About,
    /// The review that is looked at.
    number: Option<u32>,
    changes: Option<Markup>,
    /// What is said where the change cannot be shown.
    no_changes: String,
}

impl Parts {
    fn read(desk: &dyn Desk, project: ProjectId, id: &FeatureId, query: &Query) -> Answer<Self> {
        let loaded = Loaded::read(desk, project, id, query.which)?;
        let base = query::base(project, id);
        let mut findings = Findings::new(&loaded, query, &base);
        let (changes, no_changes) = changes(desk, &loaded, query, &base)?;
        if changes.is_some() {
            findings::link(&mut findings, crate::pages::diff::finding_anchor);
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
            changes,
            no_changes,
            base,
            feature: loaded.feature,
        })
    }
}
