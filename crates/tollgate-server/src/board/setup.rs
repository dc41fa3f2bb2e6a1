//! The settings and the first steps of a real board.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::board::FeatureId;
use tollgate_core::board::commit::{self, Commit};
use tollgate_engine::board::{Draft, PromptPreview, Refused, iso};
use tollgate_engine::config::EMBEDDED;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::gate::Author;
use tollgate_engine::forge::project::Project as Repository;
use tollgate_engine::reviewer::call::CallControl;
use tollgate_engine::reviewer::{embedded, smoke_test};
use tollgate_engine::store::board::{CardFilter, ProjectRow};

use super::{BoardDesk, conflict, number, prompts, refusal};
use crate::desk::setup::{
    AuthorOf, ContextShown, Example, Excerpt, Identity, LoadedDemo, Overview, Policy, Preview, PreviewRequest,
    SetValue, Setup, Trial, Tried,
};
use crate::desk::{Answer, ProjectId, Refusal};

/// How many features there are to choose from.
const MAX_EXAMPLES: usize = 50;
/// How long somebody may take to answer, and an agent to be tested; it is told so on the page.
const ASK_TIME: Duration = Duration::from_secs(90);
const HANDS_TIME: Duration = Duration::from_secs(300);
/// How long they may be silent.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// How many are tried out at once.
const MAX_TRIALS: usize = 2;
/// More projects than this are not asked whom their commits name.
const MAX_AUTHORS: usize = 50;

/// Who is being tried out.
#[derive(Debug, Default)]
pub(super) struct Trials(Mutex<BTreeSet<String>>);

/// Somebody who is being tried out, until this is dropped.
struct UnderTrial<'a> {
    trials: &'a Trials,
    name: String,
}

impl Trials {
    fn begin(&self, name: &str) -> Answer<UnderTrial<'_>> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            return Err(conflict(format!("`{name}` is being tested already")));
        }
        if names.len() >= MAX_TRIALS {
            return Err(conflict("others are being tested; wait until one of them is done".to_owned()));
        }
        names.insert(name.to_owned());
        Ok(UnderTrial { trials: self, name: name.to_owned() })
    }
}

impl Drop for UnderTrial<'_> {
    fn drop(&mut self) {
        self.trials.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl BoardDesk {
    fn author(&self, row: ProjectRow) -> AuthorOf {
        let repository = Repository::open(&row.path, self.board.home().git.clone());
        let author = repository.and_then(|repository| Author::of(&repository));
        let author = author.map(|Author { name, email }| format!("{name} <{email}>"));
        AuthorOf { project: row.name, author: author.map_err(|failure| failure.message) }
    }

    fn try_out(&self, name: &str, trial: Trial) -> Result<String, Failure> {
        let (settings, home) = (self.board.settings(), self.board.home());
        if name == EMBEDDED {
            embedded::self_test(&home.executable, settings.limits)?;
            return Ok("a scanning child was started and found what it should".to_owned());
        }
        let chosen = settings.reviewer(name)?;
        let (time, cancel) = (if trial == Trial::Ask { ASK_TIME } else { HANDS_TIME }, CancellationToken::new());
        let (deadline, idle) = (Instant::now() + time, IDLE_TIME);
        let watch = CallControl { deadline, idle, cancel: &cancel, heard: &|_| {} };
        match trial {
            Trial::Ask => smoke_test::ask_once(&chosen, &home.executable, &watch),
            Trial::Hands => smoke_test::self_test(&chosen, &home.executable, &watch),
        }
    }
}

impl Setup for BoardDesk {
    fn examples(&self, project: Option<ProjectId>) -> Answer<Vec<Example>> {
        let project = project.map(|project| Ok::<_, Refusal>(self.row(project)?.id)).transpose()?;
        let rows = self.board.database().reviewed(project, MAX_EXAMPLES)?;
        let example = |row: tollgate_engine::store::board::ReviewedRow| Example {
            project: u64::try_from(row.project).unwrap_or_default(),
            project_name: row.project_name,
            feature: row.feature,
            title: row.title,
            iteration: row.iteration,
            at: iso(row.stored_ms),
        };
        Ok(rows.into_iter().map(example).collect())
    }

    fn preview(&self, request: PreviewRequest) -> Answer<Preview> {
        let project = number(request.project)?;
        let is_for_all = request.for_all;
        let draft = request.prompts.map(|prompts| Draft { is_for_all, prompts: prompts::stored(prompts) });
        // One at a time: each reads a change and counts its tokens.
        let _turn = self.previews.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = self.board.preview(project, &request.feature.0, draft.as_ref()).map_err(refusal)?;
        Ok(previewed(shown))
    }

    fn try_agent(&self, name: &str, trial: Trial) -> Answer<Tried> {
        if name != EMBEDDED {
            self.board.settings().reviewer(name).map_err(Refusal::NotFound)?;
        }
        let _under_trial = self.trials.begin(name)?;
        let started = Instant::now();
        let result = self.try_out(name, trial);
        // What was known of them may be another now.
        *self.agents.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (passed, words, hint) = match result {
            Ok(words) => (true, words, None),
            Err(Failure { message, hint, .. }) => (false, message, hint),
        };
        Ok(Tried { passed, words, hint, took_ms })
    }

    fn policy(&self) -> Answer<Policy> {
        let file = self.board.home().config_dir.as_ref().map(|folder| folder.join("tollgate/config.toml"));
        let values = self.board.settings().shown.iter().map(|shown| SetValue {
            key: shown.key.clone(),
            value: shown.value.clone(),
            source: shown.source.clone(),
        });
        let has_file = file.as_ref().is_some_and(|file| file.is_file());
        Ok(Policy { values: values.collect(), file: file.map(|file| file.display().to_string()), has_file })
    }

    fn identity(&self) -> Answer<Identity> {
        let settings = self.board.settings();
        let rows = self.board.projects()?.into_iter().take(MAX_AUTHORS);
        let feature = FeatureId::parse("feature-1767968520000-x7k2m9qpa");
        let message = feature.map(|feature| {
            commit::message(&Commit {
                title: "Add login",
                description: "",
                feature: &feature,
                work: commit::Work::Implementation,
                iteration: 2,
                pipeline: &settings.pipeline.name,
                attempt: "41",
            })
        });
        Ok(Identity {
            bot: settings.bot.clone(),
            pipeline: settings.pipeline.name.clone(),
            authors: rows.map(|row| self.author(row)).collect(),
            message: message.unwrap_or_default(),
        })
    }

    fn overview(&self) -> Answer<Vec<Overview>> {
        let (board, database) = (&self.board, self.board.database());
        let overview = |row: ProjectRow| {
            let counts = database.column_counts(row.id)?;
            let waiting = CardFilter { needs_person: true, limit: usize::MAX, ..CardFilter::default() };
            let n_waiting = database.n_cards(row.id, &waiting)? as u64;
            Ok(Overview {
                columns: counts.into_iter().map(|(status, n)| (status.to_string(), n as u64)).collect(),
                n_waiting,
                is_demo: board.demo_of(&row).is_some(),
                project: self.described(row)?,
            })
        };
        board.projects()?.into_iter().map(overview).collect()
    }

    fn load_demo(&self, by: &str) -> Answer<LoadedDemo> {
        let (project, feature) = self.board.load_demo(by).map_err(|refused| match refused {
            Refused::Invalid(why) => conflict(why),
            refused => refusal(refused),
        })?;
        Ok(LoadedDemo { project: self.described(project)?, feature: feature.id })
    }

    fn remove_demo(&self, by: &str) -> Answer<bool> {
        self.board.remove_demo(by).map_err(|refused| match refused {
            Refused::Invalid(why) => conflict(why),
            refused => refusal(refused),
        })
    }
}

/// What a reviewer would be told, as the API shows it.
fn previewed(shown: PromptPreview) -> Preview {
    let first = |text: fn(&tollgate_engine::pipeline::SentPrompt) -> &String| {
        Excerpt::of(shown.first.as_ref().map(text).map_or("", String::as_str))
    };
    let context = shown.context.iter().map(|file| ContextShown {
        name: tollgate_core::visible::visible(&file.name).into_owned(),
        chars: file.n_chars as u64,
        shown: file.n_shown as u64,
    });
    Preview {
        iteration: shown.iteration,
        is_set_up: shown.is_set_up,
        calls: shown.n_calls as u64,
        tokens: shown.n_tokens as u64,
        left_out: shown.n_left_out as u64,
        system: first(|sent| &sent.system),
        shared: first(|sent| &sent.shared),
        part: first(|sent| &sent.part),
        context: context.collect(),
        notes: shown.notes.iter().map(|note| tollgate_core::visible::visible(note).into_owned()).collect(),
        reviewer: shown.reviewer,
    }
}

#[cfg(test)]
mod tests {
    use tollgate_engine::failure::Kind;

    use super::*;

    #[test]
    fn nobody_is_tried_out_twice_at_once() {
        let trials = Trials::default();
        let first = trials.begin("a").unwrap();
        assert!(trials.begin("a").is_err());
        let second = trials.begin("b").unwrap();
        let Err(Refusal::Conflict(failure)) = trials.begin("c") else { panic!("a third one") };
        assert_eq!(failure, Failure::new(Kind::User, "others are being tested; wait until one of them is done"));
        drop(first);
        assert!(trials.begin("a").is_ok());
        drop(second);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let long = "é".repeat(Excerpt::MAX_CHARS + 5);
        let excerpt = Excerpt::of(&long);
        assert_eq!((excerpt.text.chars().count(), excerpt.chars, excerpt.cut), (60_000, 60_005, true));
        let short = Excerpt::of("a\u{202e}b");
        assert_eq!((short.text.as_str(), short.cut), (r"a\u{202e}b", false));
    }
}
