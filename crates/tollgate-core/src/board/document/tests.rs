use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::board::machine::Status;

/// A file as Automaker writes it, with the block that the gate adds.
const FEATURE: &str = r#"{
  "category": "Core",
  "description": "Add login\n- min 8 chars",
  "title": "Add login",
  "titleGenerating": false,
  "images": [],
  "skipTests": false,
  "model": "opus",
  "branchName": "feature/main-1767960000000-a1b2",
  "priority": 1,
  "status": "code_review",
  "dependencies": [
    "user-auth",
    7
  ],
  "id": "feature-1767960000000-x7k2m9qpa",
  "planSpec": {
    "status": "approved",
    "version": 1
  }
}"#;

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

/// Files that other programs wrote, and that must come back as they are.
fn hard() -> Vec<String> {
    let deep = format!("{{\"deep\":{}{}}}", "[".repeat(100), "]".repeat(100));
    let diff = format!("{{\n  \"gitDiff\": \"{}\"\n}}", "+ line\\n".repeat(600_000));
    let mut samples: Vec<String> = [
        FEATURE,
        "{}",
        "{ }",
        "{\n}\n",
        "\u{feff}{\"id\":\"a\"}",
        "{\"n\":[1e+21,-0,-0.0,1E400,0.10,12345678901234567890]}",
        r#"{"cut":"\ud83d","turned":"\udc00\ud800","nul":"\u0000","pair":"\ud83d\ude00","slash":"\/"}"#,
        "{\r\n    \"id\": \"a\",\r\n    \"x\": {}\r\n}\r\n",
        "{\n\t\"id\": \"a\",\n\t\"list\": [\n\t\t1\n\t]\n}",
        "  \n{ \"b\" :1 ,\"a\": [ ] }  \n\n",
        r#"{"\u0069d":"a","z":null,"a":null}"#,
        "{\"ü\u{2028}\u{7f}\":\"😀\"}",
        "{\"\":\"\"}",
    ]
    .map(str::to_owned)
    .to_vec();
    samples.extend([deep, diff]);
    samples
}

#[test]
fn untouched_documents_round_trip_byte_for_byte() {
    for sample in hard() {
        assert!(document(&sample).to_bytes() == sample.as_bytes(), "{}", &sample[..sample.len().min(200)]);
    }
}

#[test]
fn setting_and_removing_a_key_restores_the_bytes() {
    for sample in hard().into_iter().filter(|sample| !document(sample).object.members.is_empty()) {
        let mut changed = document(&sample);
        changed.set_raw("tollgate", r#"{"a":[1,{}]}"#).unwrap();
        assert_eq!(changed.raw("tollgate").map(layout::compact).as_deref(), Some(r#"{"a":[1,{}]}"#));
        changed.remove("tollgate");
        assert!(changed.to_bytes() == sample.as_bytes(), "{}", &sample[..sample.len().min(200)]);
    }
}

#[test]
fn setting_an_equal_value_keeps_its_formatting() {
    let text = "{ \"id\" :\"\\u0061\", \"x\": [ 1,2 ], \"cut\": \"\\ud83d\" }";
    let mut same = document(text);
    same.set_text("id", "a").unwrap();
    same.set_raw("x", "[1, 2]").unwrap();
    same.set_text("cut", "\u{fffd}").unwrap();
    same.remove("nothing");
    assert_eq!(same.as_str(), text);
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    let mut feature = document(FEATURE);
    feature.set_text("status", "verified").unwrap();
    feature.set_raw("planSpec", r#"{"status":"approved","tasks":[{"id":"T001"},[]],"none":{}}"#).unwrap();
    let tail = &feature.as_str()[feature.as_str().find("  \"status\"").unwrap()..];
    assert_snapshot!(tail, @r#"
      "status": "verified",
      "dependencies": [
        "user-auth",
        7
      ],
      "id": "feature-1767960000000-x7k2m9qpa",
      "planSpec": {
        "status": "approved",
        "tasks": [
          {
            "id": "T001"
          },
          []
        ],
        "none": {}
      }
    }
    "#);
}

#[track_caller]
fn check_appended(text: &str, expected: &str) {
    let mut changed = document(text);
    changed.set_raw("new", r#"{"a":[1,2]}"#).unwrap();
    assert_eq!(changed.as_str(), expected);
}

#[test]
fn a_new_key_takes_the_layout_of_the_file() {
    check_appended("{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"new\": {\n    \"a\": [\n      1,\n      2\n    ]\n  }\n}");
    check_appended(
        "{\r\n\t\"a\": 1\r\n}\r\n",
        "{\r\n\t\"a\": 1,\r\n\t\"new\": {\r\n\t\t\"a\": [\r\n\t\t\t1,\r\n\t\t\t2\r\n\t\t]\r\n\t}\r\n}\r\n",
    );
    check_appended("{\"a\":1}", "{\"a\":1,\"new\":{\"a\":[1,2]}}");
    check_appended("{\"a\": 1, \"b\": 2}\n", "{\"a\": 1, \"b\": 2, \"new\": {\"a\": [1, 2]}}\n");
    check_appended("{}", "{\n  \"new\": {\n    \"a\": [\n      1,\n      2\n    ]\n  }\n}");
    check_appended("{\n\"a\":1\n}", "{\n\"a\":1,\n\"new\":{\n\"a\":[\n1,\n2\n]\n}\n}");
    check_appended("\u{feff}{\"a\":1}", "\u{feff}{\"a\":1,\"new\":{\"a\":[1,2]}}");
}

#[test]
fn a_key_of_an_inner_object_is_set_without_touching_its_neighbours() {
    let settings = "{\n  \"theme\": \"dark\",\n  \"promptCustomization\": {\n    \"agent\": { \"x\" :1e+21 }\n  }\n}\n";
    let mut changed = document(settings);
    let prompts = r#"{"reviewSystemPrompt":{"enabled":true,"value":"Be kind"}}"#;
    changed.set_at(&["promptCustomization", "codeReview"], prompts).unwrap();
    assert_snapshot!(changed.as_str(), @r#"
    {
      "theme": "dark",
      "promptCustomization": {
        "agent": { "x" :1e+21 },
        "codeReview": {
          "reviewSystemPrompt": {
            "enabled": true,
            "value": "Be kind"
          }
        }
      }
    }
    "#);
    let mut made = document("{\n  \"version\": 1,\n  \"promptCustomization\": null\n}");
    made.set_at(&["promptCustomization", "codeReview", "a"], "{}").unwrap();
    made.set_at(&["promptCustomization", "codeReview", "b"], "2").unwrap();
    assert_snapshot!(made.as_str(), @r#"
    {
      "version": 1,
      "promptCustomization": {
        "codeReview": {
          "a": {},
          "b": 2
        }
      }
    }
    "#);
}

#[test]
fn keys_are_removed_with_their_commas() {
    let mut feature = document("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}");
    feature.remove("b");
    assert_eq!(feature.as_str(), "{\n  \"a\": 1,\n  \"c\": 3\n}");
    feature.remove("c");
    assert_eq!(feature.as_str(), "{\n  \"a\": 1\n}");
    feature.remove("a");
    assert_eq!(feature.as_str(), "{}");
}

#[test]
fn a_new_document_is_laid_out_as_automaker_does_it() {
    let made = Document::new([("id", "\"a\""), ("dependencies", "[]"), ("priority", "2")]).unwrap();
    assert_eq!(made.as_str(), "{\n  \"id\": \"a\",\n  \"dependencies\": [],\n  \"priority\": 2\n}");
    assert_eq!(Document::new([]).unwrap().as_str(), "{}");
    assert!(Document::new([("id", "\"a\",\"status\":1")]).is_err());
    assert_eq!(Document::new([("a", "1"), ("a", "2")]), Err(DocumentError::Twice("a".to_owned())));
}

#[test]
fn a_feature_is_read_by_its_keys() {
    let feature = document(FEATURE);
    assert_eq!(feature.id().unwrap().as_str(), "feature-1767960000000-x7k2m9qpa");
    assert_eq!(feature.title().as_deref(), Some("Add login"));
    assert_eq!(feature.description(), "Add login\n- min 8 chars");
    assert_eq!(feature.status(), Status::CodeReview);
    assert_eq!(feature.branch().as_deref(), Some("feature/main-1767960000000-a1b2"));
    assert_eq!(feature.dependencies(), ["user-auth"]);
    assert_eq!((feature.skip_tests(), feature.priority(), feature.spec()), (false, 1, None));
    assert_eq!((feature.model().as_deref(), feature.category().as_deref()), (Some("opus"), Some("Core")));
    assert_eq!(feature.object("planSpec").unwrap().number("version"), Some(1));
}

#[test]
fn missing_or_mistyped_keys_read_as_defaults() {
    let odd = document(r#"{"title":"","branchName":null,"priority":9,"skipTests":"no","status":3,"dependencies":"a"}"#);
    assert_eq!((odd.title(), odd.branch(), odd.priority(), odd.skip_tests()), (None, None, 2, true));
    assert_eq!((odd.status(), odd.dependencies(), odd.id()), (Status::Backlog, vec![], Err(DocumentError::NoId)));
    let numbers = document(r#"{"a":2.0,"b":1e3,"c":1.5,"d":1E400,"e":-0,"f":"1","g":9223372036854775808}"#);
    let read = ["a", "b", "c", "d", "e", "f", "g"].map(|key| numbers.number(key));
    assert_eq!(read, [Some(2), Some(1000), None, None, Some(0), None, None]);
}

#[test]
fn long_lists_are_truncated() {
    let many = document(&format!("{{\"dependencies\":[{}\"a\"]}}", "\"b\",".repeat(2 * MAX_ITEMS)));
    assert_eq!(many.dependencies().len(), MAX_ITEMS);
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    let text = |json: &str| document(&format!("{{\"a\":{json}}}")).text("a").unwrap();
    assert_eq!(text(r#""x\ud83d""#), "x\u{fffd}");
    assert_eq!(text(r#""\ud83d\ude00""#), "😀");
    assert_eq!(text(r#""\udc00\ud83d\u0041""#), "\u{fffd}\u{fffd}A");
    assert_eq!(text(r#""\"\\\/\b\f\n\r\t\u0000é""#), "\"\\/\u{8}\u{c}\n\r\t\0é");
}

#[track_caller]
fn check_refused(bytes: &[u8], expected: &str) {
    assert_eq!(Document::parse(bytes).unwrap_err().to_string(), expected);
}

#[test]
fn invalid_documents_are_refused_with_their_position() {
    check_refused(b"", "it is empty");
    check_refused(b"\n id", "line 2, column 2: expected a value");
    check_refused(b"{\n  \"a\": \"\xc3\xa9\xc3\xa9\" \"b\"}", "line 2, column 13: expected `,` or `}`");
    check_refused(b"{\n  \"id\": \"a\",\n  \"titl", "line 3, column 8: expected `\"`");
    check_refused(b"{\"a\":1,}", "line 1, column 8: expected a key in quotes");
    check_refused(b"{\"a\" 1}", "line 1, column 6: expected `:`");
    check_refused(b"{\"a\":01}", "line 1, column 7: expected `,` or `}`");
    check_refused(b"{\"a\":1.}", "line 1, column 8: expected a digit");
    check_refused(b"{\"a\":+1}", "line 1, column 6: expected a value");
    check_refused(b"{\"a\":nul}", "line 1, column 6: expected a value");
    check_refused(b"{\"a\":[1,]}", "line 1, column 9: expected a value");
    check_refused(b"{\"a\":\"\t\"}", "line 1, column 7: expected an escaped control character");
    check_refused(b"{\"a\":\"\\u12g4\"}", "line 1, column 7: expected four hexadecimal digits after `\\u`");
    check_refused(b"{\"a\":\"\\x\"}", "line 1, column 7: expected an escape");
    check_refused(b"{} {}", "line 1, column 4: expected the end");
    check_refused(b"[1]", "it is not an object");
    check_refused(b"{\"a\":1,\"\\u0061\":2}", "it has the key `a` twice");
    check_refused(b"{\"a\":\n\"\xff\"}", "line 2: it is not UTF-8");
    check_refused(&[b'['; 2_000_000], "line 1: it is nested more than 128 deep");
    check_refused(&vec![b' '; MAX_BYTES + 1], "it has 33554433 bytes, and 33554432 are the most");
    let long = "k".repeat(1000);
    let shown = format!("it has the key `{}` twice", &long[..64]);
    check_refused(format!("{{\"{long}\":1,\"{long}\":2}}").as_bytes(), &shown);
    let many: Vec<String> = (0..=MAX_KEYS).map(|n| format!("\"{n}\":0")).collect();
    check_refused(format!("{{{}}}", many.join(",")).as_bytes(), "it has more than 4096 keys");
}

#[test]
fn setting_invalid_json_is_refused() {
    let mut feature = document("{\"a\":1}");
    for bad in ["", "1,\"b\":2", "}", "\"", "tru", "{\"x\":1}}", &"[".repeat(200)] {
        assert!(feature.set_raw("a", bad).is_err(), "{bad}");
    }
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert_eq!(feature.set_raw("b", &deep), Err(DocumentError::TooDeep { line: 1 }));
    assert_eq!(feature.as_str(), "{\"a\":1}");
}

#[test]
fn concurrent_edits_are_merged() {
    let base = document("{\n  \"a\": 1,\n  \"b\": 1,\n  \"c\": 1\n}");
    let mut mine = base.clone();
    mine.set_raw("a", "2").unwrap();
    mine.set_raw("b", "2").unwrap();
    mine.set_raw("new", "2").unwrap();
    mine.remove("c");
    let mut theirs = document("{\"c\":1,\"b\":3,\"a\":1,\"x\":3}");
    theirs.adopt(&base, &mine);
    assert_eq!(theirs.as_str(), "{\"b\":3,\"a\":2,\"x\":3,\"new\":2}");
}

#[test]
fn steps_are_read_in_their_order_and_broken_ones_are_named() {
    let pipeline = document(
        r#"{"version":1,"steps":[
            {"id":"step_b","name":"Docs","order":1,"instructions":"Write \ud83d docs"},
            {"id":"step_a","order":0,"instructions":"Test","colorClass":"bg-blue-500/20"},
            {"id":"../x"}, 7, {"name":"none"}, {"id":"step_a","order":9}]}"#,
    );
    let (found, notes) = steps(&pipeline);
    let found: Vec<String> =
        found.iter().map(|step| format!("{} {} {}", step.id, step.name, step.instructions)).collect();
    assert_eq!(found, ["step_a step_a Test", "step_b Docs Write \u{fffd} docs"]);
    assert_snapshot!(notes.join("\n"), @"
    step 3 is left out: its `id` cannot be used: it has a character other than `A-Z`, `a-z`, `0-9`, `_` and `-`
    step 4 is left out: it is not an object
    step 5 is left out: it has no `id`
    step `step_a` is left out: there is another of that name
    ");
}

/// JSON values with white space anywhere, numbers of every form and half characters.
fn odd_value() -> impl Strategy<Value = String> {
    let space = "[ \t\r\n]{0,3}";
    let text = r#""([a-zé😀 ]|\\n|\\"|\\\\|\\u[dD][89a-f][0-9a-f]{2}|\\u00[0-9a-f]{2}){0,6}""#;
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
        text,
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = (space, inner.clone(), space).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let field =
            (space, text, space, inner, space).prop_map(|(a, key, b, value, c)| format!("{a}{key}{b}:{value}{c}"));
        prop_oneof![
            proptest::collection::vec(item, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(field, 0..4).prop_map(|fields| format!("{{{}}}", fields.join(","))),
        ]
    })
}

fn odd_object() -> impl Strategy<Value = String> {
    let space = "[ \t\r\n]{0,3}";
    let values = proptest::collection::vec((space, odd_value(), space), 0..6);
    (space, values, space).prop_map(|(before, values, after)| {
        let field = |(index, (a, value, b))| format!("{a}\"k{index}\"{b}:{a}{value}{b}");
        let fields: Vec<String> = values.into_iter().enumerate().map(field).collect();
        format!("{before}{{{after}{}}}{after}", fields.join(","))
    })
}

proptest! {
    #[test]
    fn any_object_comes_back_byte_for_byte(text in odd_object()) {
        prop_assert_eq!(document(&text).to_bytes(), text.as_bytes());
    }

    #[test]
    fn setting_a_key_changes_that_key_only(text in odd_object(), key in "k[0-7]", value in odd_value()) {
        let before = document(&text);
        let mut after = before.clone();
        after.set_raw(&key, &value).unwrap();
        prop_assert_eq!(after.raw(&key).map(layout::compact), Some(layout::compact(&value)));
        for other in before.keys().filter(|other| *other != key) {
            prop_assert_eq!(before.raw(other), after.raw(other));
        }
        let order: Vec<&str> = before.keys().collect();
        prop_assert!(after.keys().collect::<Vec<_>>().starts_with(&order));
        prop_assert_eq!(&document(after.as_str()), &after);
        // The edited document is valid JSON for other parsers.
        let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if is_json(&text) && is_json(&value) {
            prop_assert!(is_json(after.as_str()), "{}", after.as_str());
        }
    }

    #[test]
    fn removing_a_key_removes_that_key_only(text in odd_object(), key in "k[0-7]") {
        let before = document(&text);
        let mut after = before.clone();
        after.remove(&key);
        prop_assert_eq!(after.raw(&key), None);
        let rest = |document: &Document| -> Vec<(String, String)> {
            let entries = document.entries().filter(|(other, _)| *other != key);
            entries.map(|(other, json)| (other.to_owned(), json.to_owned())).collect()
        };
        prop_assert_eq!(rest(&before), rest(&after));
        prop_assert_eq!(&document(after.as_str()), &after);
    }

    #[test]
    fn any_string_round_trips(text in odd_object(), value in any::<String>()) {
        let mut changed = document(&text);
        changed.set_text("note", &value).unwrap();
        prop_assert_eq!(changed.text("note"), Some(value));
    }

    #[test]
    fn parsing_any_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Document::parse(&bytes);
    }

    #[test]
    fn parsing_agrees_with_serde_json(text in r#"[\{\}\[\]:,"\\ua0-9eE.+\- \ntrufalsen]{0,24}"#) {
        let object = format!("{{\"a\":{text}}}");
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&object).is_ok();
        let ours = match Document::parse(object.as_bytes()) {
            Ok(_) | Err(DocumentError::Twice(_)) => true,
            Err(_) => false,
        };
        prop_assert_eq!(ours, theirs);
    }
}
