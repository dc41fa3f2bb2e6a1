//! Settings and first steps of a board in memory.

use tollgate_core::board::FeatureId;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_server::desk::setup::{
    AuthorOf, ContextShown, Example, Excerpt, Identity, Level, LoadedDemo, Overview, Policy, Preview, PreviewRequest,
    SetValue, Setup, Trial, Tried, UsedPrompt, UsedPrompts,
};
use tollgate_server::desk::{
    Agent, Answer, Desk as _, FeatureQuery, NewFeature, NewProject, ProjectId, Prompt, Prompts, Refusal,
};

use super::{MemoryDesk, refuse};

/// Two whom everybody knows; one of them would break a page that does not escape.
pub(crate) fn agents() -> Vec<Agent> {
    let agent = |name: &str, role: &str, available: bool, detail: &str, kind: &str| Agent {
        name: name.to_owned(),
        role: role.to_owned(),
        available,
        detail: detail.to_owned(),
        kind: kind.to_owned(),
        model: None,
        key_in: if kind == "agent" { vec!["ANTHROPIC_API_KEY".to_owned()] } else { vec![] },
        has_key: false,
        is_own: kind == "embedded",
        is_used: kind == "embedded",
    };
    vec![
        agent("rules", "reviewer", true, "77 rules, offline; always reviews", "embedded"),
        agent("claude", "implementer", false, "it is not installed", "agent"),
        agent("claude", "reviewer", false, "it is not installed", "agent"),
    ]
}

pub(super) fn used(own: &Prompts, system: &str, template: &str) -> UsedPrompts {
    let used = |own: &Option<Prompt>, default: &str| match own.as_ref().filter(|own| own.enabled) {
        Some(own) => UsedPrompt { level: Level::All, value: own.value.clone() },
        None => UsedPrompt { level: Level::Default, value: default.to_owned() },
    };
    UsedPrompts {
        review_system_prompt: used(&own.review_system_prompt, system),
        review_prompt_template: used(&own.review_prompt_template, template),
    }
}

impl Setup for MemoryDesk {
    fn examples(&self, project: Option<ProjectId>) -> Answer<Vec<Example>> {
        let mut examples = Vec::new();
        for known in self.projects()?.into_iter().filter(|known| project.is_none_or(|project| project == known.id)) {
            let query = FeatureQuery { limit: 50, ..FeatureQuery::default() };
            for card in self.features(known.id, &query)?.items {
                examples.push(Example {
                    project: known.id,
                    project_name: known.name.clone(),
                    feature: card.card.id,
                    title: card.card.facts.title,
                    iteration: 1,
                    at: "2026-01-09T14:22:00.000Z".to_owned(),
                });
            }
        }
        Ok(examples)
    }

    fn preview(&self, request: PreviewRequest) -> Answer<Preview> {
        let feature = self.feature(request.project, &request.feature.0)?;
        let template = request.prompts.and_then(|prompts| prompts.review_prompt_template);
        let template = template.map_or("{gitDiff}".to_owned(), |template| template.value);
        Ok(Preview {
            iteration: 1,
            reviewer: "claude".to_owned(),
            is_set_up: false,
            calls: 1,
            tokens: 42,
            left_out: 0,
            system: Excerpt::of("You review."),
            shared: Excerpt::of(&template.replace("{featureTitle}", &feature.title)),
            part: Excerpt::of("diff"),
            context: vec![ContextShown { name: "AGENTS.md".to_owned(), chars: 6_000, shown: 5_000 }],
            notes: vec![],
        })
    }

    fn try_agent(&self, name: &str, trial: Trial) -> Answer<Tried> {
        let known = agents().into_iter().find(|agent| agent.name == name);
        let Some(agent) = known else {
            return Err(Refusal::NotFound(Failure::new(Kind::User, format!("nobody is called `{name}`"))));
        };
        let hint = (!agent.available).then(|| "Install it.".to_owned());
        Ok(Tried { passed: agent.available, words: format!("{trial:?}: {}", agent.detail), hint, took_ms: 1_200 })
    }

    fn policy(&self) -> Answer<Policy> {
        let value = |key: &str, value: &str, source: &str| SetValue {
            key: key.to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        };
        let values = vec![
            value("pipeline.rounds", "3", "default"),
            value("review.fail_on", "\"medium\"", "/home/me/.config/tollgate/config.toml"),
            value("review.reviewers", "[\"<script>alert(1)</script>\"]", "TOLLGATE_REVIEW_REVIEWERS"),
        ];
        Ok(Policy { values, file: Some("/home/me/.config/tollgate/config.toml".to_owned()), has_file: true })
    }

    fn identity(&self) -> Answer<Identity> {
        let author = |project: &str, author: Result<&str, &str>| AuthorOf {
            project: project.to_owned(),
            author: author.map(str::to_owned).map_err(str::to_owned),
        };
        let authors = self.projects()?;
        Ok(Identity {
            bot: "Kodiai".to_owned(),
            pipeline: "Automaker".to_owned(),
            authors: authors.iter().map(|project| author(&project.name, Ok("Ada <ada@example.com>"))).collect(),
            message: "feat: Add login\n".to_owned(),
        })
    }

    fn overview(&self) -> Answer<Vec<Overview>> {
        let demo = self.lock().demo;
        let overview = |project: tollgate_server::desk::Project| {
            let query = FeatureQuery { limit: 1_000, ..FeatureQuery::default() };
            let total = self.features(project.id, &query)?.total;
            let columns = if total == 0 { vec![] } else { vec![("backlog".to_owned(), total)] };
            Ok(Overview { is_demo: demo == Some(project.id), n_waiting: 0, columns, project })
        };
        self.projects()?.into_iter().map(overview).collect()
    }

    fn load_demo(&self, by: &str) -> Answer<LoadedDemo> {
        if self.lock().demo.is_some() {
            return refuse(Refusal::Conflict, "the demonstration is on the board already");
        }
        let project = self.add_project(NewProject { path: "/demo/shop".to_owned(), name: Some("shop".to_owned()) })?;
        self.lock().demo = Some(project.id);
        let new = NewFeature {
            title: "Find customers by name".to_owned(),
            description: "x".to_owned(),
            spec: None,
            category: None,
            priority: None,
            skip_tests: None,
            dependencies: None,
            model: None,
            branch_name: None,
            start: None,
        };
        let feature: FeatureId = self.add_feature(project.id, new, by)?.id;
        Ok(LoadedDemo { project, feature })
    }

    fn remove_demo(&self, _: &str) -> Answer<bool> {
        let demo = self.lock().demo.take();
        // Somebody may have removed the project by itself.
        Ok(demo.is_some_and(|project| self.remove_project(project).is_ok()))
    }
}
