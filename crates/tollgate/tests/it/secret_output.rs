//! No output prints a secret: every kind, in every position, in every format.

use crate::scratch::Scratch;

/// Every way in which a review leaves the program.
const FORMATS: &[&str] =
    &["pretty", "json", "markdown", "sarif", "rdjson", "rdjsonl", "github", "junit", "html", "summary"];

/// Secrets, in two pieces so that this file holds none.
fn secrets() -> Vec<(&'static str, String)> {
    let kinds: &[(&str, &[&str])] = &[
        ("github", &["ghp_", "a9Y6yNd14tDdO9eGzMcNU77sVTUUJ53XhShQ"]),
        ("gitlab", &["glpat-", "XE6QNWPfZxa9uCzQVPSn"]),
        ("digitalocean", &["dop_v1_", "3d7c58dfe0d5a0cf318656b3e6f0bade65c3b188cc102ddb8379c7ce65426f74"]),
        ("hugging-face", &["hf_", "NqVwYSVPHbDXpPdkhxEpyIgKpaUnArlXyk"]),
        ("grafana", &["glsa_", "WZeiNNCiia3anXn9k3ksu9mI4ROnl89S_6c90bd54"]),
        ("linear", &["lin_api_", "qevt0MLaMRTvetw0tESulEETldq8b8Vw2zbJYAxy"]),
        ("docker", &["dckr_pat_", "L1aCcTlN99mhWp708DwGw5HqX7a"]),
        ("sendgrid", &["SG.", "DgLVXZx3scB8fnvGNx6jvr.7SIftRutlZfOjUStEkUdfMI7zcpVMw0qDPAjd6OcZFv"]),
        ("npm", &["npm_", "tQOQlXDOHLm3VHazN8hWXeotsD5HvF3fcsAD"]),
        ("generic", &["9f8Tq2Lm", "Wz7Rk4YbXc3N"]),
        ("password", &["kX9#mQ2v", "Lp7Tz4"]),
    ];
    kinds.iter().map(|(kind, pieces)| (*kind, pieces.concat())).collect()
}

/// A file with a secret somewhere in it, by its name.
fn positions(secret: &str) -> Vec<(&'static str, String)> {
    // The secret of an AWS key has no format; only its neighbour has.
    let (id, key) = (["AKIA", "VFKXUXETLHSV2KSN"].concat(), ["AKIA", "BDQ7TT33Y5WCW4AE"].concat());
    vec![
        ("assigned.js", format!("const apiToken = \"{secret}\";\n")),
        ("object.ts", format!("export default {{ password: '{secret}', name: 'a' }};\n")),
        ("Second.java", format!("var c = new BasicAWSCredentials(\"{id}\", \"{secret}\");\n")),
        ("swapped.py", format!("client(\"{secret}\", aws=\"{key}\")\n")),
        ("lines.go", format!("creds := New(\n\t\"{id}\",\n\t\"{secret}\",\n)\npassword := \"{secret}\"\n")),
        ("evil.js", format!("eval(x + '{secret}'); const token = '{secret}';\n")),
        ("loop.js", format!("items.forEach(async (item) => save(item, {{ password: '{secret}' }}));\n")),
        ("comment.rb", format!("# the password = '{secret}' of the bot\n")),
        ("url.txt", format!("deploy to https://bot:{secret}@git.acme.io/app.git\n")),
        ("config.yml", format!("db:\n  password: {secret}\n  host: db01\n")),
        (".env", format!("API_TOKEN={secret}\n")),
        ("Dockerfile", format!("FROM scratch\nENV API_TOKEN={secret}\n")),
        ("db.cs", format!("var c = \"Server=db01;User Id=app;Password={secret};\";\n")),
        ("header.sh", format!("curl -H \"Authorization: Bearer {secret}\" -H 'X-Token: {secret}' https://a.io\n")),
        ("dist/bundle.js", format!("var a={{apiToken:\"{secret}\"}};eval(a)\n")),
    ]
}

#[test]
fn no_format_and_no_stored_review_prints_a_secret() {
    for (kind, secret) in secrets() {
        let scratch = Scratch::on_a_branch();
        for (name, text) in positions(&secret) {
            scratch.write(name, &text);
        }
        // A user shows what is masked: never more than the first characters.
        let hidden = &secret[secret.len().min(6)..];
        for format in FORMATS {
            let ran = scratch.tollgate(&["review", "--format", format, "--verbose"]);
            assert_eq!(ran.code, 1, "{kind} {format}: {}", ran.stderr);
            for (line, output) in ran.stdout.lines().chain(ran.stderr.lines()).zip(1..) {
                assert!(!line.contains(hidden), "{kind} {format} {output}: {line}");
            }
        }
        let shown = scratch.tollgate(&["history", "show", "1", "--format", "json"]).expect(0);
        assert!(shown.contains("findings") && !shown.contains(hidden), "{kind}: {shown}");
        let stored = std::fs::read(scratch.store()).unwrap();
        let is_there = stored.windows(hidden.len()).any(|window| window == hidden.as_bytes());
        assert!(!is_there, "{kind}: the store holds the secret");
    }
}
