//! What is behind reviews, on a real board.

use serde_json::Value;
use tollgate_core::board::{FeatureId, Remark};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_engine::board::{Audit, Refused, iso};
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::history::Export;
use tollgate_engine::store::{DismissalRow, Run};

use super::{BoardDesk, conflict, refusal};
use crate::desk::record::{Asked, Dismissed, Looked, Pointed, Record};
use crate::desk::{Answer, Output, ProjectId, Refusal};

impl Record for BoardDesk {
    fn audit(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Audit> {
        self.board.audit(self.row(project)?.id, feature, iteration).map_err(refusal)
    }

    fn looked(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Option<Looked>> {
        let run = self.board.run_of(self.row(project)?.id, feature, iteration).map_err(refusal)?;
        Ok(run.and_then(looked))
    }

    fn last_output(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        iteration: u32,
        most: usize,
    ) -> Answer<(u64, Output)> {
        let found = self.board.last_output(self.row(project)?.id, feature, iteration, most).map_err(refusal)?;
        let (from, output) = found;
        Ok((from, Output { text: output.text, next: output.next, is_running: output.is_open }))
    }

    fn dismissals(&self, project: ProjectId) -> Answer<Vec<Dismissed>> {
        let rows = self.board.dismissals(self.row(project)?.id).map_err(refusal)?;
        Ok(rows.into_iter().map(dismissed).collect())
    }

    fn dismiss(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        which: &Pointed,
        reason: &str,
        by: &str,
    ) -> Answer<Dismissed> {
        let place = (which.iteration, which.finding.as_str());
        let row = self.board.dismiss(self.row(project)?.id, feature, place, by, reason).map_err(refusal)?;
        Ok(dismissed(row))
    }

    fn withdraw(&self, project: ProjectId, feature: &FeatureId, fingerprint: Fingerprint) -> Answer<()> {
        let was_there = self.board.withdraw(self.row(project)?.id, feature, fingerprint).map_err(refusal)?;
        if was_there {
            return Ok(());
        }
        let failure = Failure::new(Kind::User, format!("`{fingerprint}` is not dismissed here"));
        Err(Refusal::NotFound(failure.hint("What a team dismissed stands in `.tollgate/dismissals.toml`.")))
    }

    fn export(&self, project: ProjectId, feature: &FeatureId, iteration: u32, form: Export) -> Answer<String> {
        self.board.export(self.row(project)?.id, feature, iteration, form).map_err(|refused| match refused {
            Refused::Invalid(why) => conflict(why),
            refused => refusal(refused),
        })
    }

    fn task(&self, project: ProjectId, feature: &FeatureId, iteration: u32, finding: Option<&str>) -> Answer<String> {
        self.board.prompt(self.row(project)?.id, feature, iteration, finding).map_err(refusal)
    }
}

fn looked(run: Run) -> Option<Looked> {
    let review = *run.review?;
    let asked = review.extra.get("x_reviewers").and_then(Value::as_array).into_iter().flatten();
    Some(Looked {
        run: run.id,
        took_ms: run.finished_ms.saturating_sub(run.started_ms),
        compared: run.compared,
        reviewers: asked.filter_map(of_json).collect(),
        hunks: review.coverage.map(|coverage| coverage.hunks),
        withheld: review.withheld.iter().map(|held| (Remark::of(&held.finding), held.why.to_string())).collect(),
    })
}

/// A reviewer as a stored review names it.
fn of_json(value: &Value) -> Option<Asked> {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let tokens = &value["tokens"];
    Some(Asked {
        name: text(&value["name"])?,
        model: text(&value["model"]),
        calls: number(&value["calls"]),
        failed: number(&value["failed"]),
        tokens: number(&tokens["input"]).saturating_add(number(&tokens["output"])),
        cost_usd: value["cost_usd"].as_f64(),
        problem: text(&value["problem"]),
    })
}

fn dismissed(row: DismissalRow) -> Dismissed {
    let DismissalRow { dismissal, who, made_ms } = row;
    Dismissed {
        fingerprint: dismissal.fingerprint.to_string(),
        file: dismissal.file.as_str().to_owned(),
        title: dismissal.title().as_str().to_owned(),
        evidence: dismissal.evidence,
        reason: dismissal.reason,
        by: who,
        at: iso(made_ms),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reviewer_is_read_as_far_as_a_review_says() {
        let whole = json!({"name": "claude", "model": "opus", "calls": 2, "failed": 1, "cost_usd": 0.5,
            "tokens": {"input": 10, "cached": 4, "output": 5}, "problem": "overloaded"});
        let asked = of_json(&whole).unwrap();
        assert_eq!((asked.calls, asked.failed, asked.tokens, asked.cost_usd), (2, 1, 15, Some(0.5)));
        assert_eq!((asked.model.as_deref(), asked.problem.as_deref()), (Some("opus"), Some("overloaded")));
        let bare = of_json(&json!({"name": "x", "tokens": 7, "calls": "many"})).unwrap();
        assert_eq!((bare.calls, bare.tokens, bare.cost_usd, bare.problem), (0, 0, None, None));
        assert_eq!(of_json(&json!({"model": "opus"})), None);
    }
}
