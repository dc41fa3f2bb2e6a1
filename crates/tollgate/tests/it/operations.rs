//! The guide for operators is true: its commands work, and its figures are those of a server.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::desk::{Desk, works};
use crate::scratch::Scratch;
use crate::server_process::Server;

const GUIDE: &str = include_str!("../../../../docs/operations.md");
const DASHBOARD: &str = include_str!("../../../../docs/grafana/tollgate.json");

/// The families of figures that a server has.
fn families() -> BTreeSet<String> {
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let (_, text) = server.ask(&desk, "GET", "/metrics", "");
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(names.len() > 25, "{text}");
    assert!(text.contains("\ntollgate_database_up 1\n"), "{text}");
    assert!(text.contains(r#"tollgate_jobs{kind="review",state="dead"} 0"#), "{text}");
    names
}

/// What looks like the name of a family; those of a histogram have endings.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    let is_family = |word: &&str| {
        let is_of_tables = ["tollgate_schema", "tollgate_token"].contains(word);
        (word.starts_with("tollgate_") || word.starts_with("process_")) && !is_of_tables
    };
    let without_ending = |word: &str| {
        let endings = ["_bucket", "_sum", "_count"];
        endings.iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word).to_owned()
    };
    words.filter(is_family).map(without_ending).collect()
}

#[test]
fn the_guide_and_the_dashboard_name_the_figures_there_are() {
    let families = families();
    assert_eq!(named(GUIDE), families);
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut used = BTreeSet::new();
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten()) {
        used.append(&mut named(target["expr"].as_str().unwrap()));
    }
    assert_eq!(used.difference(&families).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(families.difference(&used).collect::<Vec<_>>(), Vec::<&String>::new(), "nobody sees these");
}

#[test]
fn the_dashboard_is_one_that_grafana_takes() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert_eq!(
        (variables[0]["type"].as_str(), variables[0]["name"].as_str()),
        (Some("datasource"), Some("datasource"))
    );
    let panels = dashboard["panels"].as_array().unwrap();
    let rows: Vec<&str> =
        panels.iter().filter(|panel| panel["type"] == "row").filter_map(|row| row["title"].as_str()).collect();
    assert_eq!(rows, ["Overview", "Queue", "Reviews", "GitHub", "Database", "HTTP"]);
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
    }
}

/// Runs the commands that the guide has under a heading of their own.
fn follow(heading: &str, variables: &[(&str, &str)]) {
    let begin =
        GUIDE.split_once(&format!("```sh\n# {heading}\n")).unwrap_or_else(|| panic!("no commands for {heading}")).1;
    let commands = begin.split_once("\n```").unwrap().0;
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", commands]).envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{commands}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with a review that is stored there.
fn reviewed(database: &str) -> Scratch {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", "const one = 1;\n").commit("a file");
    scratch.tollgate(&["review", "--database", database]).expect(0);
    scratch
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_file_is_restored_whole_from_a_backup_that_the_guide_makes() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backup) = (folder.path().join("data"), folder.path().join("backup"));
    std::fs::create_dir_all(&backup).unwrap();
    let database = format!("sqlite:{}", text(&data.join("tollgate.db")));
    let scratch = reviewed(&database);
    let history = ["history", "--format", "json", "--database", &database];
    let before = scratch.tollgate(&history).expect(0);
    let variables = [("DATA", text(&data)), ("BACKUP", text(&backup))];
    follow("sqlite: backup", &variables);
    scratch.write("b.js", "const two = 2;\n").commit("another");
    scratch.tollgate(&["review", "--database", &database]).expect(0);
    assert_ne!(scratch.tollgate(&history).expect(0), before);
    follow("sqlite: restore", &variables);
    assert_eq!(scratch.tollgate(&history).expect(0), before);
}

/// The guide on a PostgreSQL server, which each test starts for itself.
mod on_server {
    use super::{Command, Stdio, follow, reviewed, text};
    use crate::place::{ran_on_a_server, server};

    /// Makes a database, and gives its address.
    fn make(server: &str, name: &str) -> String {
        let mut command = Command::new("psql");
        let sql = format!("CREATE DATABASE {name} TEMPLATE template0");
        command.args(["--quiet", "--no-psqlrc", "--command", &sql, server]).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        format!("{}/{name}", server.rsplit_once('/').unwrap().0)
    }

    #[test]
    fn a_database_is_restored_whole_from_a_backup_that_the_guide_makes() {
        let test = "a_database_is_restored_whole_from_a_backup_that_the_guide_makes";
        if ran_on_a_server(&format!("operations::on_server::{test}")) {
            return;
        }
        let server = server().unwrap();
        let (database, restored) = (make(&server, "operations_a"), make(&server, "operations_b"));
        let scratch = reviewed(&database);
        let history =
            |database: &str| scratch.tollgate(&["history", "--format", "json", "--database", database]).expect(0);
        let before = history(&database);
        let backup = tempfile::tempdir().unwrap();
        let variables = [("DATABASE", database.as_str()), ("BACKUP", text(backup.path())), ("RESTORED", &restored)];
        follow("postgres: backup", &variables);
        scratch.write("b.js", "const two = 2;\n").commit("another");
        scratch.tollgate(&["review", "--database", &database]).expect(0);
        follow("postgres: restore", &variables);
        assert_eq!(history(&restored), before);
        assert_ne!(history(&database), before);
        // The restored database is writable, and its sequences continue.
        scratch.tollgate(&["review", "--database", &restored]).expect(0);
        assert_ne!(history(&restored), before);
    }

    #[test]
    fn the_role_of_the_guide_has_all_required_rights() {
        if ran_on_a_server("operations::on_server::the_role_of_the_guide_has_all_required_rights") {
            return;
        }
        let server = server().unwrap();
        let begin = super::GUIDE.split_once("```sql\n").unwrap().1;
        let sql = begin.split_once("\n```").unwrap().0.replace("tollgate", "operations_c");
        for statement in sql.lines() {
            let mut command = Command::new("psql");
            command.args(["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--command", statement, &server]);
            let output = command.stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let host = server.rsplit_once('@').unwrap().1.rsplit_once('/').unwrap().0;
        let database = format!("postgres://operations_c:a%20long%20one@{host}/operations_c");
        let scratch = reviewed(&database);
        let listed = scratch.tollgate(&["history", "--database", &database]).expect(0);
        assert!(listed.contains("branch work"), "{listed}");
    }
}
