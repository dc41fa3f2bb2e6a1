//! The table of `tollgate feature list`.
//!
//! ```text
//! x7k2m9qpa  in_progress       ✗    Add login        an agent is working on it
//! ```

use std::fmt::Write as _;

use tollgate_core::board::machine::Work;
use tollgate_core::board::{Outcome, UNCHECKED};
use tollgate_core::report::terminal::Look;
use tollgate_core::visible::visible;
use tollgate_engine::store::board::Card;

/// Longer titles are cut.
const MAX_TITLE: usize = 48;

/// Renders one line per feature.
pub(super) fn table(cards: &[Card], look: &Look) -> String {
    let rows: Vec<[String; 5]> = cards.iter().map(|card| row(card, look)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(width);
    let mut text = String::new();
    for [cells @ .., last] in &rows {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        let _ = writeln!(text, "{}", format!("{line}{last}").trim_end());
    }
    text
}

fn row(card: &Card, look: &Look) -> [String; 5] {
    let title = cut(&visible(card.facts.display_title()).replace(['\n', '\t'], " "));
    let mut marks: String = card.pips.iter().map(|outcome| mark(*outcome, look)).collect();
    if card.is_unchecked {
        marks.pop();
        marks.push('?');
    }
    let status = visible(&card.state.status.to_string()).into_owned();
    [card.id.short().to_owned(), status, marks, title, note(card)]
}

/// The note in the last column: a problem, a pause, or the running work.
fn note(card: &Card) -> String {
    if let Some(why) = &card.broken {
        return format!("cannot be read: {}", visible(why));
    }
    let is_waiting = card.state.work == Work::Queued && !card.facts.dependencies.is_empty();
    match (&card.problem, card.state.work, card.state.pause) {
        (Some(problem), Work::Nothing, Some(_)) => cut_to(&visible(first_line(problem)), 100),
        (None, Work::Nothing, Some(pause)) => pause.in_words().to_owned(),
        _ if is_waiting => "blocked by its dependencies".to_owned(),
        (_, Work::Nothing, None) if card.is_unchecked && card.is_blocker_suppressed => {
            format!("{UNCHECKED}, a blocker is dismissed")
        }
        (_, Work::Nothing, None) if card.is_unchecked => UNCHECKED.to_owned(),
        (_, Work::Nothing, None) if card.is_blocker_suppressed => "approved, a blocker is dismissed".to_owned(),
        (_, Work::Nothing, None) if card.is_approved_by_hand() => "approved by hand".to_owned(),
        (_, Work::Nothing, None) => String::new(),
        _ => card.state.in_words(),
    }
}

fn mark(outcome: Outcome, look: &Look) -> char {
    match (outcome, look.paint.unicode) {
        (Outcome::Approved, true) => '✓',
        (Outcome::Approved, false) => '+',
        (Outcome::Rejected, true) => '✗',
        (Outcome::Rejected, false) => 'x',
        (Outcome::Failed, _) => '!',
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn cut(text: &str) -> String {
    cut_to(text, MAX_TITLE)
}

fn cut_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tollgate_core::board::FeatureId;
    use tollgate_core::board::machine::{Pause, State, Status};
    use tollgate_core::report::terminal::Paint;
    use tollgate_engine::store::board::Facts;

    use super::*;

    fn card(id: &str, title: &str, state: State) -> Card {
        let facts = Facts { title: title.to_owned(), priority: 2, ..Facts::default() };
        Card::new(FeatureId::parse(id).unwrap(), state, facts)
    }

    #[test]
    fn the_list_shows_the_status_and_the_note_of_each_feature() {
        let state = |status: Status, work: Work| State { status, work, ..State::new() };
        let mut paused = state(Status::InProgress, Work::Nothing);
        paused.pause = Some(Pause::AgentFailed);
        let mut late = card("feature-1767960000000-b", "Second", state(Status::InProgress, Work::Queued));
        late.facts.dependencies = vec!["login".to_owned()];
        let mut failed = card("logout", "Log out \u{1b}[2J", paused);
        failed.problem = Some("the agent ended with 1\nand more".to_owned());
        failed.pips = vec![Outcome::Rejected, Outcome::Failed, Outcome::Approved];
        let cards = [
            card("feature-1767960000000-x7k2m9qpa", "Add login", state(Status::CodeReview, Work::Reviewing)),
            late,
            failed,
            card("old", &"long ".repeat(20), State::new()),
        ];
        let paint = Paint { colour: false, unicode: true, root: None };
        let look = Look { paint, width: 100, verbose: false, only_new: false };
        assert_snapshot!(table(&cards, &look), @r"
        x7k2m9qpa  code_review       Add login                                          it is being reviewed
        b          in_progress       Second                                             blocked by its dependencies
        logout     in_progress  ✗!✓  Log out \u{1b}[2J                                  the agent ended with 1
        old        backlog           long long long long long long long long long lon…
        ");
    }
}
