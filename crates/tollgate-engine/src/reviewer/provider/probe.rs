//! Probes a service without calling its model.

use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::Value;

use super::assembly::fault;
use super::error::{Trouble, garbled, late, refused, unreachable};
use super::{Connection, Net, Protocol, Provider, no_way_out};
use crate::reviewer::call::CallFailure;

/// The timeout of a probe.
const LIMIT: Duration = Duration::from_secs(10);

/// The largest list of models; the longest known ones have a few megabytes.
const MAX_BYTES: usize = 16 << 20;

/// The result of a probe: the service responds and accepts the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Whether it has the model.
    pub model: Model,
    /// How long it took.
    pub took: Duration,
}

/// Whether a service has a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The list contains it.
    Known,
    /// The list contains others only.
    Unknown,
    /// The service has no list.
    Unsaid,
}

/// Probes whether a service is reachable, accepts the key and has the model.
pub fn probe(connection: Connection, net: &Net) -> Result<Probe, CallFailure> {
    let provider = Provider::new(connection, net)?;
    let started = Instant::now();
    let looked = net.runtime().map_err(|error| no_way_out(&error)).and_then(|runtime| {
        runtime.block_on(async {
            let looking = tokio::time::timeout(LIMIT, look(&provider));
            looking.await.unwrap_or_else(|_| Err(late(&provider.connection, LIMIT)))
        })
    });
    looked.map(|model| Probe { model, took: started.elapsed() }).map_err(|trouble| provider.failure(trouble, 1))
}

async fn look(provider: &Provider) -> Result<Model, Trouble> {
    let connection = &provider.connection;
    let model = connection.model.trim_start_matches("models/");
    let url = match connection.protocol {
        Protocol::OpenAi => connection.address(&["models"])?,
        Protocol::Anthropic => connection.address(&["v1", "models", model])?,
        Protocol::Gemini => connection.address(&["models", model])?,
    };
    let client = provider.net.client(&url).map_err(|error| no_way_out(&error))?;
    let response = client.get(url).headers(connection.headers()).send().await;
    let response = response.map_err(|error| unreachable(connection, &error))?;
    let status = response.status();
    let body = text(response).await.ok_or_else(|| garbled(connection, "its list of models has no end"))?;
    let message: Option<Value> = serde_json::from_str(&body).ok();
    match (status.as_u16(), connection.protocol) {
        (200..300, Protocol::OpenAi) => Ok(message.as_ref().map_or(Model::Unsaid, |list| listed(list, model))),
        (200..300, _) => Ok(if message.is_some() { Model::Known } else { Model::Unsaid }),
        // Compatible servers often have no list of models.
        (404 | 405 | 501, Protocol::OpenAi) => Ok(Model::Unsaid),
        (404, _) => Ok(if message.as_ref().and_then(fault).is_some() { Model::Unknown } else { Model::Unsaid }),
        (status, _) => {
            let fault = message.as_ref().and_then(fault).unwrap_or_default();
            Err(refused(connection, status, &fault, None))
        }
    }
}

/// Whether a model is in a list of models.
fn listed(list: &Value, model: &str) -> Model {
    let Some(models) = list["data"].as_array().filter(|models| !models.is_empty()) else { return Model::Unsaid };
    // Local servers add a tag to the name.
    let is_it = |id: &str| id == model || id.strip_prefix(model).is_some_and(|tag| tag == ":latest");
    let known = models.iter().filter_map(|entry| entry["id"].as_str()).any(is_it);
    if known { Model::Known } else { Model::Unknown }
}

/// The body, up to the limit.
async fn text(mut response: Response) -> Option<String> {
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_BYTES {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_model_is_looked_up_in_the_list() {
        let list = json!({"object": "list", "data": [{"id": "qwen3:latest"}, {"id": "gpt-6.1-sol"}]});
        for (model, expected) in [("gpt-6.1-sol", Model::Known), ("qwen3", Model::Known), ("gpt-6", Model::Unknown)] {
            assert_eq!(listed(&list, model), expected, "{model}");
        }
        assert_eq!(listed(&json!({"data": []}), "x"), Model::Unsaid);
        assert_eq!(listed(&json!("hello"), "x"), Model::Unsaid);
    }
}
