//! Whole reviews while the model's service goes wrong in every way there is.
//!
//! `TOLLGATE_CHAOS=20 cargo test -p tollgate --test it chaos -- --nocapture` runs each fault twenty times and prints the
//! figure; without it each is run twice.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::faults::{Act, Fault, FaultServer};
use crate::scratch::Scratch;
use crate::wait::DEADLINE;

const KEY: &str = "sk-chaos-Zq7x9Lm2Vb4n";

/// The time that a review by models may take here.
const LIMIT: Duration = Duration::from_secs(8);

/// Code with a rule finding that alone does not close the gate, and clean code.
const CODES: [&str; 2] = ["if (list.length < 0) {\n  go();\n}\n", "const a = 1;\n"];

/// A review that met a fault.
struct Met {
    took: Duration,
    problem: Option<String>,
}

fn review(fault: Fault, round: usize) -> Met {
    let server = FaultServer::failing(fault);
    let code = CODES[round % CODES.len()];
    let scratch = Scratch::on_a_branch();
    scratch.write("src/a.js", code).commit("add a file");
    let (protocol, path) = [("openai", "/v1"), ("anthropic", ""), ("gemini", "/v1beta")][(fault as usize + round) % 3];
    scratch.configure(&format!(
        "[budget]\nseconds = {}\nidle_seconds = 3\n[reviewer.chaos]\nbase_url = \"{}{path}\"\nprotocol = \"{protocol}\"\n\
         model = \"m\"\nkey_env = \"CHAOS_KEY\"\n",
        LIMIT.as_secs(),
        server.base_url(),
    ));
    let started = Instant::now();
    let args = ["review", "--no-store", "--reviewer", "chaos", "--format", "json"];
    let ran = scratch.tollgate_with(&args, b"", &[("CHAOS_KEY", KEY)]);
    let took = started.elapsed();

    let review: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let n_found = review["findings"].as_array().map_or(0, Vec::len);
    let times = server.times();
    let checks = [
        ("hung", took <= DEADLINE),
        ("let the change pass", ran.code != 0),
        ("approved", review["verdict"] != "APPROVED" && !ran.stdout.contains("APPROVED")),
        ("lost what the rules found", n_found == usize::from(code == CODES[0])),
        ("did not say what went wrong", ran.stderr.contains("`chaos`")),
        ("tried too often", times.len() <= 3),
        ("came back too soon", fault != Fault::Limited || times.windows(2).all(|two| two[1] - two[0] >= Fault::WAIT)),
        ("showed the key", !format!("{}{}", ran.stdout, ran.stderr).contains("Zq7x9")),
    ];
    let problem = checks.iter().find(|(_, held)| !held).map(|(problem, _)| {
        format!("{fault:?} over {protocol} {problem} after {took:?}: {}\n{}\n{}", ran.code, ran.stdout, ran.stderr)
    });
    Met { took, problem }
}

#[test]
fn no_fault_of_a_model_holds_a_review_up_or_lets_a_change_pass() {
    let n_rounds = std::env::var("TOLLGATE_CHAOS").ok().and_then(|n| n.parse().ok()).unwrap_or(2usize);
    let n_reviews = Fault::ALL.len() * n_rounds;
    let (next, met) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= n_reviews {
                        break;
                    }
                    // Side by side are different faults.
                    let one = review(Fault::ALL[index % Fault::ALL.len()], index / Fault::ALL.len());
                    met.lock().unwrap().push(one);
                }
            });
        }
    });
    let met = met.into_inner().unwrap();
    let longest = met.iter().map(|one| one.took).max().unwrap_or_default();
    let problems: Vec<&str> = met.iter().filter_map(|one| one.problem.as_deref()).collect();
    let mut figure = String::new();
    let n_held = met.len() - problems.len();
    let _ = write!(figure, "{n_held} of {n_reviews} reviews with a failing model ended in time, unapproved and with ");
    let _ = write!(
        figure,
        "what the rules found; the longest took {:.1} s of {} s",
        longest.as_secs_f64(),
        LIMIT.as_secs()
    );
    println!("{figure}");
    assert!(problems.is_empty() && met.len() == n_reviews, "{figure}\n{}", problems.join("\n\n"));
}

#[test]
fn a_proxy_is_asked_for_services_elsewhere_and_never_for_this_machine() {
    let proxy = FaultServer::playing(vec![Act::Raw("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n".to_owned())]);
    let near = FaultServer::playing(vec![Act::Answer("[APPROVED]".to_owned())]);
    let scratch = Scratch::on_a_branch();
    scratch.write("src/a.js", CODES[1]).commit("add a file");
    let review = |base_url: &str| {
        scratch.configure(&format!(
            "[budget]\nseconds = 20\n[reviewer.chaos]\nbase_url = \"{base_url}\"\nprotocol = \"openai\"\nmodel = \"m\"\n\
             key_env = \"CHAOS_KEY\"\n"
        ));
        let proxies = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].map(|name| (name, proxy.base_url()));
        let env = [&proxies[..], &[("CHAOS_KEY", KEY)]].concat();
        scratch.tollgate_with(&["review", "--no-store", "--reviewer", "chaos"], b"", &env)
    };
    let ran = review("https://models.invalid/v1");
    assert!(ran.code != 0 && proxy.requests()[0].starts_with("CONNECT models.invalid:443 "), "{}", ran.stderr);
    assert!(!proxy.requests().concat().contains(KEY));
    let n_before = proxy.times().len();
    review(near.base_url());
    assert_eq!((near.times().is_empty(), proxy.times().len()), (false, n_before));
}
