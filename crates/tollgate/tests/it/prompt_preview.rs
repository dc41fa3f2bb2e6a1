//! The preview of a prompt equals the prompt that is sent.

use tollgate_core::board::FeatureId;
use tollgate_engine::board::runner::Runner;
use tollgate_engine::board::{Board, Draft, Level, NewFeature, OwnPrompt, OwnPrompts, PromptPreview, Refused};

use crate::desk::{Desk, settled, works};
use crate::fake_model::FakeModel;

const APPROVAL: &str = r#"{"decision":"APPROVED","summary":"Fine.","findings":[],"criteria":[]}"#;

/// A board on which a feature was reviewed by a model.
struct Reviewed {
    board: Board,
    stub: FakeModel,
    project: i64,
    feature: FeatureId,
    _desk: Desk,
}

fn reviewed() -> Reviewed {
    let stub = FakeModel::saying(APPROVAL);
    let desk = Desk::configured(&works(), &format!("[review]\nreviewers = ['reader']\n{}", stub.table("reader")));
    std::fs::write(desk.path("project/AGENTS.md"), format!("Keep it small.\n{}", "x".repeat(6_000))).unwrap();
    desk.git(&["add", "AGENTS.md"]);
    desk.git(&["commit", "-q", "-m", "how we work"]);
    let board = desk.board();
    let runner = Runner::start(&board, std::sync::Arc::new(|_: &str| ())).unwrap();
    let project = board.add_project(&desk.path("project"), None).unwrap().id;
    let new = NewFeature {
        title: "Parse text".to_owned(),
        description: "Text is parsed.\n- it must be JSON".to_owned(),
        spec: Some("Use the built-in parser.".to_owned()),
        ..NewFeature::default()
    };
    let feature = board.create(project, &new).unwrap().id;
    board.start(project, &feature, "test").unwrap();
    settled(&board, project, &feature);
    assert!(runner.stop(std::time::Duration::from_secs(60)));
    Reviewed { board, stub, project, feature, _desk: desk }
}

impl Reviewed {
    fn preview(&self, draft: Option<&Draft>) -> Result<PromptPreview, Refused> {
        self.board.preview(self.project, &self.feature, draft)
    }
}

/// A text with random and time-dependent parts removed.
fn plain(text: &str) -> String {
    let boundary = text.split("The boundary of this request is ").nth(1).and_then(|rest| rest.split('.').next());
    boundary.map_or_else(|| text.to_owned(), |boundary| text.replace(boundary, "BOUNDARY"))
}

fn draft(is_for_all: bool, template: &str) -> Draft {
    let template = Some(OwnPrompt { enabled: true, value: template.to_owned() });
    Draft { is_for_all, prompts: OwnPrompts { system: None, template } }
}

#[test]
fn the_preview_is_what_the_reviewer_was_told() {
    let reviewed = reviewed();
    let told = plain(&reviewed.stub.heard());
    let n_asked = reviewed.stub.asked().len();
    let preview = reviewed.preview(None).unwrap();
    let first = preview.first.unwrap();
    // The boundary is another one each time, and is named in the shared part only.
    let all = plain(&format!("{}\0{}\0{}", first.system, first.shared, first.part));
    for part in all.split('\0') {
        assert!(told.contains(part.trim_end()), "{part}\n----- but it was told -----\n{told}");
    }
    assert_eq!((preview.reviewer.as_str(), preview.is_set_up, preview.n_calls), ("reader", true, 1));
    let files: Vec<_> = preview.context.iter().map(|file| (file.name.as_str(), file.n_chars, file.n_shown)).collect();
    assert_eq!(files, [("AGENTS.md", 6_015, 5_000)]);
    assert_eq!(reviewed.stub.asked().len(), n_asked, "somebody was asked");
}

#[test]
fn a_draft_is_shown_without_being_stored_and_one_that_cannot_be_used_is_refused() {
    let reviewed = reviewed();
    let shown = |draft: &Draft| {
        let preview = reviewed.preview(Some(draft)).unwrap();
        (plain(&preview.first.unwrap().shared), preview.notes)
    };
    let own = OwnPrompts { template: draft(false, "Ours: {gitDiff}").prompts.template, ..OwnPrompts::default() };
    reviewed.board.set_prompts(Some(reviewed.project), &own, None).unwrap();
    let (shared, notes) = shown(&draft(true, "For all, {featureTitle}: {gitDiff} {featureTitel}"));
    assert!(shared.ends_with("For all, [data BOUNDARY: title]\nParse text\n[end BOUNDARY]: "), "{shared}");
    assert!(notes.iter().any(|note| note.contains("has its own `reviewPromptTemplate`")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("`{featureTitel}`")), "{notes:?}");
    let (shared, _) = shown(&draft(false, "Another: {gitDiff}"));
    assert!(shared.ends_with("Another: "), "{shared}");
    let refused = reviewed.preview(Some(&draft(false, "nothing")));
    assert!(matches!(refused, Err(Refused::Invalid(_))), "{refused:?}");
    assert_eq!(reviewed.board.prompts(Some(reviewed.project)).unwrap(), own);
}

#[test]
fn prompts_hold_by_the_level_that_sets_them_and_only_as_they_are_known() {
    let desk = Desk::new(&works());
    let board = desk.board();
    let project = board.add_project(&desk.path("project"), None).unwrap().id;
    let level = || board.prompts_in_force(Some(project)).unwrap().template.level;
    assert_eq!(level(), Level::Default);
    let for_all = draft(true, "All: {gitDiff}").prompts;
    let known = board.prompts(None).unwrap().revision();
    board.set_prompts(None, &for_all, Some(known)).unwrap();
    assert_eq!(level(), Level::All);
    // A write based on an outdated revision is rejected and overwrites nothing.
    let late = board.set_prompts(None, &OwnPrompts::default(), Some(known));
    assert_eq!(late, Err(Refused::Stale(for_all.revision())));
    assert_eq!(board.prompts(None).unwrap(), for_all);
    let own = draft(false, "Ours: {gitDiff}").prompts;
    board.set_prompts(Some(project), &own, None).unwrap();
    assert_eq!(level(), Level::Project);
    let off = OwnPrompts { template: own.template.map(|own| OwnPrompt { enabled: false, ..own }), ..own };
    board.set_prompts(Some(project), &off, None).unwrap();
    assert_eq!(level(), Level::Default);
}

#[test]
fn a_feature_that_nobody_reviewed_has_no_preview() {
    let desk = Desk::new(&works());
    let board = desk.board();
    let project = board.add_project(&desk.path("project"), None).unwrap().id;
    let new = NewFeature { description: "Later".to_owned(), ..NewFeature::default() };
    let feature = board.create(project, &new).unwrap().id;
    let refused = board.preview(project, &feature, None);
    assert!(matches!(&refused, Err(Refused::Invalid(why)) if why.contains("reviewed yet")), "{refused:?}");
}

#[test]
fn the_demonstration_is_known_again_and_its_agent_is_its_own() {
    let desk = Desk::new("exit 1");
    let board = desk.board();
    let other = board.add_project(&desk.path("project"), None).unwrap();
    let (demo, _) = board.load_demo("test").unwrap();
    assert!(matches!(board.load_demo("test"), Err(Refused::Invalid(_))));
    let name = |board: &Board, project| board.implementer(project).unwrap().unwrap().name;
    assert_eq!((name(&board, &other), name(&board, &demo)), ("script".to_owned(), "demo-agent".to_owned()));
    drop(board);
    let board = desk.board();
    assert_eq!(board.demo().unwrap().as_ref(), Some(&demo));
    let folder = demo.path.parent().unwrap().to_owned();
    assert!(folder.is_dir());
    assert_eq!(board.remove_demo("test"), Ok(true));
    assert!(!folder.exists() && board.demo().unwrap().is_none());
    assert_eq!(board.remove_demo("test"), Ok(false));
    assert_eq!(board.projects().unwrap(), [other]);
}
