//! Private keys from real generators, under every name: each one blocks. No key is part of this repository.
//!
//! `scripts/keys-setup` installs the generators.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::scratch::Scratch;

/// Names that say nothing, or that say that the file is something else.
const NAMES: &[&str] = &[
    "server",
    "key.txt",
    "notes.md",
    "config.json",
    "example.pem",
    "id_key.pub",
    "main.js",
    "dist/index.js",
    "vendor/a.py",
    "node_modules/a/package.json",
    "package-lock.json",
    "a.min.js",
    "logo.png",
];

/// Runs a generator in a folder and returns its output.
#[track_caller]
fn run(folder: &Path, program: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(args).current_dir(folder).env("GNUPGHOME", folder.join("gnupg")).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; run scripts/keys-setup first"));
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The keys of one generator each, with a name.
fn generate(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut keys: Vec<(String, Vec<u8>)> = Vec::new();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    for (kind, bits, password) in [
        ("ed25519", "256", ""),
        ("rsa", "2048", ""),
        ("rsa", "4096", ""),
        ("ecdsa", "256", ""),
        ("ecdsa", "521", ""),
        ("ed25519", "256", "kX9mQ2vLp"),
    ] {
        let name = format!("ssh-{kind}-{bits}-{}", password.len());
        run(folder, "ssh-keygen", &["-q", "-t", kind, "-b", bits, "-N", password, "-C", "", "-f", &name]);
        keys.push((name.clone(), read(&name)));
    }
    run(folder, "ssh-keygen", &["-q", "-t", "rsa", "-m", "PEM", "-N", "kX9mQ2vLp", "-f", "ssh-rsa-old"]);
    keys.push(("ssh-rsa-old-encrypted".to_owned(), read("ssh-rsa-old")));
    let openssl: &[(&str, &str)] = &[
        ("pkcs8-rsa", "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048"),
        ("pkcs8-ed25519", "genpkey -algorithm ED25519"),
        ("pkcs8-ec", "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"),
        ("pkcs8-encrypted", "genpkey -algorithm ED25519 -aes256 -pass pass:kX9mQ2vLp"),
        ("pkcs1", "genrsa -traditional 2048"),
        ("pkcs1-encrypted", "genrsa -traditional -aes128 -passout pass:kX9mQ2vLp 2048"),
        ("sec1", "ecparam -name prime256v1 -genkey"),
        ("sec1-explicit", "ecparam -name secp384r1 -genkey -param_enc explicit"),
    ];
    for (name, args) in openssl {
        keys.push(((*name).to_owned(), run(folder, "openssl", &args.split(' ').collect::<Vec<_>>())));
    }
    keys.extend([("age".to_owned(), run(folder, "age-keygen", &[]))]);
    for (kind, version) in [("ed25519", "3"), ("rsa", "2")] {
        let from = if kind == "rsa" { "ssh-rsa-2048-0" } else { "ssh-ed25519-256-0" };
        let param = format!("version={version}");
        run(folder, "puttygen", &[from, "-O", "private", "--ppk-param", &param, "-o", "putty.ppk"]);
        keys.push((format!("putty-{kind}"), read("putty.ppk")));
    }
    keys.extend(openpgp(folder));
    keys.extend(stores(folder));
    keys.extend(documents(folder));
    keys
}

fn openpgp(folder: &Path) -> [(String, Vec<u8>); 2] {
    std::fs::create_dir(folder.join("gnupg")).unwrap();
    let common = ["--batch", "--pinentry-mode", "loopback", "--passphrase", ""];
    let gpg = |args: &[&str]| run(folder, "gpg", &[&common[..], args].concat());
    gpg(&["--quick-generate-key", "bot@acme.io", "ed25519", "sign", "never"]);
    let armored = gpg(&["--armor", "--export-secret-keys"]);
    let binary = gpg(&["--export-secret-keys"]);
    run(folder, "gpgconf", &["--kill", "gpg-agent"]);
    [("openpgp".to_owned(), armored), ("openpgp-binary".to_owned(), binary)]
}

/// Binary stores and keys.
fn stores(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let request = "req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=a -days 1";
    run(folder, "openssl", &request.split(' ').collect::<Vec<_>>());
    let export = "pkcs12 -export -inkey k.pem -in c.pem -passout pass:kX9mQ2vLp -out a.p12";
    run(folder, "openssl", &export.split(' ').collect::<Vec<_>>());
    let der = run(folder, "openssl", &["pkey", "-in", "k.pem", "-outform", "DER"]);
    let mut stores = vec![("p12".to_owned(), read("a.p12")), ("der".to_owned(), der)];
    for kind in ["jks", "pkcs12"] {
        let store = format!("a.{kind}");
        let args = format!(
            "-genkeypair -alias a -keyalg RSA -keysize 2048 -dname CN=a -storetype {kind} -keystore {store} \
             -storepass kX9mQ2vLp -keypass kX9mQ2vLp"
        );
        run(folder, "keytool", &args.split_whitespace().collect::<Vec<_>>());
        stores.push((format!("keytool-{kind}"), read(&store)));
    }
    stores
}

/// Documents that hold a key: a JSON Web Key, a service account, a kubeconfig, source code, text in UTF-16.
fn documents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let pem = String::from_utf8(run(folder, "openssl", &["genpkey", "-algorithm", "RSA"])).unwrap();
    let escaped = pem.replace('\n', "\\n");
    let encoded = base64(pem.as_bytes(), b"+/").replace('\n', "");
    // The private scalar of a curve is the last 32 bytes of the key in DER.
    let der = run(folder, "openssl", &["genpkey", "-algorithm", "ED25519", "-outform", "DER"]);
    let scalar = base64(&der[der.len() - 32..], b"-_").replace('=', "");
    let jwk = format!("{{\n  \"kty\": \"OKP\",\n  \"crv\": \"Ed25519\",\n  \"d\": \"{scalar}\",\n  \"x\": \"a\"\n}}\n");
    let mut code = "const KEY =\n".to_owned();
    pem.lines().for_each(|line| writeln!(code, "  \"{line}\\n\" +").unwrap());
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(pem.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let indented: String = pem.lines().map(|line| format!("        {line}\n")).collect();
    [
        ("jwk", jwk.clone()),
        ("jwk-in-one-line", jwk.replace(['\n', ' '], "")),
        ("service-account", format!("{{\n  \"type\": \"service_account\",\n  \"private_key\": \"{escaped}\"\n}}\n")),
        ("escaped-twice", format!("{{\"json\": \"{{\\\"key\\\": \\\"{}\\\"}}\"}}\n", escaped.replace('\\', "\\\\"))),
        ("kubeconfig", format!("users:\n- name: admin\n  user:\n    client-key-data: {encoded}\n")),
        ("code", code),
        ("yaml", format!("data:\n  tls:\n    key: |\n{indented}")),
    ]
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .into_iter()
    .chain([("utf-16".to_owned(), utf16)])
    .collect()
}

fn base64(bytes: &[u8], last: &[u8; 2]) -> String {
    let digits: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*last).collect();
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = char::from(digits[bits >> (18 - 6 * place) & 63]);
            text.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

/// The files with a finding that blocks.
fn blocked(review: &str) -> Vec<String> {
    let review: Value = serde_json::from_str(review).unwrap();
    let findings = review["findings"].as_array().unwrap().iter();
    let blocking = findings.filter(|finding| matches!(finding["severity"].as_str(), Some("Critical" | "High")));
    blocking.map(|finding| finding["location"]["file"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_private_key_blocks_under_any_name() {
    let scratch = Scratch::on_a_branch();
    let keys = tempfile::tempdir().unwrap();
    let keys = generate(keys.path());
    assert!(keys.len() >= 30, "{}", keys.len());
    for (kind, key) in &keys {
        for name in NAMES {
            let path = scratch.path().join(kind).join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, key).unwrap();
        }
    }
    let review = scratch.tollgate(&["review", "--format", "json"]).expect(1);
    let blocked = blocked(&review);
    let paths = keys.iter().flat_map(|(kind, _)| NAMES.iter().map(move |name| format!("{kind}/{name}")));
    let passed: Vec<String> = paths.filter(|path| !blocked.contains(path)).collect();
    assert_eq!(passed, Vec::<String>::new());
    for (kind, key) in &keys {
        let text = String::from_utf8_lossy(key);
        let body = text.lines().filter(|line| line.len() >= 48).nth(1);
        assert!(body.is_none_or(|line| !review.contains(line.trim())), "{kind}");
    }
}

#[test]
fn public_keys_certificates_and_sketches_of_keys_stay_quiet() {
    let scratch = Scratch::on_a_branch();
    let made = tempfile::tempdir().unwrap();
    let folder = made.path();
    run(folder, "ssh-keygen", &["-q", "-t", "rsa", "-N", "", "-f", "a"]);
    let request = "req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=a -days 1";
    run(folder, "openssl", &request.split(' ').collect::<Vec<_>>());
    let trust = "-importcert -noprompt -alias a -file c.pem -keystore t.jks -storetype jks -storepass kX9mQ2vLp";
    run(folder, "keytool", &trust.split(' ').collect::<Vec<_>>());
    let trust12 = trust.replace("t.jks -storetype jks", "t.p12 -storetype pkcs12");
    run(folder, "keytool", &trust12.split(' ').collect::<Vec<_>>());
    let der = run(folder, "openssl", &["x509", "-in", "c.pem", "-outform", "DER"]);
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let public = run(folder, "openssl", &["pkey", "-in", "k.pem", "-pubout"]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(scratch.path().join(name), bytes).unwrap();
    write("a.pub", &read("a.pub"));
    write("c.pem", &read("c.pem"));
    write("c.der", &der);
    write("public.pem", &public);
    write("trust.jks", &read("t.jks"));
    write("trust.p12", &read("t.p12"));
    write("authorized_keys", &read("a.pub"));
    scratch.write(
        "a.md",
        "```\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA...\n-----END RSA PRIVATE KEY-----\n```\n",
    );
    scratch.write(
        "b.js",
        "const isKey = (text) => text.startsWith('-----BEGIN PRIVATE KEY-----');\nexport default isKey;\n",
    );
    scratch.write("c.yml", "key: |\n  -----BEGIN PRIVATE KEY-----\n  <your key>\n  -----END PRIVATE KEY-----\n");
    scratch.write(
        "d.json",
        "{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}\n",
    );
    scratch.write("e.txt", "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ\n");
    let review = scratch.tollgate(&["review", "--format", "json", "--fail-on", "never"]).expect(0);
    assert_eq!(blocked(&review), Vec::<String>::new(), "{review}");
}
