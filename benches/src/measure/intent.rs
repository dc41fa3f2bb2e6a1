//! What the author declared: the time for one pull request, and how it grows on hostile bodies.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io;

use tollgate_core::intent::{self, Commit};

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "intent", take };

/// Another implementation takes this long for a pull request.
const PEER_US: f64 = 6.0;
/// Ten times the body may take this many times as long.
const GROWTH_BAR: f64 = 12.0;
/// The processor's time is counted in steps, so that a measured piece of work must be long.
const AT_LEAST_MS: f64 = 20.0;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let messages = messages();
    let commits: Vec<Commit<'_>> = messages.iter().map(|(sha, message)| Commit { sha, message }).collect();
    let title = "[WIP] feat(checkout): retry payments with an idempotency key [PAY-77]";
    let mut rows = Vec::new();
    let template = "- [ ] Breaking change (something that worked stops working)\n- [x] Feature\n";
    // Only the last of these has to be parsed as Markdown.
    let bodies = [("", body("")), (", template", body(template)), (", declared", body("- [x] Breaking change\n"))];
    for ((what, body), bar) in bodies.into_iter().zip([1.0, 1.0, f64::INFINITY]) {
        let work = || drop(black_box(intent::read(title, Some(&body), &commits, false)));
        let ours = 1e3 * least(setting, &work)?;
        rows.push(Row { measure: format!("intent, a PR{what}"), ours, peer: PEER_US, unit: "µs", bar });
    }
    let fast = || _ = black_box(intent::skips_review(black_box(title)));
    let ours = 1e3 * least(setting, &fast)?;
    rows.push(Row { measure: "intent, title alone".to_owned(), ours, peer: PEER_US, unit: "µs", bar: 1.0 });
    for (what, hostile) in HOSTILE {
        // All of this is read; of a larger body only the beginning is.
        rows.push(growth(setting, what, *hostile, 25_000)?);
    }
    rows.push(growth(setting, "<!--", HOSTILE[0].1, 64_000)?);
    Ok(rows)
}

/// A body of a number of bytes.
type Hostile = fn(usize) -> String;

/// Inputs that make a careless parser slow.
const HOSTILE: &[(&str, Hostile)] = &[
    ("<!--", |n_bytes| "<!--".repeat(n_bytes / 4)),
    ("a <!--", |n_bytes| "a <!--".repeat(n_bytes / 6)),
    ("[", |n_bytes| "[".repeat(n_bytes)),
    ("[a](", |n_bytes| "[a](".repeat(n_bytes / 4)),
    ("backticks", |n_bytes| "`".repeat(n_bytes)),
    ("deep quotes", |n_bytes| format!("{}a\n{}", ">".repeat(n_bytes / 2), "a\n".repeat(n_bytes / 4))),
    ("deep lists", |n_bytes| format!("{}a\n{}", "- ".repeat(n_bytes / 4), "a\n".repeat(n_bytes / 4))),
    ("phrases", |n_bytes| "no breaking change ".repeat(n_bytes / 19)),
];

fn growth(setting: &Setting, what: &str, hostile: Hostile, n_bytes: usize) -> io::Result<Row> {
    let of = |n_bytes: usize| {
        let body = format!("Breaking changes\n\nNone\n\n{}", hostile(n_bytes));
        least(setting, &|| drop(black_box(intent::read("fix: a", Some(&body), &[], false))))
    };
    let (once, ten_times) = (of(n_bytes)?, of(10 * n_bytes)?);
    let measure = format!("intent, {} kB {what}", n_bytes / 100);
    Ok(Row { measure, ours: 1e3 * ten_times, peer: 1e3 * once, unit: "µs", bar: GROWTH_BAR })
}

/// The least CPU time of one piece of work, in ms.
fn least(setting: &Setting, work: &dyn Fn()) -> io::Result<f64> {
    let repeat = |n_times: usize| run::cpu_of(|| (0..n_times).for_each(|_| work()));
    let mut n_times = 1;
    while repeat(n_times)? < AT_LEAST_MS {
        n_times *= 4;
    }
    let mut best = f64::MAX;
    for _ in 0..setting.n_runs.max(1) {
        best = best.min(repeat(n_times)? / n_times as f64);
    }
    Ok(best)
}

/// Fifty commits such as people write.
fn messages() -> Vec<(String, String)> {
    const TITLES: [&str; 5] = [
        "feat(checkout): send the key with every try",
        "fix: keep the lock while the answer is read",
        "Address review comments",
        "test(checkout): a lost answer is asked for again",
        "Merge branch 'main' into retry-payments",
    ];
    let message = |number: usize| {
        let title = TITLES[number % TITLES.len()];
        let text = format!("{title}\n\nThe provider answers late when it is busy, see the notes of step {number}.\n");
        (format!("{:040x}", 0x9e37_79b9_7f4a_7c15_u128 * (number as u128 + 1)), text)
    };
    (0..50).map(message).collect()
}

/// A body of 5 kB such as people write: headings, lists, a link, code, a comment.
fn body(boxes: &str) -> String {
    let mut body = format!(
        "## What\n\n<!-- Say what changes and why. -->\nRetries payments with an idempotency key.\n\n## Kind\n\n{boxes}\n"
    );
    let mut step = 0;
    while body.len() < 4_700 {
        step += 1;
        let _ = write!(
            body,
            "### Step {step}\n\nThe client sends `Idempotency-Key` with every request, so that the provider takes the \
             same payment only once, even when the first answer was lost on its way. See [the notes]\
             (https://example.com/notes/{step}) for the *whole* story.\n\n- keeps the lock while it waits\n- logs each \
             try with its number\n\n```rust\nlet key = Key::new(order.id, {step});\nclient.pay(&order, key).await?;\n\
             ```\n\n"
        );
    }
    body.push_str("## Tests\n\nNew ones for lost answers, and the old ones pass.\n");
    body
}
