//! The model provider of the user's Codex configuration, as options of its command line.
//!
//! ```toml
//! model_provider = "azure"
//!
//! [model_providers.azure]
//! base_url = "https://acme.openai.azure.com/openai"
//! env_key = "AZURE_OPENAI_API_KEY"
//! ```
//!
//! A reviewer is started without the user's configuration, which can also start servers and trust folders. The provider is
//! passed on by `-c`, without which the reviewer would send the code to another service than the user chose. Headers and
//! tokens are left out: other users can read the arguments of a process. Variables that the provider names are passed on.

use std::ffi::OsString;
use std::path::PathBuf;

use toml::{Table, Value};

use super::super::environment::Role;
use super::Invocation;

/// The largest configuration.
const MAX_BYTES: u64 = 1 << 20;

/// The keys of a provider that are passed on.
const KEYS: &[&str] = &[
    "name",
    "base_url",
    "env_key",
    "wire_api",
    "query_params",
    "env_http_headers",
    "requires_openai_auth",
    "request_max_retries",
    "stream_max_retries",
    "stream_idle_timeout_ms",
];

/// The provider of the user's configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CodexProvider {
    /// Values for `-c`: `model_provider="azure"`.
    settings: Vec<String>,
    /// The model of the configuration, for a reviewer without one of its own.
    model: Option<String>,
    /// Variables that it reads.
    variables: Vec<String>,
}

impl CodexProvider {
    /// Reads the configuration; `look_up` reads our own environment. Without one, or with a broken one, Codex has its
    /// defaults.
    pub(crate) fn read(look_up: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let home = || look_up("HOME").map(|home| PathBuf::from(home).join(".codex"));
        let file = look_up("CODEX_HOME").map(PathBuf::from).or_else(home).map(|folder| folder.join("config.toml"));
        let is_small = |file: &PathBuf| file.metadata().is_ok_and(|metadata| metadata.len() <= MAX_BYTES);
        let text = file.filter(is_small).and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let address = look_up("OPENAI_BASE_URL").and_then(|url| url.into_string().ok());
        Self::parse(&text.parse().unwrap_or_default(), address.as_deref())
    }

    /// True when the provider has a variable for its key, so that no log-in is needed.
    pub(crate) fn has_key(&self, look_up: &dyn Fn(&str) -> Option<OsString>) -> bool {
        self.variables.iter().any(|name| look_up(name).is_some())
    }

    /// The addresses of its service, which the sandbox lets through.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        let values = self.settings.iter().filter_map(|setting| setting.split_once('='));
        values.filter(|(key, _)| key.ends_with("base_url")).map(|(_, value)| value.trim().trim_matches('"'))
    }

    fn parse(config: &Table, address: Option<&str>) -> Self {
        let profile = config.get("profile").and_then(Value::as_str);
        let profile = profile.and_then(|name| config.get("profiles")?.get(name)?.as_table());
        let text = |key: &str| profile.and_then(|profile| profile.get(key)).or_else(|| config.get(key))?.as_str();
        let mut found = Self { model: text("model").map(str::to_owned), ..Self::default() };
        match text("model_provider").filter(|id| is_plain(id)) {
            Some(id) => found.take_provider(id, config),
            // Codex itself ignores this variable, which other programs for the same service read.
            None => found.settings.extend(address.map(|url| setting("openai_base_url", &Value::from(url)))),
        }
        if let Some(url) = config.get("openai_base_url").filter(|url| url.is_str()) {
            found.settings.retain(|known| !known.starts_with("openai_base_url="));
            found.settings.push(setting("openai_base_url", url));
        }
        found
    }

    fn take_provider(&mut self, id: &str, config: &Table) {
        self.settings.push(setting("model_provider", &Value::from(id)));
        let Some(own) = config.get("model_providers").and_then(|all| all.get(id)?.as_table()) else { return };
        let wanted = own.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
        self.settings.extend(wanted.map(|(key, value)| setting(&format!("model_providers.{id}.{key}"), value)));
        let headers = own.get("env_http_headers").and_then(Value::as_table).into_iter().flatten().map(|(_, name)| name);
        let names = own.get("env_key").into_iter().chain(headers).filter_map(Value::as_str);
        self.variables.extend(names.map(str::to_owned));
    }

    /// Adds the provider to a command line. An implementer reads the configuration itself and needs the variables only.
    pub(crate) fn apply(
        &self,
        role: Role,
        model: Option<&str>,
        invocation: &mut Invocation,
        look_up: &dyn Fn(&str) -> Option<OsString>,
    ) {
        let value = |name: &String| Some((name.clone(), look_up(name)?.into_string().ok()?));
        invocation.environment.extend(self.variables.iter().filter_map(value));
        if role != Role::Reviewer {
            return;
        }
        let model =
            self.model.as_deref().filter(|_| model.is_none()).map(|model| setting("model", &Value::from(model)));
        let options = self.settings.iter().cloned().chain(model).flat_map(|setting| ["-c".into(), setting.into()]);
        // The subcommand stays first, and the hyphen for standard input last.
        let at = invocation.args.len().min(1);
        invocation.args.splice(at..at, options.collect::<Vec<OsString>>());
    }
}

/// `key=value`, the value in TOML.
fn setting(key: &str, value: &Value) -> String {
    format!("{key}={value}")
}

/// True for a name that needs no quotes in a key.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AZURE: &str = "model = 'gpt-x'\nmodel_provider = 'azure'\n[mcp_servers.evil]\ncommand = 'x'\n\
        [model_providers.azure]\nname = 'Azure'\nbase_url = 'https://acme.example/openai'\nenv_key = 'AZURE_KEY'\n\
        query_params = { api-version = '1' }\nhttp_headers = { Authorization = 'secret' }\n\
        experimental_bearer_token = 'secret'\nenv_http_headers = { X-Team = 'TEAM' }\n\
        [model_providers.other]\nbase_url = 'https://other.example'\n";

    fn look_up(name: &str) -> Option<OsString> {
        matches!(name, "AZURE_KEY" | "TEAM").then(|| "value".into())
    }

    #[track_caller]
    fn check(role: Role, text: &str, address: Option<&str>, model: Option<&str>, expected: &str) {
        let provider = CodexProvider::parse(&text.parse().unwrap(), address);
        let mut invocation = Invocation { args: vec!["exec".into(), "-".into()], ..Invocation::default() };
        provider.apply(role, model, &mut invocation, &look_up);
        let args = invocation.args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let environment = invocation.environment.iter().map(|(name, value)| format!("{name}={value}"));
        assert_eq!(environment.chain(args).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn a_reviewer_asks_the_provider_of_the_users_configuration() {
        check(
            Role::Reviewer,
            AZURE,
            Some("https://ignored.example"),
            None,
            "AZURE_KEY=value TEAM=value exec -c model_provider=\"azure\" \
             -c model_providers.azure.base_url=\"https://acme.example/openai\" \
             -c model_providers.azure.env_http_headers={ X-Team = \"TEAM\" } \
             -c model_providers.azure.env_key=\"AZURE_KEY\" -c model_providers.azure.name=\"Azure\" \
             -c model_providers.azure.query_params={ api-version = \"1\" } -c model=\"gpt-x\" -",
        );
        check(Role::Implementer, AZURE, None, None, "AZURE_KEY=value TEAM=value exec -");
        let profile = "profile = 'p'\n[profiles.p]\nmodel_provider = 'oss'\nmodel = 'm'\n";
        check(Role::Reviewer, profile, None, Some("own"), "exec -c model_provider=\"oss\" -");
    }

    #[test]
    fn the_address_of_the_environment_is_passed_on_unless_the_configuration_has_one() {
        let url = Some("https://gateway.example/v1");
        check(Role::Reviewer, "", url, None, "exec -c openai_base_url=\"https://gateway.example/v1\" -");
        check(Role::Reviewer, "", None, None, "exec -");
        let own = "openai_base_url = 'https://own.example'";
        check(Role::Reviewer, own, url, None, "exec -c openai_base_url=\"https://own.example\" -");
        check(Role::Reviewer, "model_provider = 'a b=1'", None, None, "exec -");
    }
}
