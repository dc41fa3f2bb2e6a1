//! Settings, first steps and the list of projects, as they are rendered.

use insta::assert_snapshot;
use serde_json::json;
use tollgate_core::finding::Severity;

use crate::client::Said;
use crate::record::{remark, review};
use crate::stored::with_diff;
use crate::world::{Setup, World, story};

/// Everything that was ever used to break out of markup.
const HOSTILE: &str = "<script>alert(1)</script>\" onclick='x' \u{202e}\u{1b}[31m";

/// The lines of a page that hold one of these texts, without the spaces around them.
#[track_caller]
fn lines(said: &Said, texts: &[&str]) -> String {
    assert_eq!(said.status, 200, "{said:?}");
    let fits = |line: &&str| texts.iter().any(|text| line.contains(text));
    said.body.lines().filter(fits).map(str::trim).collect::<Vec<_>>().join("\n")
}

async fn add_project(world: &World, folder: &str, name: &str) -> u64 {
    let body = json!({ "path": world.repository(folder), "name": name }).to_string();
    world.ask("POST", "/api/projects", &body).await.json()["id"].as_u64().unwrap()
}

#[test]
fn with_no_project_one_is_welcomed() {
    story(|| async {
        let world = World::start();
        let said = world.page("/").await;
        assert_snapshot!(lines(&said, &["<h1", "<h2", "works now", "none yet"]), @r#"
        <h1>Welcome to tollgate</h1>
        <h2 id="add-title">Add a project</h2>
        <h2 id="demo-title">Load the demo</h2>
        <h2 id="who-title">Who does the work</h2>
        <li><span class="chip ok">✓ works now</span> <strong>Embedded reviewer</strong> <span class="muted">rules for many languages, offline, no key; reviews every change</span></li>
        <li><span class="chip">– none yet</span> <strong>An agent that implements features</strong> <span class="muted">claude, codex, gemini, cursor-agent, opencode, aider, or a program of your own.</span> <a href="/settings/agents">How to add one</a></li>
        <li><span class="chip">– none yet</span> <strong>A model that reviews, too</strong> <span class="muted">It answers acceptance criteria, which rules cannot.</span> <a href="/settings/agents">How to add one</a></li>
        "#);
        for needed in ["data-add-project", "id=\"project-path-error\"", "id=\"load-demo\"", "<noscript>"] {
            assert!(said.body.contains(needed), "{needed}");
        }
    });
}

#[test]
fn one_project_is_opened_and_several_are_listed() {
    story(|| async {
        let world = World::start();
        let first = add_project(&world, "shop", "Shop").await;
        let said = world.page("/").await;
        assert_eq!((said.status, said.header("location")), (303, Some(format!("/projects/{first}").as_str())));
        add_project(&world, "other", HOSTILE).await;
        let path = format!("/api/projects/{first}/features");
        world.ask("POST", &path, r#"{"title":"x","description":"y"}"#).await;
        let said = world.page("/").await;
        assert_snapshot!(lines(&said, &["project-head", "class=\"counts\"", "No features", "No agent"]), @r#"
        <p class="banner info">No agent is set up to implement features. The embedded reviewer works now. <a href="/settings/agents">How to add one</a></p>
        <div class="project-head"><h2 dir="auto"><a href="/projects/2">&lt;script&gt;alert(1)&lt;/script&gt;&quot; onclick=&#39;x&#39; \u{202e}\u{1b}[31m</a></h2>
        <p class="small muted">No features yet.</p>
        <div class="project-head"><h2 dir="auto"><a href="/projects/1">Shop</a></h2>
        <ul class="counts"><li><span class="muted" dir="auto">Backlog</span> <strong>1</strong></li></ul>
        "#);
    });
}

#[test]
fn prompts_show_what_holds_and_what_can_be_done() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let rejected = review(1, vec![remark(1, Severity::High, "Input is run")]);
        world.review(project, &feature, vec![with_diff(rejected)]);
        let own = json!({ "reviewSystemPrompt": { "enabled": true, "value": HOSTILE } }).to_string();
        assert_eq!(world.ask("PUT", "/api/settings/prompts", &own).await.status, 200);
        let said = world.page("/settings/prompts").await;
        assert_snapshot!(lines(&said, &["class=\"scope\"", "data-mode", "In force", "data-reset", "data-insert", "<option", "reset-all"]), @r#"
        <a class="scope" href="/settings/prompts" aria-current="page">All projects</a>
        <a class="scope" dir="auto" href="/settings/prompts?project=1">shop</a>
        <section class="panel prompt" data-key="reviewSystemPrompt" data-mode="custom" aria-labelledby="reviewSystemPrompt-title">
        <span class="chip wrap" data-used dir="auto">In force: the custom prompt for all projects</span></div>
        <button type="button" class="button small" data-reset disabled>Reset to Default</button></div>
        <section class="panel prompt" data-key="reviewPromptTemplate" data-mode="default" aria-labelledby="reviewPromptTemplate-title">
        <span class="chip wrap" data-used dir="auto">In force: the default</span></div>
        <button type="button" class="chip accent" data-insert="{featureTitle}" disabled>{featureTitle}</button><button type="button" class="chip accent" data-insert="{featureDescription}" disabled>{featureDescription}</button><button type="button" class="chip accent" data-insert="{gitDiff}" disabled>{gitDiff}</button><button type="button" class="chip accent" data-insert="{featureSpec}" disabled>{featureSpec}</button>
        <button type="button" class="button small" data-reset disabled>Reset to Default</button></div>
        <p><button type="button" class="button danger" id="reset-all" disabled>Reset All Code Review Prompts</button></p>
        <option value="1/feature-000002">Add login · shop · iteration 1</option>
        "#);
        let said = world.page(&format!("/settings/prompts?project={project}")).await;
        assert_snapshot!(lines(&said, &["data-mode", "value=\"inherit\"", "data-scope", "data-reset"]), @r#"
        <div class="prompts" id="prompts" data-path="/api/projects/1/settings/prompts" data-max="200000" data-scope="1" data-scope-name="shop">
        <section class="panel prompt" data-key="reviewSystemPrompt" data-mode="inherit" aria-labelledby="reviewSystemPrompt-title">
        <label><input type="radio" name="reviewSystemPrompt-mode" value="inherit" disabled checked><span>As for all projects</span></label>
        <button type="button" class="button small" data-reset disabled>Reset to all projects</button></div>
        <section class="panel prompt" data-key="reviewPromptTemplate" data-mode="inherit" aria-labelledby="reviewPromptTemplate-title">
        <label><input type="radio" name="reviewPromptTemplate-mode" value="inherit" disabled checked><span>As for all projects</span></label>
        <button type="button" class="button small" data-reset disabled>Reset to all projects</button></div>
        "#);
        assert_eq!(world.page("/settings/prompts?project=99").await.status, 404);
        assert_eq!(world.page("/settings/prompts?project=x").await.status, 422);
    });
}

#[test]
fn agents_say_what_they_are_and_where_their_key_is_looked_for() {
    story(|| async {
        let own = "[reviewer.gone]\ncommand = [\"/nowhere/agent\"]\n\
                   [reviewer.away]\nprovider = \"anthropic\"\nmodel = \"m\"\nkey_env = \"NO_SUCH_KEY\"\n";
        let world = Setup::new().configured(own).start();
        let said = world.page("/settings/agents").await;
        let of = |name: &str| {
            let start = said.body.find(&format!("data-agent=\"{name}\"")).unwrap();
            Said { body: said.body[start..].split("</li>").next().unwrap().to_owned(), ..said.clone() }
        };
        assert_eq!(lines(&said, &["<h3"]).lines().count(), 3, "{}", said.body);
        assert_snapshot!(lines(&of("gone"), &["data-agent", "chip", "<dt>Key", "data-trial"]), @r#"
        data-agent="gone">
        <span class="chip">– not available</span>
        <span class="chip">your own program</span>
        <span class="chip">can implement</span><span class="chip">can review</span>
        <button type="button" class="button small" data-trial="ask" data-act>Test<span class="sr-only"> gone</span></button>
        <button type="button" class="button small" data-trial="hands" data-act>Self-test<span class="sr-only"> gone</span></button>
        "#);
        assert_snapshot!(lines(&of("away"), &["data-agent", "chip", "<dt>Key", "data-trial"]), @r#"
        data-agent="away">
        <span class="chip">– not available</span>
        <span class="chip">service</span>
        <span class="chip">can review</span>
        <dt>Key</dt><dd><code>NO_SUCH_KEY</code> <span class="chip">not set</span></dd>
        <button type="button" class="button small" data-trial="ask" data-act>Test<span class="sr-only"> away</span></button>
        "#);
        assert_snapshot!(lines(&of("claude"), &["can implement", "data-trial"]), @r#"
        <span class="chip">can implement</span><span class="chip">can review</span>
        <button type="button" class="button small" data-trial="ask" data-act>Test<span class="sr-only"> claude</span></button>
        <button type="button" class="button small" data-trial="hands" data-act>Self-test<span class="sr-only"> claude</span></button>
        "#);
        assert_snapshot!(lines(&of("rules"), &["data-agent", "<h3", "chip", "<dt>Key", "data-trial"]), @r#"
        data-agent="rules">
        <span class="chip ok">✓ always works</span>
        <span class="chip">embedded rules</span>
        <span class="chip accent">● reviews now</span>
        <button type="button" class="button small" data-trial="ask" data-act>Test<span class="sr-only"> rules</span></button>
        "#);
    });
}

#[test]
fn the_policy_says_where_each_value_comes_from() {
    story(|| async {
        let setup = Setup::new().configured("[review]\nfail_on = \"medium\"\n");
        let world = setup.variable("TOLLGATE_PIPELINE_REVIEW_MODEL", "<script>alert(1)</script>").start();
        let said = world.page("/settings/gate").await;
        assert_snapshot!(lines(&said, &["id=\"pipeline.rounds\"", "id=\"review.fail_on\"", "id=\"review.floor\""]), @r#"
        <tr id="pipeline.rounds"><th scope="row"><span class="name">Rounds</span><span class="muted">How often a feature may be rejected before a person decides; three at most.</span></th>
        <tr id="review.fail_on"><th scope="row"><span class="name">Closes the gate</span><span class="muted">The mildest severity that keeps a change from passing.</span></th>
        <tr id="review.floor"><th scope="row"><span class="name">Floor</span><span class="muted">Milder findings are withheld in every profile.</span></th>
        "#);
        assert_snapshot!(world.plain(&lines(&said, &["&quot;medium&quot;</code>", "config.toml</span>", "alert(1)"])), @r#"
        <td data-label="Value"><code class="value" dir="auto">&quot;medium&quot;</code></td>
        <td data-label="Comes from"><span class="from" dir="auto">/srv/config/tollgate/config.toml</span></td>
        fail_on = &quot;medium&quot;</code></pre><button type="button" class="button small" data-copy hidden>Copy</button></div><p class="help">A repository's own <code>.tollgate.toml</code> may say it, too; for a feature it is read as of the commit it began from.</p></details></td></tr>
        floor = &quot;medium&quot;</code></pre><button type="button" class="button small" data-copy hidden>Copy</button></div><p class="help">A repository's own <code>.tollgate.toml</code> may say it, too; for a feature it is read as of the commit it began from.</p></details></td></tr>
        "#);
    });
}

#[test]
fn identity_projects_and_access_say_what_holds() {
    story(|| async {
        let world = World::start();
        add_project(&world, "shop", HOSTILE).await;
        let said = world.page("/settings/identity").await;
        assert_snapshot!(lines(&said, &["<dt>", "Author", "Review Summary"]), @r#"
        <dt>In titles of summary comments</dt><dd><strong dir="auto">Kodiai</strong> <span class="muted" dir="auto">from the default</span></dd>
        <dt>In messages of commits</dt><dd><strong dir="auto">Automaker</strong> <span class="muted" dir="auto">from the default</span></dd>
        <div class="scroll-x"><table class="table"><thead><tr><th scope="col">Project</th><th scope="col">Author</th></tr></thead><tbody>
        <figure><figcaption>A commit</figcaption><pre>Author: Ada &lt;ada@example.com&gt;
        <figure><figcaption>The title of a summary comment</figcaption><pre>Kodiai Review Summary</pre></figure>
        "#);
        let said = world.page("/settings/projects").await;
        assert_snapshot!(lines(&said, &["data-project-row", "project-head", "demo"]), @r#"
        <li class="card project" data-project-row="1" data-name="&lt;script&gt;alert(1)&lt;/script&gt;&quot; onclick=&#39;x&#39; \u{202e}\u{1b}[31m">
        <div class="project-head"><h3 dir="auto"><a href="/projects/1">&lt;script&gt;alert(1)&lt;/script&gt;&quot; onclick=&#39;x&#39; \u{202e}\u{1b}[31m</a></h3>
        <noscript><p class="banner info">Without JavaScript: <code>tollgate project add /home/me/shop</code> adds a project, <code>tollgate serve --demo</code> shows the demo.</p></noscript>
        <section class="panel" aria-labelledby="demo-title" id="demo-panel" hidden>
        <h3 id="demo-title">Demo</h3>
        <button type="button" class="button" id="load-demo" data-act>Load the demo</button>
        "#);
        let mut said = world.page("/settings/access").await;
        // The server may not have noticed yet that the connections of the pages before are gone.
        while !said.body.contains("1 connection,") {
            said = world.page("/settings/access").await;
        }
        let port = world.address.port().to_string();
        assert_snapshot!(lines(&said, &["<dt>", "id=\"rotate\"", "id=\"sign-out\""]).replace(&port, "PORT"), @r#"
        <dl class="facts"><dt>Kept in</dt><dd>no file of this server's</dd></dl>
        <button type="button" class="button" id="sign-out" data-act>Sign out</button>
        <button type="button" class="button danger" id="rotate" data-act aria-disabled="true" aria-describedby="rotate-why">Make a new token</button>
        <dt>Address</dt><dd><code>127.0.0.1:PORT</code> <span class="chip ok">✓ this machine only</span></dd>
        <dt>Answers to</dt><dd><code dir="auto">localhost:PORT</code>, <code dir="auto">127.0.0.1:PORT</code>, <code dir="auto">[::1]:PORT</code>, <code dir="auto">board.example</code></dd>
        <dl class="facts"><dt>Now</dt><dd>1 connection, of which 0 listen to events</dd></dl>
        "#);
        assert_eq!(world.page("/settings").await.header("location"), Some("/settings/prompts"));
    });
}

#[test]
fn nothing_that_was_typed_becomes_markup() {
    story(|| async {
        let world = World::start();
        let project = add_project(&world, "one", HOSTILE).await;
        add_project(&world, &format!("two {HOSTILE}"), "two").await;
        let feature = json!({ "title": HOSTILE, "description": HOSTILE }).to_string();
        world.ask("POST", &format!("/api/projects/{project}/features"), &feature).await;
        let own = json!({ "reviewSystemPrompt": { "enabled": true, "value": format!("</textarea>{HOSTILE}") } });
        for path in ["/api/settings/prompts".to_owned(), format!("/api/projects/{project}/settings/prompts")] {
            assert_eq!(world.ask("PUT", &path, &own.to_string()).await.status, 200);
        }
        let own = format!("/settings/prompts?project={project}");
        let paths = [
            "/",
            "/settings/prompts",
            &own,
            "/settings/agents",
            "/settings/gate",
            "/settings/identity",
            "/settings/projects",
        ];
        for path in paths {
            let body = world.page(path).await.body;
            assert!(!body.contains("<script>"), "{path}");
            assert!(!body.contains("</textarea><"), "{path}");
            assert!(!body.contains(['\u{202e}', '\u{1b}']), "{path}");
            assert!(!body.contains("onclick='"), "{path}");
        }
    });
}
