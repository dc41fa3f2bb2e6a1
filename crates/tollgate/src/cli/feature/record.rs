//! `tollgate feature edit`, `clean`, `dismiss`, `confirm`, `dismissals`, `undismiss`, `export` and `prompt`.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::suppress;
use tollgate_engine::board::{DismissRequest, Edits, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::worktree::Removed;
use tollgate_engine::history::Export;
use tollgate_engine::same_variants;
use tollgate_engine::store::DismissalRow;
use tollgate_engine::store::board::FeatureRow;
use tollgate_server::view::dismissal_json;

use super::BoardContext;
use crate::cli::rules::DataFormat;
use crate::cli::{Exit, board, failure, free_text, history, output};

/// The changed fields of a feature.
#[derive(clap::Args)]
pub(super) struct Edit {
    /// The feature's ID or a prefix of it
    pub(super) id: String,
    /// A short title
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
    title: Option<String>,
    /// The description
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
    description: Option<String>,
    /// Read the description from this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<PathBuf>,
    /// Read the specification from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    spec_file: Option<PathBuf>,
    /// The priority, from 1 (highest) to 3 (lowest)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    priority: Option<u8>,
    /// The category, by which the board groups features
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// The model that implements it; empty for the default
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// The export formats of a review.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Form {
    /// Markdown, which tollgate can also read
    Markdown,
    /// JSON
    Json,
    /// SARIF, for code scanning
    Sarif,
    /// A self-contained HTML page
    Html,
}

same_variants!(Form => Export: Markdown Json Sarif Html);

impl BoardContext<'_> {
    pub(super) fn edit(&self, edit: Edit) -> Result<Exit, Failure> {
        let files = [("--description-file", &edit.description_file), ("--spec-file", &edit.spec_file)];
        output::standard_input_once(files.map(|(flag, file)| (flag, file.as_deref())))?;
        let row = self.find(&edit.id)?;
        let description = match (edit.description, &edit.description_file) {
            (None, Some(file)) => Some(self.read(file)?),
            (text, _) => text,
        };
        let spec = edit.spec_file.as_deref().map(|file| self.read(file)).transpose()?;
        // An empty text removes a key whose absence means the default.
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
        self.print_row(&row)
    }

    pub(super) fn clean(&self, row: &FeatureRow) -> Result<Exit, Failure> {
        match self.board.clean(self.project.id, &row.id).map_err(Refused::into_failure)? {
            Removed::Done => {
                output::say("removed the work tree; the branch is kept");
                Ok(Exit::Success)
            }
            Removed::Kept { uncommitted } => Err(failure::uncommitted(uncommitted)),
            Removed::NotOurs => Err(failure::not_our_worktree()),
        }
    }

    /// Selects the given iteration, or the last one with a review.
    pub(super) fn reviewed(&self, row: &FeatureRow, asked: Option<u32>) -> Result<u32, Failure> {
        let reviews = self.board.iterations(self.project.id, &row.id).map_err(Refused::into_failure)?;
        let last = reviews.iter().rfind(|review| !review.iteration.outdated).map(|review| review.iteration.number);
        asked.or(last).ok_or_else(|| Refused::NoReview(row.state.iteration).into_failure())
    }

    pub(super) fn dismiss(&self, row: &FeatureRow, request: &DismissRequest<'_>) -> Result<Exit, Failure> {
        suppress::reason(request.reason).map_err(|_| failure::no_reason())?;
        let dismissed = self.board.dismiss(self.project.id, &row.id, request).map_err(Refused::into_failure)?;
        self.say_dismissed(row, &dismissed);
        Ok(Exit::Success)
    }

    pub(super) fn confirm(&self, row: &FeatureRow, named: &str) -> Result<Exit, Failure> {
        let print = self.fingerprint(row, named)?;
        let person = board::person(self.context, "confirm a dismissal")?;
        let confirmed = self.board.confirm(self.project.id, &row.id, print, person.name());
        self.say_dismissed(row, &confirmed.map_err(Refused::into_failure)?);
        Ok(Exit::Success)
    }

    fn say_dismissed(&self, row: &FeatureRow, dismissed: &DismissalRow) {
        history::say_dismissed(dismissed, &format!("tollgate feature confirm {}", row.id.short()));
        if !dismissed.is_proposal {
            output::say("the next review omits it; `tollgate feature retry ID` reviews now");
        }
    }

    pub(super) fn dismissals(&self, row: &FeatureRow) -> Result<Exit, Failure> {
        let rows = self.board.dismissals_of(self.project.id, &row.id).map_err(Refused::into_failure)?;
        let text = match self.format {
            DataFormat::Json => {
                let rows: Vec<Value> = rows.into_iter().map(dismissal_json).collect();
                format!("{:#}\n", json!({ "dismissals": rows }))
            }
            DataFormat::Text if rows.is_empty() => {
                output::say("no dismissed findings");
                String::new()
            }
            DataFormat::Text => rows.iter().map(history::described_dismissal).collect(),
        };
        output::print(&text)?;
        Ok(Exit::Success)
    }

    /// The fingerprint of a finding: given as such, or by its number in the last review.
    fn fingerprint(&self, row: &FeatureRow, named: &str) -> Result<Fingerprint, Failure> {
        if let Some(print) = Fingerprint::parse(named) {
            return Ok(print);
        }
        let rows = self.board.iterations(self.project.id, &row.id).map_err(Refused::into_failure)?;
        let last = rows.iter().rev().find(|row| !row.iteration.findings.is_empty());
        let identities = last.into_iter().flat_map(|row| &row.iteration.findings).filter_map(|it| it.identity.as_ref());
        let mut named_so = identities.filter(|identity| identity.id == named);
        let print = named_so.next().and_then(|identity| Fingerprint::parse(&identity.fingerprint));
        print.ok_or_else(|| failure::not_a_fingerprint(named))
    }

    pub(super) fn undismiss(&self, row: &FeatureRow, named: &str) -> Result<Exit, Failure> {
        let print = self.fingerprint(row, named)?;
        let (board, project) = (&self.board, self.project.id);
        let was_dismissed = board.withdraw(project, &row.id, print).map_err(Refused::into_failure)?;
        let party = board::party(self.context)?;
        let was_proposed = match board.reject_proposal(project, &row.id, print, party.name()) {
            Ok(()) => true,
            Err(Refused::NoProposal(_)) => false,
            Err(refused) => return Err(refused.into_failure()),
        };
        if !was_dismissed && !was_proposed {
            return Err(failure::not_dismissed(named));
        }
        if was_dismissed {
            output::say("withdrew the dismissal; the finding counts from the next review on");
        }
        if was_proposed {
            output::say("rejected the proposed dismissal; the finding counts");
        }
        Ok(Exit::Success)
    }

    pub(super) fn export(
        &self,
        row: &FeatureRow,
        form: Form,
        asked: Option<u32>,
        file: Option<PathBuf>,
    ) -> Result<Exit, Failure> {
        let number = self.reviewed(row, asked)?;
        let text = self.board.export(self.project.id, &row.id, number, form.into()).map_err(Refused::into_failure)?;
        output::deliver(self.context, &text, file.as_deref())?;
        Ok(Exit::Success)
    }

    pub(super) fn prompt(&self, row: &FeatureRow, finding: Option<&str>, asked: Option<u32>) -> Result<Exit, Failure> {
        let number = self.reviewed(row, asked)?;
        output::print(&self.board.prompt(self.project.id, &row.id, number, finding).map_err(Refused::into_failure)?)?;
        Ok(Exit::Success)
    }
}
