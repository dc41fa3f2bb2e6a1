//! Reads SARIF of any tool.

use serde_json::Value;

use crate::finding::{Category, Finding, Fix, LineRange, Origin, Severity, Side};
use crate::report::import::{self, ToolFinding, decode};
use crate::report::json::fields::Reader;
use crate::report::json::parse;
use crate::report::sarif::ruff;
use crate::report::{Content, InputPosition, Read, ReadError, Strictness, shorten};
use crate::review::{Suppressor, Withheld, WithheldFinding};

/// Reads the results of every run. Absolute paths are made relative to `root` and to the roots in the document.
pub fn read(bytes: &[u8], strictness: Strictness, root: Option<&str>) -> Result<Read, ReadError> {
    let (document, problems) = parse::parse(bytes)?;
    let mut reader = Reader::new(problems);
    let Some(runs) = document["runs"].as_array() else {
        return Err(ReadError::one(
            InputPosition::Pointer("/runs".to_owned()),
            "required",
            "",
            "SARIF has a list of `runs`",
        ));
    };
    let version = document["version"].as_str().unwrap_or_default();
    if version != "2.1.0" {
        reader.report("/version", "version", version, "expected SARIF 2.1.0");
    }
    let (mut findings, mut withheld) = (Vec::new(), Vec::new());
    for (index, run) in runs.iter().enumerate() {
        let run = Run::new(run, format!("/runs/{index}"), root);
        for (index, result) in run.run["results"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{}/results/{index}", run.at);
            match run.result(&mut reader, &at, result) {
                Some((finding, None)) => findings.push(finding),
                Some((finding, Some(why))) => withheld.push(WithheldFinding { finding, why }),
                None => {}
            }
        }
    }
    for (index, withheld) in withheld.iter_mut().enumerate() {
        withheld.finding.id = crate::finding::FindingId::at(index);
    }
    let notes = reader.into_problems();
    if strictness == Strictness::Strict && !notes.is_empty() {
        return Err(ReadError { problems: notes });
    }
    Ok(Read { content: Content::Findings(import::numbered(findings), withheld), notes })
}

struct Run<'a> {
    run: &'a Value,
    at: String,
    tool: Option<&'a str>,
    root: Option<&'a str>,
}

impl<'a> Run<'a> {
    fn new(run: &'a Value, at: String, root: Option<&'a str>) -> Self {
        let tool = run.pointer("/tool/driver/name").and_then(Value::as_str);
        Self { run, at, tool, root }
    }

    /// Reads one result, and why it is withheld.
    fn result(&self, reader: &mut Reader, at: &str, result: &Value) -> Option<(Finding, Option<Withheld>)> {
        let message = self.message(result);
        let kind = result["kind"].as_str().unwrap_or("fail");
        if matches!(kind, "pass" | "notApplicable") || result["baselineState"] == "absent" {
            return None;
        }
        let rule = self.rule(result);
        let rule_id = rule_id(result).or_else(|| rule?["id"].as_str());
        let location = &result["locations"][0]["physicalLocation"];
        let Some(path) = self.path(&location["artifactLocation"]) else {
            let said = [self.tool.unwrap_or("?"), rule_id.unwrap_or("?"), &shorten(&message)].join(": ");
            reader.report(at, "no-location", &said, "this result names no file and was left out");
            return None;
        };
        let file = import::relative(reader, &format!("{at}/locations/0"), &path, &self.roots())?;
        let mut place = lines(&location["region"])
            .map_or_else(|| import::place(file.clone(), 1, 1), |(start, end)| import::place(file.clone(), start, end));
        if result["properties"]["side"] == "LEFT" {
            place.side = Side::Left;
        }
        let (fix, suggestion) = self.fix(result);
        let snippet = location["region"]["snippet"]["text"].as_str();
        let reviewer = result["properties"]["reviewer"].as_str().filter(|_| self.is_ours());
        let generic = |id: &&str| !(self.is_ours() && id.starts_with("review-"));
        let remark = ToolFinding {
            severity: self.severity(result, rule),
            category: self.category(result, rule),
            location: place,
            message,
            explanation: rule.filter(|_| !self.is_ours()).and_then(explanation),
            evidence: snippet.or_else(|| location["contextRegion"]["snippet"]["text"].as_str()).map(str::to_owned),
            suggestion: result["properties"]["suggestion"].as_str().map(str::to_owned).or(suggestion),
            fix,
            origin: Origin {
                reviewer: if self.is_ours() { reviewer } else { self.tool }.map(str::to_owned),
                rule: rule_id.filter(generic).map(str::to_owned),
                rule_url: rule.and_then(|rule| rule["helpUri"].as_str()).map(str::to_owned),
            },
        };
        Some((remark.into_finding(), self.suppressed(result)))
    }

    fn is_ours(&self) -> bool {
        self.tool == Some("tollgate")
    }

    fn message(&self, result: &Value) -> String {
        let message = &result["message"];
        let by_id = || {
            let id = message["id"].as_str()?;
            let rule = self.rule(result).map(|rule| &rule["messageStrings"][id]);
            let found = rule
                .filter(|found| found.is_object())
                .or_else(|| self.run.pointer("/tool/driver/globalMessageStrings").map(|strings| &strings[id]));
            found?["text"].as_str()
        };
        let text = message["text"].as_str().or_else(by_id).or_else(|| message["markdown"].as_str()).unwrap_or_default();
        let arguments = message["arguments"].as_array().map_or(&[][..], Vec::as_slice);
        fill(text, arguments)
    }

    fn rule(&self, result: &Value) -> Option<&'a Value> {
        let component = match result["rule"]["toolComponent"]["index"].as_u64() {
            Some(index) => self.run.pointer(&format!("/tool/extensions/{index}"))?,
            None => self.run.pointer("/tool/driver")?,
        };
        let rules = component["rules"].as_array()?;
        let index = result["ruleIndex"].as_u64().or_else(|| result["rule"]["index"].as_u64());
        if let Some(rule) = index.and_then(|index| rules.get(usize::try_from(index).ok()?)) {
            return Some(rule);
        }
        let id = rule_id(result)?;
        let named = |id: &str| rules.iter().find(|rule| rule["id"] == id);
        // `CA1000/1` names a sub-rule of `CA1000`.
        named(id).or_else(|| named(id.rsplit_once('/')?.0))
    }

    fn severity(&self, result: &Value, rule: Option<&Value>) -> Severity {
        if let Some(exact) = result["properties"]["severity"].as_str().and_then(Severity::parse_exact) {
            return exact;
        }
        let scores = [
            Some(&result["properties"]["security-severity"]),
            rule.map(|rule| &rule["properties"]["security-severity"]),
        ];
        if let Some(score) = scores.into_iter().flatten().find_map(score) {
            return match score {
                score if score >= 9.0 => Severity::Critical,
                score if score >= 7.0 => Severity::High,
                score if score >= 4.0 => Severity::Medium,
                _ => Severity::Low,
            };
        }
        if let Some((severity, _)) = self.ruff_class(result) {
            return severity;
        }
        let default = || rule.and_then(|rule| rule["defaultConfiguration"]["level"].as_str());
        let level = result["level"].as_str().or_else(default).unwrap_or("warning");
        Severity::parse_lenient(level).unwrap_or(Severity::Medium)
    }

    /// The class of a rule of ruff, which reports every rule with the level `error`.
    fn ruff_class(&self, result: &Value) -> Option<(Severity, Category)> {
        self.tool.filter(|tool| tool.eq_ignore_ascii_case("ruff")).and_then(|_| rule_id(result)).and_then(ruff::class)
    }

    fn category(&self, result: &Value, rule: Option<&Value>) -> Category {
        if let Some((_, category)) = self.ruff_class(result) {
            return category;
        }
        let said = |value: &Value| value["properties"]["category"].as_str().and_then(Category::parse_lenient);
        let tags = |value: &Value| {
            let tags = value["properties"]["tags"].as_array()?;
            tags.iter().filter_map(Value::as_str).find_map(Category::parse_lenient)
        };
        let by_rule = rule.and_then(|rule| said(rule).or_else(|| tags(rule)));
        let scored = rule.is_some_and(|rule| score(&rule["properties"]["security-severity"]).is_some());
        let security = scored.then_some(Category::Security);
        said(result).or(security).or(by_rule).or_else(|| tags(result)).unwrap_or(Category::Logic)
    }

    /// The decoded path of an artifact, relative or absolute.
    fn path(&self, location: &Value) -> Option<String> {
        let uri = location["uri"].as_str();
        let (uri, base) = match (uri, location["index"].as_u64()) {
            (None, Some(index)) => {
                let location = self.run.pointer(&format!("/artifacts/{index}/location"))?;
                (location["uri"].as_str()?, location["uriBaseId"].as_str())
            }
            (uri, _) => (uri?, location["uriBaseId"].as_str()),
        };
        let path = path_of_uri(uri);
        if is_absolute(&path) { Some(path) } else { Some(self.based(path, base)) }
    }

    /// Prepends the folders of the bases; an absolute one counts as the root.
    fn based(&self, mut path: String, base: Option<&str>) -> String {
        let mut base = base.map(str::to_owned);
        // Bases may be circular.
        for _ in 0..16 {
            let Some(found) = base.and_then(|base| self.run["originalUriBaseIds"].get(&base)) else { break };
            let Some(uri) = found["uri"].as_str().map(path_of_uri) else { break };
            let inside = self.root.and_then(|root| uri.strip_prefix(root.trim_end_matches('/')));
            let folder = if is_absolute(&uri) { inside.unwrap_or_default() } else { &uri };
            let folder = folder.trim_matches('/');
            if !folder.is_empty() {
                path = format!("{folder}/{path}");
            }
            base = found["uriBaseId"].as_str().map(str::to_owned);
        }
        path
    }

    /// The absolute folders that may be the repository's root.
    fn roots(&self) -> Vec<String> {
        let bases = self.run["originalUriBaseIds"].as_object();
        let bases = bases.into_iter().flat_map(|bases| bases.values()).filter_map(|base| base["uri"].as_str());
        let invocations = self.run["invocations"].as_array().into_iter().flatten();
        let folders = invocations.filter_map(|invocation| invocation["workingDirectory"]["uri"].as_str());
        let named = bases.chain(folders).map(path_of_uri).filter(|path| is_absolute(path));
        match self.root {
            Some(root) => vec![root.to_owned()],
            None => named.take(64).collect(),
        }
    }

    /// A fix of whole lines, else the inserted text.
    fn fix(&self, result: &Value) -> (Option<Fix>, Option<String>) {
        let changes = &result["fixes"][0]["artifactChanges"];
        let replacements = &changes[0]["replacements"];
        let single = |list: &Value| list.as_array().is_some_and(|list| list.len() == 1);
        let text = replacements[0]["insertedContent"]["text"].as_str().unwrap_or_default();
        let same_file = || {
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            self.path(&changes[0]["artifactLocation"]) == self.path(place)
        };
        if !single(changes) || !single(replacements) || !same_file() {
            return (None, Some(text.to_owned()).filter(|text| !text.is_empty()));
        }
        let fix = whole_lines(&replacements[0]["deletedRegion"], text);
        let suggestion = text.strip_suffix('\n').unwrap_or(text);
        (fix, Some(suggestion.to_owned()).filter(|text| !text.is_empty() && !self.is_ours()))
    }

    fn suppressed(&self, result: &Value) -> Option<Withheld> {
        let suppressions = result["suppressions"].as_array()?;
        let status = |suppression: &Value| suppression["status"].as_str().unwrap_or("accepted").to_owned();
        if suppressions.is_empty() || suppressions.iter().any(|suppression| status(suppression) != "accepted") {
            return None;
        }
        let kind = suppressions[0]["kind"].as_str().unwrap_or("external");
        let by = format!("{kind} suppression in {}", self.tool.unwrap_or("the tool"));
        let reason = suppressions[0]["justification"].as_str().map(|reason| reason.replace('\0', ""));
        Some(Withheld::Suppressed { by: by.replace('\0', ""), reason, kind: Suppressor::Tool })
    }
}

fn rule_id(result: &Value) -> Option<&str> {
    result["ruleId"].as_str().or_else(|| result["rule"]["id"].as_str())
}

fn explanation(rule: &Value) -> Option<String> {
    let texts = ["fullDescription", "shortDescription", "help"].map(|key| rule[key]["text"].as_str());
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn score(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|score| *score > 0.0)
}

/// Puts arguments in the place of `{0}`, `{1}`, …
fn fill(text: &str, arguments: &[Value]) -> String {
    if arguments.is_empty() {
        return text.to_owned();
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let argument = after
            .split_once('}')
            .and_then(|(index, after)| Some((arguments.get(index.parse::<usize>().ok()?)?.as_str()?, after)));
        match argument {
            Some((argument, after)) => {
                filled.push_str(argument);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled + rest
}

fn path_of_uri(uri: &str) -> String {
    let path = match uri.strip_prefix("file://") {
        // `file://host/path`, `file:///path` and, with a drive, `file:///C:/path`.
        Some(rest) => rest.find('/').map_or("", |slash| &rest[slash..]),
        None => uri.strip_prefix("file:").unwrap_or(uri),
    };
    let path = decode(path.split(['?', '#']).next().unwrap_or(path));
    let drive = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    drive.map(str::to_owned).unwrap_or(path)
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.first() == Some(&b'/') || (bytes.get(1) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic))
}

/// The first and last line of a region.
fn lines(region: &Value) -> Option<(u64, u64)> {
    let start = region["startLine"].as_u64()?;
    let end = region["endLine"].as_u64().unwrap_or(start);
    // The end column is exclusive: column 1 ends on the previous line.
    let empty_tail = end > start && region["endColumn"].as_u64() == Some(1);
    Some((start, if empty_tail { end - 1 } else { end }))
}

fn whole_lines(region: &Value, text: &str) -> Option<Fix> {
    let (start, end) = lines(region)?;
    let range = LineRange::new(u32::try_from(start).ok()?, u32::try_from(end).ok()?)?;
    let from_start = region["startColumn"].as_u64().unwrap_or(1) == 1;
    let to_end = match region["endColumn"].as_u64() {
        None => region["charLength"].is_null(),
        Some(column) => column == 1 && region["endLine"].as_u64()? > start,
    };
    // With the line break deleted the text must end in one, or the next line would be joined.
    let with_break = region["endColumn"].as_u64() == Some(1);
    let replacement = match (with_break, text.strip_suffix('\n')) {
        (true, Some(line)) => line,
        (true, None) if text.is_empty() => "",
        (true, None) => return None,
        (false, _) => text,
    };
    let deletes_only_text = !with_break && text.is_empty();
    (from_start && to_end && !deletes_only_text).then(|| Fix { lines: range, replacement: replacement.to_owned() })
}
