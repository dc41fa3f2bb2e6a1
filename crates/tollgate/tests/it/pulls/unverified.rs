//! Answers of models that cannot be verified, as checks and comments of pull requests.

use super::clock::Time;
use super::steps::Steps;
use crate::fake_github::{FakeGithub, Opening};
use crate::fake_model::{FakeModel, answer};
use crate::hostile_answers::answers;

/// Every n-th answer of the table is tried, since each is a whole review of a pull request.
const STEP: usize = 5;

/// The code of a pull request, by which the model knows it.
fn code(case: usize) -> String {
    format!("export function half(n) {{\n  return n / 2;\n}}\n// case-{case}-end\n")
}

#[test]
fn no_hostile_answer_ends_a_check_with_success() {
    let answers: Vec<(String, String)> = answers().into_iter().step_by(STEP).collect();
    let said = answers.clone();
    let model = FakeModel::answering(move |question| {
        let case = said.iter().enumerate().find(|(case, _)| question.contains(&format!("case-{case}-end")));
        case.map_or_else(|| answer("approved", &[]), |(_, (_, text))| text.clone())
    });
    let github = FakeGithub::start();
    let settings = format!("[review]\nreviewers = ['stub']\n{}", model.table("stub"));
    let steps = Steps::at(&github, &settings, Time::new(&github, true));
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let open = |case: usize| {
        let code = code(case);
        github.open("octo/app", &Opening { files: &[("src/a.js", &code)], ..Opening::default() })
    };
    let pulls: Vec<_> = (0..answers.len()).map(open).collect();
    let honest = open(10_000);
    steps.finish();
    for (pull, (name, text)) in pulls.iter().zip(&answers) {
        let seen = pull.seen();
        // A claim that can be verified closes the gate; the others leave the review incomplete.
        let is_held = matches!(seen.conclusion(), Some("action_required" | "failure"));
        assert!(is_held, "{name}: {:?}: {text}", seen.conclusion());
        assert!(!seen.summaries.is_empty(), "{name}: it is not silent");
    }
    let seen = honest.seen();
    assert_eq!((seen.conclusion(), seen.summaries.len()), (Some("success"), 0));
}
