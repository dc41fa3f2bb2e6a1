//! The shapes of arguments and answers, as JSON Schema.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The shape of what a tool is told.
pub(super) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    object::<T>(settings())
}

pub(super) fn output<T: JsonSchema>() -> Arc<JsonObject> {
    object::<T>(settings().for_serialize())
}

/// In one piece: some clients do not follow references.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true)
}

fn object<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(mut object) => {
            // The Rust type name is no use to clients.
            object.remove("title");
            Arc::new(object)
        }
        _ => Arc::default(),
    }
}
