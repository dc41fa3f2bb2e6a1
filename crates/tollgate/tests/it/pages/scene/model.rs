//! The model that reviews in the scenes. It knows features by their titles.

use serde_json::{Value, json};

use crate::pages::scene::hostile;

/// What it answers to a question.
pub(crate) fn answer(question: &str) -> String {
    let is_about = |title: &str| question.contains(title);
    if is_about("Round totals") {
        return totals(question.contains("Math.round(sum"));
    }
    if is_about("Sell gift cards") {
        // Thinks for as long as there is somebody who waits.
        loop {
            std::thread::park();
        }
    }
    if is_about("Take in webhooks") {
        return "I would rather not say.".to_owned();
    }
    if is_about("Hostile") {
        return hostile(question);
    }
    say("APPROVED", "Does what is asked for, and no more.", &[], &[])
}

fn totals(is_repaired: bool) -> String {
    if is_repaired {
        let criteria = [("C1", "yes", "src/shop.js:10"), ("C2", "yes", "src/basket.js:3"), ("C3", "unclear", "")];
        let note =
            finding("Low", "src/basket.js", 4, "A text that is no JSON throws", "const items = JSON.parse(text);");
        return say("APPROVED", "The sum is rounded once, and baskets are parsed.", &[note], &criteria);
    }
    let line = "sum += Math.round(item.price * item.count * 100) / 100;";
    let mut rounding = finding("High", "src/shop.js", 8, "Rounding each position makes the sum wrong", line);
    rounding["suggestion"] = json!("Add up first, then round the sum once.");
    let name = finding(
        "Medium",
        "src/basket.js",
        5,
        "The total is computed from unchecked items",
        "return { items, total: total(items) };",
    );
    let praise = finding("Nit", "src/texts.txt", 1, "The text has no period", "سلة التسوق");
    let criteria = [
        ("C1", "no", "each position is rounded, not the sum"),
        ("C2", "yes", "src/basket.js:3"),
        ("C3", "unclear", ""),
    ];
    say("REJECTED", "The sum can still be off by a cent.", &[rounding, name, praise], &criteria)
}

fn hostile(question: &str) -> String {
    let evidence = "export const a = \"</script><script>alert(1)</script>\";";
    let file = "src/<b onmouseover=alert(1)>/\"><img src=x onerror=alert(3)>.js";
    let text = hostile::TEXT;
    // Another title each time, so that the same remarks do not come back.
    let round = question.matches("Iteration").count();
    let mut found = finding("Critical", file, 1, &format!("{round} {text}"), evidence);
    found["reason"] = json!(text);
    found["suggestion"] = json!(format!("```\n{text}\n```\n<style>*{{display:none}}</style>"));
    let nowhere = finding("High", text, 1, text, text);
    say("REJECTED", text, &[found, nowhere], &[("C1", "no", text), ("C2", "yes", text)])
}

fn finding(severity: &str, file: &str, line: u32, title: &str, evidence: &str) -> Value {
    let mut finding = crate::stub::finding(severity, file, line, title, evidence);
    finding["reason"] = json!("Customers see it on the bill, and support has to explain it.");
    finding
}

fn say(decision: &str, summary: &str, findings: &[Value], criteria: &[(&str, &str, &str)]) -> String {
    let criteria = criteria.iter().map(|(id, met, evidence)| json!({ "id": id, "met": met, "evidence": evidence }));
    let criteria: Vec<Value> = criteria.collect();
    json!({ "decision": decision, "summary": summary, "findings": findings, "criteria": criteria }).to_string()
}
