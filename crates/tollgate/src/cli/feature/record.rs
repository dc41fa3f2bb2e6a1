//! What is decided about the findings of a feature, and what is taken away from its reviews.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_engine::board::{Edits, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::worktree::Removed;
use tollgate_engine::history::Export;
use tollgate_engine::store::board::FeatureRow;

use super::Scene;
use crate::cli::{Done, failure, output};

/// What is to be different about a feature.
#[derive(clap::Args)]
pub(super) struct Edit {
    /// The feature, or the beginning of its name
    pub(super) id: String,
    /// A short title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What is wanted
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The same from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<PathBuf>,
    /// What exactly is required, from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE")]
    spec_file: Option<PathBuf>,
    /// 1 is most urgent, 3 least
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    priority: Option<u8>,
    /// The group it is shown in
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// The model that works on it; an empty one is the default
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// The form of a review as a file.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Form {
    /// For people, and read back by tollgate
    Markdown,
    /// For programs
    Json,
    /// For code scanning
    Sarif,
    /// One page that needs nothing else
    Html,
}

impl Form {
    fn export(self) -> Export {
        match self {
            Self::Markdown => Export::Markdown,
            Self::Json => Export::Json,
            Self::Sarif => Export::Sarif,
            Self::Html => Export::Html,
        }
    }
}

impl Scene<'_> {
    pub(super) fn edit(&self, edit: Edit) -> Result<Done, Failure> {
        let files = [("--description-file", &edit.description_file), ("--spec-file", &edit.spec_file)];
        output::standard_input_once(files.map(|(flag, file)| (flag, file.as_deref())))?;
        let row = self.find(&edit.id)?;
        let description = match (edit.description, &edit.description_file) {
            (None, Some(file)) => Some(self.read(file)?),
            (text, _) => text,
        };
        let spec = edit.spec_file.as_deref().map(|file| self.read(file)).transpose()?;
        // An empty text takes a key away where that means the default.
        let unless_empty = |text: String| if text.is_empty() { Value::Null } else { json!(text) };
        let pairs = [
            ("title", edit.title.map(|text| json!(text))),
            ("description", description.map(|text| json!(text))),
            ("spec", spec.map(unless_empty)),
            ("category", edit.category.map(|text| json!(text))),
            ("priority", edit.priority.map(|priority| json!(priority))),
            ("model", edit.model.map(unless_empty)),
        ];
        let edits: Edits = pairs.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        if edits.is_empty() {
            return Err(failure::nothing_to_change());
        }
        let row = self.board.edit(self.project.id, &row.id, &edits, None).map_err(Refused::into_failure)?;
        self.answer(&row)
    }

    pub(super) fn clean(&self, row: &FeatureRow) -> Result<Done, Failure> {
        match self.board.clean(self.project.id, &row.id).map_err(Refused::into_failure)? {
            Removed::Done => {
                output::say("its work tree is removed; its branch stays");
                Ok(Done::Fine)
            }
            Removed::Kept { uncommitted } => Err(failure::uncommitted(uncommitted)),
            Removed::NotOurs => Err(failure::not_our_worktree()),
        }
    }

    /// The iteration that is meant: the one that was named, or the last that has a review.
    fn reviewed(&self, row: &FeatureRow, asked: Option<u32>) -> Result<u32, Failure> {
        let reviews = self.board.iterations(self.project.id, &row.id).map_err(Refused::into_failure)?;
        let last = reviews.iter().rfind(|review| !review.iteration.outdated).map(|review| review.iteration.number);
        asked.or(last).ok_or_else(|| Refused::NoReview(row.state.iteration).into_failure())
    }

    pub(super) fn dismiss(
        &self,
        row: &FeatureRow,
        finding: &str,
        asked: Option<u32>,
        (who, reason): (&str, &str),
    ) -> Result<Done, Failure> {
        let place = (self.reviewed(row, asked)?, finding);
        let row = self.board.dismiss(self.project.id, &row.id, place, who, reason).map_err(Refused::into_failure)?;
        let (print, title) = (row.dismissal.fingerprint, row.dismissal.title());
        output::say(&format!("dismissed: {title} in {} ({print})", row.dismissal.file));
        output::say("the next review leaves it out; `tollgate feature retry ID` has it made now");
        Ok(Done::Fine)
    }

    pub(super) fn undismiss(&self, row: &FeatureRow, named: &str) -> Result<Done, Failure> {
        let print = Fingerprint::parse(named).ok_or_else(|| failure::not_a_fingerprint(named))?;
        if !self.board.withdraw(self.project.id, &row.id, print).map_err(Refused::into_failure)? {
            return Err(failure::not_dismissed(named));
        }
        output::say("it counts again, from the next review on");
        Ok(Done::Fine)
    }

    pub(super) fn export(
        &self,
        row: &FeatureRow,
        form: Form,
        asked: Option<u32>,
        file: Option<PathBuf>,
    ) -> Result<Done, Failure> {
        let number = self.reviewed(row, asked)?;
        let text = self.board.export(self.project.id, &row.id, number, form.export()).map_err(Refused::into_failure)?;
        output::deliver(self.place, &text, file.as_deref())?;
        Ok(Done::Fine)
    }

    pub(super) fn prompt(&self, row: &FeatureRow, finding: Option<&str>, asked: Option<u32>) -> Result<Done, Failure> {
        let number = self.reviewed(row, asked)?;
        output::print(&self.board.prompt(self.project.id, &row.id, number, finding).map_err(Refused::into_failure)?)?;
        Ok(Done::Fine)
    }
}
