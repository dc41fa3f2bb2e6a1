//! Where everything is kept, as the command line, the environment and the configuration say it.

use crate::scratch::Scratch;

const SECRET: &str = "postgres://ann:s3cret@db.invalid/toll";

#[test]
fn a_database_may_be_a_file() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", "const one = 1;\n").commit("a file");
    scratch.tollgate(&["review", "--database", "sqlite:here.db"]).expect(0);
    assert!(scratch.path().join("here.db").is_file() && !scratch.store().exists());
    let listed = scratch.tollgate(&["history", "--store", "here.db"]).expect(0);
    assert!(listed.contains("branch work"), "{listed}");
    let variable = [("TOLLGATE_STORE_DATABASE", "sqlite:here.db")];
    assert_eq!(scratch.tollgate_with(&["history"], b"", &variable).expect(0), listed);
}

#[test]
fn a_flag_goes_before_what_is_configured() {
    let scratch = Scratch::on_a_branch();
    scratch.configure(&format!("[store]\ndatabase = '{SECRET}'\n"));
    scratch.tollgate(&["history", "--store", "here.db"]).expect(0);
    assert!(!scratch.path().join("here.db").exists(), "to look something up is no reason to make it");
}

#[test]
fn two_places_at_once_are_refused() {
    let scratch = Scratch::on_a_branch();
    let said = scratch.tollgate(&["history", "--store", "a.db", "--database", "sqlite:b.db"]).expect_refused(2);
    assert!(said.contains("--store") && said.contains("--database"), "{said}");
    let said = scratch.tollgate(&["history", "--database", "mysql://db/toll"]).expect_refused(2);
    assert!(said.contains("`mysql` databases are not supported") && said.contains("postgres://"), "{said}");
    let said = scratch.tollgate(&["history", "--database", "postgres:/ann:s3cret@db/toll"]).expect_refused(2);
    assert!(said.contains("neither a `postgres://` URL nor a `sqlite:` file") && !said.contains("s3cret"), "{said}");
}

#[test]
fn the_password_of_a_database_is_shown_nowhere() {
    let scratch = Scratch::on_a_branch();
    scratch.configure(&format!("[store]\ndatabase = '{SECRET}'\n"));
    let shown = scratch.tollgate(&["doctor", "--config"]).expect(0);
    assert!(shown.contains("store.database = \"postgres://ann:***@db.invalid/toll\""), "{shown}");
    for args in [["doctor", "--config"], ["doctor", "--format=json"], ["history", "--format=json"], ["project", "list"]]
    {
        let ran = scratch.tollgate(&args);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("s3cret"), "{args:?}: {}", ran.stderr);
    }
}
