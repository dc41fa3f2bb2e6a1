//! What is behind the reviews of the board in memory.

use tollgate_core::board::machine::Work;
use tollgate_core::board::{FeatureId, Iteration, Remark};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_engine::board::Audit;
use tollgate_engine::history::Export;
use tollgate_server::desk::record::{Dismissed, Looked, Pointed, Record};
use tollgate_server::desk::{Answer, Desk as _, Feature, Output, ProjectId, Refusal, Step};

use super::{MemoryDesk, refuse};

impl MemoryDesk {
    /// Gives a feature the reviews that a test needs.
    pub(crate) fn review(&self, project: u64, id: &str, reviews: Vec<Iteration>) {
        self.lock().features.get_mut(&(project, id.to_owned())).unwrap().1 = reviews;
    }

    /// Changes a feature as a test needs it.
    pub(crate) fn change(&self, project: u64, id: &str, change: impl FnOnce(&mut Feature)) {
        change(&mut self.lock().features.get_mut(&(project, id.to_owned())).unwrap().0);
    }

    pub(crate) fn remember(&self, project: u64, id: &str, history: Vec<Step>) {
        self.lock().history.insert((project, id.to_owned()), history);
    }

    /// What its agent said.
    pub(crate) fn say(&self, project: u64, id: &str, text: &str) {
        self.lock().said.insert((project, id.to_owned()), text.to_owned());
    }

    pub(crate) fn look(&self, project: u64, id: &str, looked: Looked, audit: Audit) {
        let mut kept = self.lock();
        kept.looked.insert((project, id.to_owned()), looked);
        kept.audit.insert((project, id.to_owned()), audit);
    }

    fn reviewed(&self, project: u64, feature: &FeatureId, number: u32) -> Answer<Iteration> {
        match self.iterations(project, feature)?.into_iter().rfind(|found| found.number == number) {
            Some(found) => Ok(found),
            None => refuse(Refusal::NotFound, format!("iteration {number} has no review")),
        }
    }
}

fn find<'a>(iteration: &'a Iteration, finding: &str) -> Answer<&'a Remark> {
    let is_it = |remark: &&Remark| remark.identity.as_ref().is_some_and(|identity| identity.id == finding);
    match iteration.findings.iter().chain(&iteration.late).find(is_it) {
        Some(remark) => Ok(remark),
        None => refuse(Refusal::NotFound, format!("the review has no finding `{finding}`")),
    }
}

impl Record for MemoryDesk {
    fn audit(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Audit> {
        self.reviewed(project, feature, iteration)?;
        Ok(self.lock().audit.get(&(project, feature.to_string())).cloned().unwrap_or_default())
    }

    fn looked(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Option<Looked>> {
        self.reviewed(project, feature, iteration)?;
        Ok(self.lock().looked.get(&(project, feature.to_string())).cloned())
    }

    fn last_output(&self, project: ProjectId, feature: &FeatureId, _: u32, _: usize) -> Answer<(u64, Output)> {
        let is_running = self.lock().feature(project, feature)?.0.state.work == Work::Implementing;
        let text = self.lock().said.get(&(project, feature.to_string())).cloned().unwrap_or_default();
        Ok((0, Output { next: text.len() as u64, text, is_running }))
    }

    fn dismissals(&self, project: ProjectId) -> Answer<Vec<Dismissed>> {
        let kept = self.lock();
        kept.project(project)?;
        Ok(kept.dismissed.iter().filter(|(of, _)| *of == project).map(|(_, dismissed)| dismissed.clone()).collect())
    }

    fn dismiss(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        which: &Pointed,
        reason: &str,
        by: &str,
    ) -> Answer<Dismissed> {
        let iteration = self.reviewed(project, feature, which.iteration)?;
        let remark = find(&iteration, &which.finding)?.clone();
        let dismissed = Dismissed {
            fingerprint: remark.identity.unwrap().fingerprint,
            file: remark.file.unwrap_or_default(),
            title: remark.title,
            evidence: remark.evidence.unwrap_or_default(),
            reason: reason.to_owned(),
            by: Some(by.to_owned()),
            at: "2026-01-09T15:00:00.000Z".to_owned(),
        };
        self.lock().dismissed.push((project, dismissed.clone()));
        Ok(dismissed)
    }

    fn withdraw(&self, project: ProjectId, feature: &FeatureId, fingerprint: Fingerprint) -> Answer<()> {
        let mut kept = self.lock();
        kept.feature(project, feature)?;
        let n_before = kept.dismissed.len();
        kept.dismissed.retain(|(of, dismissed)| *of != project || dismissed.fingerprint != fingerprint.to_string());
        if kept.dismissed.len() == n_before { refuse(Refusal::NotFound, "it is not dismissed") } else { Ok(()) }
    }

    fn export(&self, project: ProjectId, feature: &FeatureId, iteration: u32, form: Export) -> Answer<String> {
        self.reviewed(project, feature, iteration)?;
        Ok(format!("{form:?} of {iteration}"))
    }

    fn task(&self, project: ProjectId, feature: &FeatureId, iteration: u32, finding: Option<&str>) -> Answer<String> {
        let iteration = self.reviewed(project, feature, iteration)?;
        if let Some(finding) = finding {
            find(&iteration, finding)?;
        }
        Ok(format!("# Fix {}", finding.unwrap_or("everything")))
    }
}
