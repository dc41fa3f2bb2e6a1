//! Bodies of requests about projects and features.

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_core::board::FeatureId;
use tollgate_engine::board::{self, Edits, Part};
use tollgate_engine::same_variants;
use utoipa::ToSchema;

/// A project to add.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewProject {
    /// The folder of the project: absolute, and a git repository.
    #[schema(min_length = 1, max_length = 4096, pattern = "^/", example = "/home/me/shop")]
    pub(crate) path: String,
    /// Its name, if not that of its folder.
    #[schema(max_length = 200, example = "Shop")]
    pub(crate) name: Option<String>,
}

/// A feature to add.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewFeature {
    /// A short title.
    #[serde(default)]
    #[schema(max_length = 500, example = "Add login")]
    pub(crate) title: String,
    /// The description. List items and sentences with "must" or "should" become acceptance criteria.
    #[schema(
        min_length = 1,
        max_length = 200_000,
        pattern = r"\S",
        example = "Users can sign in.\n- passwords must have 8 characters"
    )]
    pub(crate) description: String,
    /// The specification, if there is one.
    #[schema(max_length = 500_000)]
    pub(crate) spec: Option<String>,
    /// The group it is shown in.
    #[schema(max_length = 200, example = "Core")]
    pub(crate) category: Option<String>,
    /// 1 is the most urgent, 3 the least.
    #[serde(default, deserialize_with = "crate::json::maybe_whole")]
    #[schema(minimum = 1, maximum = 3)]
    pub(crate) priority: Option<u8>,
    /// True to require manual approval in the end.
    pub(crate) skip_tests: Option<bool>,
    /// Features that must be completed before it.
    #[schema(max_items = 100)]
    pub(crate) dependencies: Option<Vec<FeatureName>>,
    /// The model of its agent, if not the default.
    #[schema(max_length = 200)]
    pub(crate) model: Option<String>,
    /// The branch to work on; generated when missing.
    #[schema(max_length = 200)]
    pub(crate) branch_name: Option<String>,
    /// True to start work on it at once.
    pub(crate) start: Option<bool>,
}

/// Changes to a feature; a missing field keeps its value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FeatureEdit {
    /// A short title.
    #[schema(max_length = 500)]
    pub(crate) title: Option<String>,
    /// The description.
    #[schema(min_length = 1, max_length = 200_000, pattern = r"\S")]
    pub(crate) description: Option<String>,
    /// The specification; empty removes it.
    #[schema(max_length = 500_000)]
    pub(crate) spec: Option<String>,
    /// The group it is shown in.
    #[schema(max_length = 200)]
    pub(crate) category: Option<String>,
    /// 1 is the most urgent, 3 the least.
    #[serde(default, deserialize_with = "crate::json::maybe_whole")]
    #[schema(minimum = 1, maximum = 3)]
    pub(crate) priority: Option<u8>,
    /// True to require manual approval in the end.
    pub(crate) skip_tests: Option<bool>,
    /// Features that must be completed before it.
    #[schema(max_items = 100)]
    pub(crate) dependencies: Option<Vec<FeatureName>>,
    /// The model of its agent; empty means the default.
    #[schema(max_length = 200)]
    pub(crate) model: Option<String>,
}

impl NewFeature {
    /// The feature as the board adds it. An empty text is none, as in an edit.
    pub(crate) fn for_board(self) -> board::NewFeature {
        let unless_empty = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        board::NewFeature {
            title: self.title,
            description: self.description,
            spec: unless_empty(self.spec),
            category: unless_empty(self.category),
            priority: self.priority,
            skip_tests: self.skip_tests,
            dependencies: self.dependencies.unwrap_or_default().iter().map(|name| name.0.to_string()).collect(),
            model: unless_empty(self.model),
            branch: unless_empty(self.branch_name),
        }
    }
}

impl FeatureEdit {
    /// The keys of `feature.json` that change. An empty text removes a key whose absence means the default.
    pub(crate) fn for_board(self) -> Edits {
        let text = |text: Option<String>| text.map(Value::String);
        let unless_empty =
            |text: Option<String>| text.map(|text| if text.is_empty() { Value::Null } else { Value::String(text) });
        let names = self.dependencies.map(|names| names.iter().map(|name| name.0.to_string()).collect::<Vec<_>>());
        let pairs = [
            ("title", text(self.title)),
            ("description", text(self.description)),
            ("spec", unless_empty(self.spec)),
            ("category", text(self.category)),
            ("priority", self.priority.map(|priority| json!(priority))),
            ("skipTests", self.skip_tests.map(|skip| json!(skip))),
            ("dependencies", names.map(|names| json!(names))),
            ("model", unless_empty(self.model)),
        ];
        pairs.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// The id of a feature in a body, checked when it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeatureName(pub(crate) FeatureId);

impl<'de> Deserialize<'de> for FeatureName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let id = FeatureId::parse(&text)
            .map_err(|problem| serde::de::Error::custom(format_args!("`{text}` names no feature: {problem}")))?;
        Ok(Self(id))
    }
}

impl utoipa::PartialSchema for FeatureName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some(FEATURE_ID))
            .description(Some("The id of a feature."))
            .examples(["feature-1767960000000-x7k2m9qpa"])
            .into()
    }
}

impl ToSchema for FeatureName {}

/// The pattern of feature ids, for the API description.
pub(crate) const FEATURE_ID: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// The part of an iteration's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DiffPart {
    /// The whole feature, as it was reviewed.
    #[default]
    Whole,
    /// The changes since the previous review.
    Delta,
}

same_variants!(DiffPart => Part: Whole Delta);
