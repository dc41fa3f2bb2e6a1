//! The tools, one file each, and the table of them all.
//!
//! To add one, copy a neighbour and put it into [`all`].

use rmcp::model::{self, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tollgate_engine::failure::Failure;

use super::answer::Answer;
use super::concurrency::Weight;
use super::context::ToolContext;
use super::{arguments, failure, schema};

mod check_comment;
mod create_comment;
mod dismiss_finding;
mod get_feature;
mod get_review;
mod list_features;
mod list_findings;
mod review_change;
mod stored;

/// All tools, in the order in which an agent is likely to need them.
pub(super) fn all() -> [Entry; 8] {
    [
        Entry::of::<review_change::ReviewChange>(),
        Entry::of::<list_findings::ListFindings>(),
        Entry::of::<get_review::GetReview>(),
        Entry::of::<dismiss_finding::DismissFinding>(),
        Entry::of::<check_comment::CheckComment>(),
        Entry::of::<create_comment::CreateComment>(),
        Entry::of::<list_features::ListFeatures>(),
        Entry::of::<get_feature::GetFeature>(),
    ]
}

/// The tool with this name.
pub(super) fn find(name: &str) -> Option<Entry> {
    all().into_iter().find(|entry| entry.name == name)
}

trait Tool {
    /// Its name in the protocol.
    const NAME: &'static str;
    /// Its title for people.
    const TITLE: &'static str;
    /// When to call the tool, and its result, for agents.
    const DESCRIPTION: &'static str;
    /// The effects that its annotations declare.
    const EFFECT: Effect;
    /// Its cost class, for concurrency limits.
    const WEIGHT: Weight = Weight::Light;
    /// Its input.
    type Arguments: DeserializeOwned + JsonSchema;
    /// Its output.
    type Output: Serialize + JsonSchema;

    /// Runs the tool.
    fn call(context: &ToolContext, arguments: Self::Arguments, job: &Job<'_>) -> Result<Self::Output, Failure>;
    /// A short summary of the output.
    fn in_words(output: &Self::Output) -> String;
}

/// What a tool does to the world, as clients are told so that they know when to ask a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing; it may ask the models that the operator configured.
    Asks,
    /// Nothing at all.
    Looks,
    /// Changes what later reviews say; the same again changes nothing more.
    Hides,
    /// Writes for others to see; the same again changes nothing more.
    Posts,
}

impl Effect {
    fn hints(self) -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(matches!(self, Self::Asks | Self::Looks)).idempotent(true);
        hints.destructive(self == Self::Hides).open_world(matches!(self, Self::Asks | Self::Posts))
    }
}

/// One call.
pub(super) struct Job<'a> {
    /// Ends it before its time.
    pub(super) cancel: &'a CancellationToken,
    /// Is told how it goes.
    pub(super) tell: &'a (dyn Fn(String) + Sync),
}

/// A tool in the table.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    name: &'static str,
    /// What a call takes.
    pub(super) weight: Weight,
    describe: fn() -> model::Tool,
    call: fn(&ToolContext, Value, &Job<'_>) -> Result<Answer, Failure>,
}

impl Entry {
    fn of<T: Tool>() -> Self {
        Self { name: T::NAME, weight: T::WEIGHT, describe: describe::<T>, call: call::<T> }
    }

    /// What clients are told about it.
    pub(super) fn describe(&self) -> model::Tool {
        (self.describe)()
    }

    pub(super) fn call(&self, context: &ToolContext, arguments: Value, job: &Job<'_>) -> Answer {
        (self.call)(context, arguments, job).unwrap_or_else(Answer::from)
    }
}

fn describe<T: Tool>() -> model::Tool {
    model::Tool::new(T::NAME, T::DESCRIPTION, schema::input::<T::Arguments>())
        .with_title(T::TITLE)
        .with_raw_output_schema(schema::output::<T::Output>())
        .with_annotations(T::EFFECT.hints())
}

fn call<T: Tool>(context: &ToolContext, arguments: Value, job: &Job<'_>) -> Result<Answer, Failure> {
    let output = T::call(context, arguments::read(T::NAME, arguments)?, job)?;
    let data = serde_json::to_value(&output).map_err(|_| failure::mistake())?;
    Ok(Answer::new(T::in_words(&output), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_what_it_takes_gives_and_does() {
        for entry in all() {
            let tool = entry.describe();
            let (input, output) = (tool.input_schema.clone(), tool.output_schema.clone().unwrap());
            for schema in [&input, &output] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                let text = serde_json::to_string(schema).unwrap();
                assert!(!text.contains("$ref"), "{}: {text}", tool.name);
            }
            assert_eq!(input["additionalProperties"], false, "{}", tool.name);
            for (name, property) in input["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}.{name}", tool.name);
            }
            assert!(tool.title.is_some() && tool.description.as_ref().is_some_and(|text| text.len() > 80));
            let hints = tool.annotations.unwrap();
            assert!(hints.read_only_hint.is_some() && hints.destructive_hint.is_some());
            assert!(hints.idempotent_hint.is_some() && hints.open_world_hint.is_some());
        }
    }

    #[test]
    fn every_tool_is_documented() {
        let documented = include_str!("../../../../docs/mcp.md");
        for entry in all() {
            assert!(documented.contains(&format!("`{}`", entry.name)), "{}", entry.name);
        }
    }

    #[test]
    fn only_what_others_notice_is_more_than_a_look() {
        let is_read_only = |entry: &Entry| entry.describe().annotations.unwrap().read_only_hint.unwrap();
        let writing: Vec<&str> = all().iter().filter(|entry| !is_read_only(entry)).map(|entry| entry.name).collect();
        assert_eq!(writing, ["dismiss_finding", "create_comment"]);
    }
}
