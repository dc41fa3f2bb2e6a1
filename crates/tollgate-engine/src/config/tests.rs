//! Tests of configuration files and of the error messages about them.

use insta::assert_snapshot;
use tollgate_core::intent::Intent;
use tollgate_core::policy;

use super::*;

fn settings(text: &str) -> Result<Settings, Failure> {
    Settings::of_layers(&[Layer { source: FILE_NAME.to_owned(), values: file::parse(text, FILE_NAME)? }])
}

fn problem(text: &str) -> String {
    let failure = settings(text).unwrap_err();
    [Some(failure.message), failure.hint].into_iter().flatten().collect::<Vec<_>>().join(" | ")
}

#[test]
fn the_template_says_the_defaults() {
    let plain = settings(TEMPLATE).unwrap();
    let uncommented: String = TEMPLATE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") || rest.starts_with("[[") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let said = settings(&uncommented).unwrap();
    let key = |settings: &Settings| {
        let limits = Limits { jobs: None, ..settings.limits };
        let policy = policy::resolve(&Intent::default(), &settings.policy);
        let strictness = (policy.profile, policy.floor, policy.cap, settings.allow_no_review, &settings.bot);
        let asked = (settings.reviewers.len(), settings.consensus, &settings.budget);
        format!("{:?} {strictness:?} {} {limits:?} {asked:?}", settings.fail_on, settings.max_diff_bytes)
    };
    assert_eq!(key(&plain), key(&Settings::default()));
    assert_eq!(key(&said), key(&Settings::default()));
    assert_eq!((said.suppressions.len(), said.instructions.len()), (1, 1));
}

#[test]
fn unknown_keys_are_located_with_a_suggestion() {
    assert_snapshot!(problem("[review]\nfail-on = 'high'"), @".tollgate.toml:2:1: unknown key `fail-on` | Did you mean `fail_on`?");
    assert_snapshot!(problem("[reviews]\n"), @".tollgate.toml:1:2: unknown key `reviews` | Did you mean `review`?");
    assert_snapshot!(problem("[paths]\nx = 1"), @".tollgate.toml:2:1: unknown key `x` | Known keys here are include, exclude.");
}

#[test]
fn a_secret_in_the_file_is_refused_with_the_reason() {
    assert_snapshot!(problem("[review]\napi_key = 'x'"), @".tollgate.toml:2:1: `api_key` looks like a secret, and secrets are not read from files in a repository | Put it into an environment variable: everyone who can read the repository could read it here.");
}

#[test]
fn wrong_values_are_located() {
    assert_snapshot!(problem("[review]\nfail_on = 'hihg'"), @".tollgate.toml:2:11: unknown value `hihg` | It can be critical, high, medium, low, never.");
    assert_snapshot!(problem("[review]\nbase = 3"), @".tollgate.toml:2:8: invalid type: integer `3`, expected a string");
    assert_snapshot!(problem("[limits]\nfile_seconds = 0"), @".tollgate.toml:2:16: expected a number from 1 to 600, found `0`");
    assert_snapshot!(problem("[paths]\nexclude = ['a', '{']"), @".tollgate.toml:2:11: `{` is not a pattern of paths: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
    assert_snapshot!(problem("[rules]\ndisable = ['[']"), @".tollgate.toml:2:11: `[` is not a pattern of rule names: unclosed character class; missing ']'");
    assert_snapshot!(problem("[review\n"), @".tollgate.toml:1:8: unclosed table, expected `]`");
    assert_snapshot!(problem("[[suppress]]\nreason = 'because'"), @".tollgate.toml: suppress #1 must set `paths`, `rule`, `category` or `text`");
}

#[test]
fn later_layers_win_and_lists_grow() {
    let layer =
        |source: &str, text: &str| Layer { source: source.to_owned(), values: file::parse(text, source).unwrap() };
    let variables = [("TOLLGATE_LIMITS_JOBS".to_owned(), "3".to_owned()), ("TOLLGATE_LOG".to_owned(), "x".to_owned())];
    let mut layers = vec![
        layer("user", "review.fail_on = 'low'\npaths.exclude = ['*.md']\nlimits.jobs = 1"),
        layer(FILE_NAME, "review.fail_on = 'never'\npaths.exclude = ['vendor/']\n[[suppress]]\nrule = 'x'"),
    ];
    layers.extend(environment::layers(&variables).unwrap());
    layers.push(layer("--fail-on", "review.fail_on = 'critical'"));
    let settings = Settings::of_layers(&layers).unwrap();
    assert_eq!(settings.fail_on, FailOn::Severity(Severity::Critical));
    assert!(!settings.paths.wants("docs/a.md") && !settings.paths.wants("vendor/a.rs") && settings.paths.wants("a.rs"));
    let shown: Vec<String> =
        settings.shown.iter().map(|shown| format!("{} = {} ({})", shown.key, shown.value, shown.source)).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    budget.idle_seconds = 120 (default)
    budget.parallel = 4 (default)
    budget.seconds = 600 (default)
    budget.tokens = 200000 (default)
    github.concurrency = 2 (default)
    github.concurrency_per_installation = 0 (default)
    github.concurrency_per_repository = 0 (default)
    github.model_reviews_per_author = 100 (default)
    github.model_reviews_per_repository = 500 (default)
    github.url = "https://github.com" (default)
    identity.bot = "Kodiai" (default)
    identity.pipeline = "Automaker" (default)
    limits.cpu_seconds = 2 (default)
    limits.file_bytes = 1048576 (default)
    limits.file_seconds = 10 (default)
    limits.jobs = 3 (TOLLGATE_LIMITS_JOBS)
    limits.memory_mib = 512 (default)
    paths.exclude = ["*.md"] (user)
    paths.exclude = ["vendor/"] (.tollgate.toml)
    pipeline.at_once = 2 (default)
    pipeline.dir = ".automaker" (default)
    pipeline.hooks = true (default)
    pipeline.idle_minutes = 10 (default)
    pipeline.minutes = 60 (default)
    pipeline.reviews_at_once = 2 (default)
    pipeline.rounds = 3 (default)
    retention.deliveries = 30 (default)
    retention.diffs = 0 (default)
    retention.events = 7 (default)
    retention.pulls = 0 (default)
    retention.reviews = 0 (default)
    review.allow_no_review = true (default)
    review.auto_approve = false (default)
    review.automatic = true (default)
    review.consensus = 1 (default)
    review.fail_on = "critical" (--fail-on)
    review.max_diff_bytes = 20000000 (default)
    review.mode = "standard" (default)
    review.profile = "balanced" (default)
    sandbox.mode = "best" (default)
    sandbox.network = "hosts" (default)
    sandbox.processes = 8192 (default)
    sandbox.registries = true (default)
    store.enabled = true (default)
    suppress = { rule = "x" } (.tollgate.toml)
    "#);
}

#[test]
fn variables_are_checked_like_keys() {
    let problem = |name: &str, value: &str| {
        environment::layers(&[(name.to_owned(), value.to_owned())]).map(|layers| layers.len()).unwrap_err()
    };
    let failure = problem("TOLLGATE_REVIEW_FAILON", "low");
    assert_snapshot!(failure.message, @"TOLLGATE_REVIEW_FAILON: no setting belongs to this variable");
    assert_snapshot!(failure.hint.unwrap(), @"Did you mean `TOLLGATE_REVIEW_FAIL_ON`?");
    assert_snapshot!(problem("TOLLGATE_LIMITS_JOBS", "many").message, @"TOLLGATE_LIMITS_JOBS: expected a number, found `many`");
    assert_snapshot!(problem("TOLLGATE_BUDGET_USD", "nan").message, @"TOLLGATE_BUDGET_USD: expected a number, found `nan`");
    assert_snapshot!(problem("TOLLGATE_BUDGET_USD", "-0.5").message, @"TOLLGATE_BUDGET_USD: expected an amount of US dollars");
    assert_snapshot!(problem("TOLLGATE_REVIEW_FAIL_ON", "x\ny").message, @"TOLLGATE_REVIEW_FAIL_ON: unknown value `x`");
}

#[test]
fn a_repository_does_not_raise_the_users_own_budget() {
    let layer =
        |source: &str, text: &str| Layer { source: source.to_owned(), values: file::parse(text, source).unwrap() };
    let of = |own: &str, repository: &str| {
        let budget = Settings::of_layers(&[layer("user", own), layer(FILE_NAME, repository)]).unwrap().budget;
        (budget.tokens, budget.usd)
    };
    let repository = "budget.tokens = 300000\nbudget.usd = 1000";
    assert_eq!(of("", repository), (300_000, Some(1_000.0)));
    assert_eq!(of("budget.usd = 2", repository), (300_000, Some(2.0)));
    assert_eq!(of("budget.tokens = 5000", "budget.tokens = 4000"), (4_000, None));
}

#[test]
fn every_key_of_the_budget_has_a_variable() {
    let values = [
        ("TOKENS", "1000"),
        ("USD", "0.25"),
        ("SECONDS", "60"),
        ("IDLE_SECONDS", "9"),
        ("CALL_TOKENS", "1000"),
        ("PARALLEL", "2"),
    ];
    let variables = values.map(|(key, value)| (format!("TOLLGATE_BUDGET_{key}"), value.to_owned()));
    let settings = Settings::of_layers(&environment::layers(&variables).unwrap()).unwrap();
    assert_eq!(settings.budget.usd, Some(0.25));
    assert_eq!(settings.budget.call_tokens, Some(1_000));
    assert_eq!((settings.budget.tokens, settings.budget.parallel), (1_000, 2));
}

#[test]
fn patterns_of_paths_hold_as_in_gitignore() {
    let cases = [
        ("*.md", "docs/a.md", true),
        ("docs/*.md", "docs/a.md", true),
        ("docs/*.md", "docs/b/a.md", false),
        ("docs/", "docs/b/a.md", true),
        ("docs/", "x/docs/a.md", true),
        ("/docs/", "x/docs/a.md", false),
        ("a/**/b", "a/x/y/b", true),
        ("./src/", "src/a.rs", true),
    ];
    for (pattern, path, expected) in cases {
        let paths = Paths { include: None, exclude: globs(&[Pattern::parse(pattern).unwrap()]).unwrap() };
        assert_eq!(!paths.wants(path), expected, "{pattern} on {path}");
    }
}

#[test]
fn rules_are_switched_off_and_weighed_by_name() {
    let settings =
        settings("[rules]\ndisable = ['js-*']\nseverity = { 'py-*' = 'low', 'py-eval' = 'Critical' }").unwrap();
    assert!(!settings.rules.enabled("js-eval") && settings.rules.enabled("py-eval"));
    assert_eq!(settings.rules.severity("py-eval"), Some(Severity::Critical));
    assert_eq!(settings.rules.severity("py-exec"), Some(Severity::Low));
    assert_eq!(settings.rules.severity("rust-unwrap"), None);
}

#[test]
fn a_missing_file_is_no_mistake_and_a_link_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    assert!(load(Some(root.path()), None, &[], Layer::default()).is_ok());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", root.path().join(FILE_NAME)).unwrap();
        let failure = load(Some(root.path()), None, &[], Layer::default()).unwrap_err();
        assert_snapshot!(failure.message, @".tollgate.toml: symbolic links are not followed");
    }
}

#[test]
fn the_schema_knows_every_key_and_no_other() {
    let schema = schema();
    let text = schema.to_string();
    assert_eq!(schema["additionalProperties"], false);
    for key in ["base", "fail_on", "floor", "max_diff_bytes", "include", "exclude", "disable", "severity", "suppress"] {
        assert!(text.contains(&format!("\"{key}\"")), "{key}");
    }
    assert_eq!(schema["$defs"]["LimitsPart"]["properties"]["memory_mib"]["minimum"], 128);
}

#[test]
fn a_repository_cannot_say_where_the_memory_is() {
    let folder = tempfile::tempdir().unwrap();
    for setting in ["path = '/tmp/x'", "database = 'postgres://db/toll'"] {
        std::fs::write(folder.path().join(FILE_NAME), format!("[store]\n{setting}\n")).unwrap();
        let failure = load(Some(folder.path()), None, &[], Layer::default()).unwrap_err();
        assert!(failure.message.contains("`store` cannot be set in a repository"), "{}", failure.message);
    }
    let variable = [("TOLLGATE_STORE_PATH".to_owned(), "/data/x.db".to_owned())];
    assert_eq!(load(None, None, &variable, Layer::default()).unwrap().store, Some(PathBuf::from("/data/x.db")));
}

#[test]
fn the_last_layer_that_sets_the_store_wins() {
    let layer =
        |source: &str, text: &str| Layer { source: source.to_owned(), values: file::parse(text, source).unwrap() };
    let (file, database) = ("store.path = 'a.db'", "store.database = 'postgres://ann:s3cret@db/toll'");
    let of = |layers: &[Layer]| {
        let settings = Settings::of_layers(layers).unwrap();
        let shown = settings.shown.iter().filter(|shown| shown.key.starts_with("store."));
        let shown: Vec<String> = shown.map(|shown| format!("{} = {}", shown.key, shown.value)).collect();
        (settings.store.is_some(), settings.database.is_some(), shown.join(", "))
    };
    let shown = r#"store.database = "postgres://ann:***@db/toll", store.enabled = true"#.to_owned();
    assert_eq!(of(&[layer("user", file), layer("later", database)]), (false, true, shown));
    let shown = r#"store.enabled = true, store.path = "a.db""#.to_owned();
    assert_eq!(of(&[layer("user", database), layer("later", file)]), (true, false, shown));
    let both = Settings::of_layers(&[layer("user", &format!("{file}\n{database}"))]).unwrap_err();
    assert_snapshot!(both.message, @"user: `store.path` and `store.database` are both set, and only one of them can be where reviews are kept");
}

#[test]
fn variables_name_one_place_for_the_memory() {
    let file = ("TOLLGATE_STORE_PATH".to_owned(), "a.db".to_owned());
    let database = ("TOLLGATE_STORE_DATABASE".to_owned(), "postgres://ann:s3cret@db/toll".to_owned());
    let settings = load(None, None, std::slice::from_ref(&database), Layer::default()).unwrap();
    assert_eq!(settings.database.as_ref().map(DatabaseUrl::expose), Some("postgres://ann:s3cret@db/toll"));
    assert!(!format!("{settings:?}").contains("s3cret"));
    let both = load(None, None, &[file, database], Layer::default()).unwrap_err();
    assert!(both.message.contains("`TOLLGATE_STORE_PATH` and `TOLLGATE_STORE_DATABASE` are both set"), "{both}");
    let other = ("TOLLGATE_STORE_DATABASE".to_owned(), "mysql://ann:s3cret@db/toll".to_owned());
    let failure = load(None, None, &[other], Layer::default()).unwrap_err();
    assert_snapshot!(failure.message, @"TOLLGATE_STORE_DATABASE: expected an address as `postgres://user@host/database` or `sqlite:FILE`");
}

#[test]
fn the_sandbox_is_a_table_or_its_mode_alone() {
    let sandbox = |text: &str| {
        let values = file::parse(text, "user").map_err(|failure| failure.message)?;
        let layer = Layer { source: "user".to_owned(), values };
        Settings::of_layers(&[layer]).map(|settings| settings.sandbox).map_err(|failure| failure.message)
    };
    assert_eq!(sandbox("sandbox = 'require'").unwrap().mode, SandboxMode::Require);
    let table = sandbox("[sandbox]\nmode = 'off'\nhosts = ['127.0.0.1:11434', '*.example.com']\nread = ['~/.cargo']\n");
    let table = table.unwrap();
    assert_eq!((table.mode, table.hosts.len(), table.read.len()), (SandboxMode::Off, 2, 1));
    for wrong in [
        "sandbox = 'on'",
        "sandbox = 1",
        "[sandbox]\nmodes = 'off'",
        "[sandbox]\nhosts = ['http://x']",
        "[sandbox]\nread = ['relative']",
        "[sandbox]\nwrite = ['/']",
        "[sandbox]\nwrite = ['~/']",
        "[sandbox]\nprocesses = 1",
    ] {
        assert!(sandbox(wrong).is_err(), "{wrong}");
    }
    let failure = of_repository(b"sandbox = 'off'".to_vec(), FILE_NAME.to_owned()).unwrap_err();
    assert!(failure.message.contains("`sandbox` cannot be set in a repository"), "{}", failure.message);
}

#[test]
fn a_repository_cannot_say_how_the_board_works() {
    for text in ["[pipeline]\nagent = 'claude'\n", "[identity]\npipeline = 'Mine'\n"] {
        let failure = load_at(Some(text.into()), None, &[], Layer::default()).unwrap_err();
        assert!(failure.message.contains("the operator's to say"), "{failure}");
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(FILE_NAME), text).unwrap();
        assert_eq!(load(Some(root.path()), None, &[], Layer::default()).unwrap_err(), failure);
    }
    let user = tempfile::tempdir().unwrap();
    std::fs::create_dir(user.path().join("tollgate")).unwrap();
    std::fs::write(user.path().join("tollgate/config.toml"), "[pipeline]\nagent = 'codex'\nminutes = 5\n").unwrap();
    let pipeline = load_at(None, Some(user.path()), &[], Layer::default()).unwrap().pipeline;
    assert_eq!((pipeline.agent.as_deref(), pipeline.time.as_secs()), (Some("codex"), 300));
    for wrong in ["dir = '..'", "dir = 'a/b'", "dir = '.git'", "at_once = 0", "rounds = 4", "minutes = 0"] {
        assert!(problem(&format!("[pipeline]\n{wrong}\n")).contains("expected"), "{wrong}");
    }
}

#[test]
fn a_name_for_comments_is_plain_text() {
    assert_eq!(settings("[identity]\nbot = 'Team Bot-2'").unwrap().bot, "Team Bot-2");
    for name in ["", " x", "</summary>", "a\\nb", "*x*"] {
        let problem = problem(&format!("[identity]\nbot = \"{name}\""));
        assert!(problem.contains("expected a name of 1 to 40 letters"), "{name}: {problem}");
    }
}

#[test]
fn reviewers_are_presets_or_set_up_and_a_later_list_replaces_an_earlier_one() {
    let layer =
        |source: &str, text: &str| Layer { source: source.to_owned(), values: file::parse(text, source).unwrap() };
    let user = "[reviewer.local]\nbase_url = 'http://127.0.0.1:8080/v1/'\nprotocol = 'openai'\nmodel = 'q'";
    let team = "review.reviewers = ['local', 'claude', 'rules', 'claude']\n[reviewer.local]\nprovider = 'openai'";
    let settings = Settings::of_layers(&[layer("user", user), layer(FILE_NAME, team)]).unwrap();
    let names: Vec<&str> = settings.reviewers.iter().map(|chosen| chosen.name.as_str()).collect();
    assert_eq!(names, ["local", "claude"]);
    // The user's own table, which may name a key, is not for a repository to change.
    assert_eq!(settings.reviewers[0].part.provider, None);
    assert_eq!(settings.reviewers[0].part.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
    assert_eq!(settings.reviewers[1].part.agent, Some(reviewer::AgentWord::Claude));
    let flag = layer("--reviewer", "review.reviewers = ['codex']");
    let settings = Settings::of_layers(&[layer("user", user), layer(FILE_NAME, team), flag]).unwrap();
    assert_eq!(settings.reviewers.len(), 1);
}

// Issue 17: a table with only `env` was refused.
#[test]
fn a_table_with_the_name_of_a_preset_inherits_it() {
    let text = "review.reviewers = ['claude', 'openai', 'ollama', 'anthropic']\n\
        [reviewer.claude]\nenv = ['MY_VARIABLE']\n[reviewer.openai]\nbase_url = 'https://gateway.example/v1'\n\
        [reviewer.ollama]\nmodel = 'm'\n\
        [reviewer.anthropic]\nbase_url = 'https://x.example'\nprotocol = 'openai'\n";
    let layer = Layer { source: "user".to_owned(), values: file::parse(text, "user").unwrap() };
    let settings = Settings::of_layers(&[layer]).unwrap();
    let parts: Vec<_> = settings.reviewers.iter().map(|chosen| &chosen.part).collect();
    assert_eq!(
        (parts[0].agent, parts[0].env.as_deref()),
        (Some(reviewer::AgentWord::Claude), Some(&["MY_VARIABLE".to_owned()][..]))
    );
    assert_eq!(parts[1].provider, Some(reviewer::ProviderWord::OpenAi));
    assert_eq!(parts[1].base_url.as_deref(), Some("https://gateway.example/v1"));
    assert_eq!(parts[2].provider, Some(reviewer::ProviderWord::Ollama));
    assert_eq!(parts[3].provider, None, "a service of one's own by that name");
    assert!(problem("[reviewer.codex]\nbase_url = 'https://x.example'").contains("only services have"));
}

#[test]
fn mistakes_in_reviewers_are_said() {
    let cases = [
        "review.reviewers = ['cluade']",
        "[reviewer.a]\nmodel = 'x'",
        "[reviewer.a]\nprovider = 'openai'\nagent = 'codex'",
        "[reviewer.a]\nbase_url = 'https://models.example'",
        "[reviewer.a]\nbase_url = 'https://me:pass@models.example'",
        "[reviewer.a]\nprovider = 'openai'\nkey_env = 'sk-proj-1234'",
        "[reviewer.a]\nprovider = 'openai'\napi_key = 'sk-proj-1234'",
        "[reviewer.a]\nagent = 'claude'\nmodel = '--dangerously'",
        "[reviewer.rules]\nprovider = 'openai'",
        "[reviewer.a]\nprovider = 'openai'\nprice_input = 3",
        "[[instructions]]\npaths = ['*.sql']\ntext = ' '",
        "review.consensus = 2\nreview.reviewers = ['claude']",
    ];
    let said: Vec<String> = cases.iter().map(|case| problem(case)).collect();
    assert!(!said.join(" ").contains("sk-proj"), "{said:?}");
    assert_snapshot!(said.join("\n"), @"
    there is no reviewer `cluade` | Did you mean `claude`? `tollgate doctor` lists them.
    .tollgate.toml: reviewer `a` sets none of `provider`, `agent`, `command` and `base_url`
    .tollgate.toml: reviewer `a` sets both `provider` and `agent`
    .tollgate.toml: reviewer `a` has a `base_url` and no `protocol`; it can be `openai`, `anthropic` or `gemini`
    .tollgate.toml:2:12: an address must not hold a name or a password; use `key_env` or `key_file`
    .tollgate.toml:3:11: expected the name of an environment variable in capitals, as `ANTHROPIC_API_KEY`, not a key
    .tollgate.toml:3:1: `api_key` looks like a secret, and secrets are not read from files in a repository | Put it into an environment variable: everyone who can read the repository could read it here.
    .tollgate.toml:3:9: expected the name of a model
    .tollgate.toml: reviewer `rules` has a name that is none: letters, digits, `-`, `_`, `.`, and not `rules`
    .tollgate.toml: reviewer `a` sets one of `price_input` and `price_output`; both are needed
    .tollgate.toml: an entry of `instructions` needs `paths` and a `text`
    `review.consensus` is 2, and only 1 would be asked, so no finding could count | Add reviewers, raise `passes` of one, or lower `review.consensus`.
    ");
}

#[test]
fn a_repository_cannot_say_what_is_run_or_where_a_key_goes() {
    let folder = tempfile::tempdir().unwrap();
    let load = |text: &str| {
        std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
        load(Some(folder.path()), None, &[], Layer::default())
    };
    for field in [
        "command = ['x']",
        "base_url = 'https://x.example'",
        "key_env = 'X'",
        "key_file = '/x'",
        "env = ['X']",
        "price_input = 0.0",
    ] {
        let failure = load(&format!("[reviewer.a]\nprovider = 'openai'\n{field}")).unwrap_err();
        assert!(failure.message.contains("cannot be set in a repository"), "{}", failure.message);
    }
    assert!(load("review.reviewers = ['a']\n[reviewer.a]\nprovider = 'openai'\nmodel = 'x'").is_ok());
}
