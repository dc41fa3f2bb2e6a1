//! Builds the events that announce a transition of a feature.
//!
//! The order of a review's events is fixed: completed, then approved, rejected or failed, then the iteration limit.
//! The status change comes last, since the events before it are its causes.

use tollgate_core::board::feature_event::{self, FeatureEvent};
use tollgate_core::board::machine::{Effect, State};
use tollgate_core::board::{FeatureId, Iteration};

use crate::store::board::NewEvent;

/// Builds one event about a feature.
pub(super) fn event(project: i64, path: &str, feature: &FeatureId, announced: &FeatureEvent<'_>) -> NewEvent {
    NewEvent {
        project: Some(project),
        feature: Some(feature.clone()),
        kind: announced.name().to_owned(),
        payload: feature_event::payload(path, feature.as_str(), announced).to_string(),
    }
}

/// The inputs of a transition's events.
pub(super) struct TransitionEvents<'a> {
    pub(super) project: i64,
    pub(super) path: &'a str,
    pub(super) feature: &'a FeatureId,
    /// The review that just finished.
    pub(super) iteration: Option<&'a Iteration>,
    /// The error, in words.
    pub(super) problem: Option<&'a str>,
    /// Events to announce first.
    pub(super) first: Vec<NewEvent>,
}

impl TransitionEvents<'_> {
    /// The events of one transition, in order.
    pub(super) fn events(mut self, before: &State, after: &State, effects: &[Effect]) -> Vec<NewEvent> {
        let mut events = std::mem::take(&mut self.first);
        for effect in effects {
            events.extend(self.of_effect(effect, after));
        }
        if before.status != after.status {
            let reason = after.pause.map(|pause| pause.in_words());
            let (status, previous) = (&after.status, &before.status);
            events.push(self.event(&FeatureEvent::StatusChanged { status, previous, reason }));
        } else if events.is_empty() {
            events.push(self.event(&FeatureEvent::Changed));
        }
        events
    }

    fn of_effect(&self, effect: &Effect, after: &State) -> Option<NewEvent> {
        let iteration = self.iteration;
        let number = iteration.map_or(after.iteration, |iteration| iteration.number);
        let reason = iteration.and_then(|iteration| iteration.reason.as_deref()).or(self.problem);
        let announced = match effect {
            Effect::EndWork | Effect::Clean => return None,
            Effect::ReviewStarted => FeatureEvent::ReviewStarted { iteration: after.iteration },
            Effect::RecordNothing => {
                FeatureEvent::ReviewRejected { iteration: number, reason: reason.unwrap_or_default() }
            }
            Effect::ReviewCompleted => {
                let iteration = iteration?;
                FeatureEvent::ReviewCompleted {
                    iteration: number,
                    outcome: iteration.outcome,
                    findings: &iteration.findings,
                    summary: &iteration.summary,
                    unchecked: iteration.is_unchecked(),
                }
            }
            Effect::ReviewApproved(next) => FeatureEvent::ReviewApproved { next },
            Effect::ReviewRejected => {
                FeatureEvent::ReviewRejected { iteration: number, reason: reason.unwrap_or_default() }
            }
            Effect::ReviewFailed => FeatureEvent::ReviewFailed { error: reason.unwrap_or("no answer") },
            Effect::MaxIterations => FeatureEvent::MaxIterations,
            Effect::Paused(why) => {
                FeatureEvent::Paused { why: *why, message: self.problem.unwrap_or_else(|| why.in_words()) }
            }
        };
        Some(self.event(&announced))
    }

    fn event(&self, announced: &FeatureEvent<'_>) -> NewEvent {
        event(self.project, self.path, self.feature, announced)
    }
}
