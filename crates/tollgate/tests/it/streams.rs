//! Standard output, standard error and exit codes.

use std::io::Read as _;
use std::process::Stdio;

use crate::scratch::{Scratch, program};

const LOOP: &str = "items.forEach(async (item) => save(item));\n";

#[test]
fn a_report_that_is_piped_is_plain() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    let text = scratch.tollgate(&["review"]).expect(1);
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn colour_follows_the_flag_and_the_conventions() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    let coloured =
        |args: &[&str], env: &[(&str, &str)]| scratch.tollgate_with(args, b"", env).expect(1).contains("\x1b[");
    assert!(coloured(&["review", "--color", "always"], &[]));
    assert!(coloured(&["review"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["review"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&["review", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scratch = Scratch::on_a_branch();
    let mut child = scratch.command(&["rules", "list", "--format", "json"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut byte = [0];
    stdout.read_exact(&mut byte).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn a_report_in_a_file_is_whole_and_says_so_on_standard_error() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    let ran = scratch.tollgate(&["review", "--format", "json", "-o", "out.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("wrote out.json: Needs changes -- "), "{}", ran.stderr);
    serde_json::from_str::<serde_json::Value>(&scratch.read("out.json")).unwrap();
    let ran = scratch.tollgate(&["review", "-o", "no/such/folder/out.json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

#[test]
fn another_folder_is_where_files_are_written_too() {
    let scratch = Scratch::on_a_branch();
    scratch.write("sub/a.js", LOOP).write("sub/none.json", "[]");
    scratch.tollgate(&["-C", "sub", "review", "-o", "review.txt"]).expect(1);
    scratch.tollgate(&["-C", "sub", "analyze", "-o", "analysis.txt"]).expect(0);
    scratch.tollgate(&["-C", "sub", "history", "show", "-o", "stored.txt"]).expect(0);
    scratch.tollgate(&["-C", "sub", "history", "export", "-o", "all.jsonl"]).expect(0);
    let delta = ["-C", "sub", "delta", "--prior", "none.json", "--current", "none.json", "-o", "delta.txt"];
    scratch.tollgate(&delta).expect(0);
    for name in ["review.txt", "analysis.txt", "stored.txt", "all.jsonl", "delta.txt"] {
        assert!(!scratch.read(&format!("sub/{name}")).is_empty(), "{name}");
    }
}

#[test]
fn help_and_version_are_data() {
    let scratch = Scratch::folder();
    assert_eq!(scratch.tollgate(&["--version"]).expect(0), format!("tollgate {}\n", env!("CARGO_PKG_VERSION")));
    assert!(scratch.tollgate(&["review", "--help"]).expect(0).contains("Examples:"));
    assert_eq!(scratch.tollgate(&[]).code, 2);
}

#[test]
fn the_scanning_child_ends_when_its_input_ends() {
    let status = std::process::Command::new(program())
        .args(["__scan", "512,5"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn no_format_shows_a_secret() {
    let scratch = Scratch::on_a_branch();
    let secret = ["sk_li", "ve_4eC39HqLyjWDarjtT1zdp7dc"].concat();
    let key = format!(
        "-----BEGIN RSA {}-----\n{}\n",
        "PRIVATE KEY",
        "MIIEpAIBAAKCAQEAx9Kd02mVqLz7Rk4YbXc3NpWt8sHjGfEu\n".repeat(4)
    );
    scratch.write("pay.js", &format!("const stripe = new Stripe(\"{secret}\");\neval(input + \"{secret}\");\n"));
    scratch.write("key.txt", &format!("{key}-----END RSA {}-----\n", "PRIVATE KEY"));
    for format in ["pretty", "json", "markdown", "sarif", "rdjson", "rdjsonl", "github", "junit", "html"] {
        let ran = scratch.tollgate(&["review", "--verbose", "--format", format]);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!shown.contains("HqLyjWDarjt"), "{format} shows the token:\n{shown}");
        assert!(!shown.contains("x9Kd02mVqLz7Rk4YbXc3"), "{format} shows the key:\n{shown}");
        assert_eq!(ran.code, 1, "{format}");
    }
}
