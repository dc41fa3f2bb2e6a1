//! Further formats of API keys, those that gitleaks, secretlint and detect-secrets know.
//!
//! They are reported by one rule, whose message names the provider. Formats that are nothing but a number of random
//! characters are recognised by the provider's name ([`super::vendor`]).

use super::format::{Alphabet, Format, Head, format, varied};
use super::heuristics::contains;

/// The rule for keys of these providers.
pub(super) const RULE: &str = "secret-provider-key";

const GITLAB: &str = "secret-gitlab-token";
const SLACK: &str = "secret-slack-token";
const SHOPIFY: &str = "secret-shopify-token";

const fn key(what: &'static str, prefix: &'static str, alphabet: Alphabet, len: (usize, usize)) -> Format {
    format(RULE, what, prefix, alphabet, len, varied)
}

const fn checked(
    what: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    len: (usize, usize),
    verify: fn(&[u8]) -> bool,
) -> Format {
    format(RULE, what, prefix, alphabet, len, verify)
}

const fn gitlab(what: &'static str, prefix: &'static str, len: (usize, usize)) -> Format {
    format(GITLAB, what, prefix, Alphabet::WordDashDot, len, varied)
}

const fn shopify(prefix: &'static str) -> Format {
    format(SHOPIFY, "Shopify token", prefix, Alphabet::Hex, (32, 32), varied)
}

const fn slack(prefix: &'static str) -> Format {
    format(SLACK, "Slack token", prefix, Alphabet::WordDash, (24, 250), |key| {
        key.iter().filter(|byte| byte.is_ascii_digit()).count() >= 10 && varied(key)
    })
}

/// All further formats.
pub(super) static PROVIDERS: &[Format] = &[
    // Models.
    checked("Hugging Face token", "hf_", Alphabet::Alnum, (34, 34), is_cased),
    checked("Hugging Face organization token", "api_org_", Alphabet::Alnum, (34, 34), is_cased),
    checked("Groq API key", "gsk_", Alphabet::Alnum, (52, 52), is_mixed),
    checked("xAI API key", "xai-", Alphabet::Alnum, (80, 80), is_mixed),
    key("OpenRouter API key", "sk-or-v1-", Alphabet::Hex, (64, 64)),
    checked("Replicate API token", "r8_", Alphabet::Alnum, (37, 37), is_mixed),
    key("Perplexity API key", "pplx-", Alphabet::Alnum, (48, 48)),
    checked("Pinecone API key", "pcsk_", Alphabet::Word, (60, 80), is_mixed),
    key("LangSmith API key", "lsv2_pt_", Alphabet::Word, (43, 43)),
    key("LangSmith service key", "lsv2_sk_", Alphabet::Word, (43, 43)),
    checked("NVIDIA API key", "nvapi-", Alphabet::WordDash, (60, 70), is_mixed),
    checked("Tavily API key", "tvly-", Alphabet::WordDash, (32, 60), is_mixed),
    // Code and packages.
    gitlab("GitLab deploy token", "gldt-", (20, 64)),
    gitlab("GitLab runner token", "glrt-", (20, 300)),
    gitlab("GitLab trigger token", "glptt-", (40, 40)),
    gitlab("GitLab job token", "glcbt-", (20, 64)),
    gitlab("GitLab feed token", "glft-", (20, 64)),
    gitlab("GitLab feature flag token", "glffct-", (20, 64)),
    gitlab("GitLab mail token", "glimt-", (25, 25)),
    gitlab("GitLab agent token", "glagent-", (50, 64)),
    gitlab("GitLab SCIM token", "glsoat-", (20, 64)),
    gitlab("GitLab OAuth secret", "gloas-", (64, 64)),
    gitlab("GitLab runner registration token", "GR1348941", (20, 20)),
    checked("Docker access token", "dckr_pat_", Alphabet::WordDash, (27, 27), is_mixed),
    checked("Docker organization token", "dckr_oat_", Alphabet::WordDash, (27, 40), is_mixed),
    key("RubyGems API key", "rubygems_", Alphabet::Hex, (48, 48)),
    key("Clojars token", "CLOJARS_", Alphabet::Hex, (60, 60)),
    checked("Artifactory API key", "AKCp", Alphabet::Alnum, (69, 69), is_mixed),
    checked("Artifactory reference token", "cmVmd", Alphabet::Alnum, (59, 59), is_mixed),
    checked("Atlassian API token", "ATATT3", Alphabet::UrlBase64, (100, 260), is_mixed),
    checked("Bitbucket app password", "ATBB", Alphabet::Alnum, (32, 32), is_mixed),
    key("Sourcegraph token", "sgp_", Alphabet::Word, (40, 60)),
    key("SonarQube token", "squ_", Alphabet::Hex, (40, 40)),
    key("SonarQube project token", "sqp_", Alphabet::Hex, (40, 40)),
    key("SonarQube analysis token", "sqa_", Alphabet::Hex, (40, 40)),
    key("Postman API key", "PMAK-", Alphabet::WordDash, (59, 59)),
    key("Prefect API key", "pnu_", Alphabet::Alnum, (36, 36)),
    key("Infracost API key", "ico-", Alphabet::Alnum, (32, 32)),
    checked("Octopus Deploy API key", "API-", Alphabet::Upper, (25, 27), is_upper_mixed),
    // Clouds and hosting.
    format("secret-digitalocean-token", "DigitalOcean OAuth token", "doo_v1_", Alphabet::Hex, (64, 64), varied),
    format("secret-digitalocean-token", "DigitalOcean refresh token", "dor_v1_", Alphabet::Hex, (64, 64), varied),
    checked("Alibaba access key id", "LTAI", Alphabet::Alnum, (17, 20), is_mixed),
    checked("Amazon Bedrock API key", "ABSK", Alphabet::Base64, (109, 270), is_mixed),
    checked("Google OAuth access token", "ya29.", Alphabet::WordDash, (60, 1000), is_mixed),
    checked("Yandex API key", "AQVN", Alphabet::WordDash, (35, 38), is_mixed),
    key("Cloudflare origin CA key", "v1.0-", Alphabet::WordDash, (171, 171)),
    checked("Fly.io token", "fo1_", Alphabet::WordDash, (43, 43), is_mixed),
    checked("Fly.io token", "fm2_", Alphabet::Base64, (100, 2000), is_mixed),
    checked("Netlify token", "nfp_", Alphabet::Alnum, (36, 40), is_mixed),
    key("Supabase access token", "sbp_", Alphabet::Hex, (40, 40)),
    checked("Supabase secret key", "sb_secret_", Alphabet::WordDash, (31, 41), is_mixed),
    checked("Tailscale key", "tskey-auth-", Alphabet::WordDash, (20, 70), is_mixed),
    checked("Tailscale API key", "tskey-api-", Alphabet::WordDash, (20, 70), is_mixed),
    key("Pulumi access token", "pul-", Alphabet::Hex, (40, 40)),
    key("OpenShift token", "sha256~", Alphabet::WordDash, (43, 43)),
    key("PlanetScale token", "pscale_tkn_", Alphabet::WordDashDot, (32, 64)),
    key("PlanetScale password", "pscale_pw_", Alphabet::WordDashDot, (32, 64)),
    key("PlanetScale OAuth token", "pscale_oauth_", Alphabet::WordDashDot, (32, 64)),
    Format {
        head: Head::Fixed(Alphabet::Alnum, 14),
        ..checked("Terraform Cloud token", ".atlasv1.", Alphabet::WordDash, (60, 70), is_mixed)
    },
    azure("7Q~"),
    azure("8Q~"),
    key("Azure service bus key", "SharedAccessKey=", Alphabet::Base64, (43, 44)),
    key("Scalingo token", "tk-us-", Alphabet::WordDash, (48, 48)),
    checked("Heroku token", "HRKU-AA", Alphabet::WordDash, (58, 58), is_mixed),
    // Observability.
    checked("Grafana service account token", "glsa_", Alphabet::Word, (41, 41), is_mixed),
    checked("Grafana Cloud token", "glc_eyJ", Alphabet::Base64, (30, 400), is_mixed),
    checked("Grafana API key", "eyJrIjoi", Alphabet::Base64, (60, 400), is_mixed),
    key("Sentry user token", "sntryu_", Alphabet::Hex, (64, 64)),
    checked("Sentry organization token", "sntrys_eyJ", Alphabet::UrlBase64, (60, 500), is_mixed),
    checked("Dynatrace token", "dt0c01.", Alphabet::WordDashDot, (89, 89), is_mixed),
    checked("New Relic user key", "NRAK-", Alphabet::Upper, (27, 27), is_upper_mixed),
    key("New Relic insert key", "NRII-", Alphabet::WordDash, (32, 32)),
    key("PostHog personal key", "phx_", Alphabet::Alnum, (40, 50)),
    // Messages and mail.
    checked("SendGrid API key", "SG.", Alphabet::WordDashDot, (66, 66), |key| {
        key.get(25) == Some(&b'.') && varied(key)
    }),
    key("Brevo API key", "xkeysib-", Alphabet::WordDash, (81, 81)),
    slack("xoxr-"),
    slack("xoxo-"),
    slack("xapp-"),
    format(SLACK, "Slack workflow webhook", "hooks.slack.com/workflows/", Alphabet::Path, (40, 70), varied),
    format(SLACK, "Slack trigger", "hooks.slack.com/triggers/", Alphabet::Path, (40, 70), varied),
    checked("Discord webhook", "discord.com/api/webhooks/", Alphabet::PathDash, (80, 100), is_webhook),
    checked("Discord webhook", "discordapp.com/api/webhooks/", Alphabet::PathDash, (80, 100), is_webhook),
    checked("Teams webhook", ".webhook.office.com/webhookb2/", Alphabet::UrlPath, (120, 200), |key| {
        contains(key, b"/IncomingWebhook/")
    }),
    Format {
        head: Head::Fixed(Alphabet::Hex, 32),
        ..checked("Mailchimp API key", "-us", Alphabet::Digit, (1, 2), |key| varied(&key[..key.len().min(32)]))
    },
    // Work and content.
    key("Linear API key", "lin_api_", Alphabet::Alnum, (40, 40)),
    key("Linear OAuth token", "lin_oauth_", Alphabet::Alnum, (40, 64)),
    checked("Notion token", "ntn_", Alphabet::Alnum, (46, 46), is_mixed),
    checked("Figma token", "figd_", Alphabet::WordDash, (40, 60), is_mixed),
    checked("Typeform token", "tfp_", Alphabet::WordDashDot, (40, 70), is_mixed),
    key("ReadMe API key", "rdme_", Alphabet::Alnum, (70, 70)),
    key("Frame.io token", "fio-u-", Alphabet::WordDash, (64, 64)),
    checked("Harness token", "pat.", Alphabet::WordDashDot, (68, 68), is_mixed),
    // Secrets and identity.
    checked("1Password service account token", "ops_eyJ", Alphabet::Base64, (240, 2000), is_mixed),
    checked("1Password secret key", "A3-", Alphabet::UpperDash, (36, 37), is_1password),
    checked("Doppler token", "dp.pt.", Alphabet::Alnum, (40, 44), is_mixed),
    checked("Doppler service token", "dp.st.", Alphabet::WordDashDot, (40, 70), is_mixed),
    checked("Vault batch token", "hvb.", Alphabet::WordDash, (130, 300), is_mixed),
    key("Adobe client secret", "p8e-", Alphabet::Hex, (32, 32)),
    // Money.
    checked("Square access token", "sq0atp-", Alphabet::WordDash, (22, 22), is_mixed),
    checked("Square OAuth secret", "sq0csp-", Alphabet::WordDash, (43, 43), is_mixed),
    checked("Square access token", "EAAA", Alphabet::WordDash, (60, 60), is_mixed),
    checked("Stripe webhook secret", "whsec_", Alphabet::Alnum, (32, 64), is_mixed),
    key("Shippo API token", "shippo_live_", Alphabet::Hex, (40, 40)),
    checked("EasyPost API key", "EZAK", Alphabet::Alnum, (54, 54), is_mixed),
    checked("Duffel API token", "duffel_live_", Alphabet::WordDash, (43, 43), is_mixed),
    shopify("shpca_"),
    shopify("shppa_"),
];

/// The client secret of an Azure application, with `Q~` after four characters.
const fn azure(literal: &'static str) -> Format {
    let format = checked("Azure client secret", literal, Alphabet::WordDashDotTilde, (31, 34), is_mixed);
    Format { head: Head::Fixed(Alphabet::WordDashDotTilde, 3), ..format }
}

/// True for random letters of both cases.
fn is_cased(key: &[u8]) -> bool {
    let tail = &key[key.len() - key.len().min(34)..];
    let n_upper = tail.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    (6..=28).contains(&n_upper) && varied(key)
}

/// True for random letters of both cases and a digit, which words and names are not.
fn is_mixed(key: &[u8]) -> bool {
    let tail = &key[key.len() - key.len().min(40)..];
    let has = |is: fn(&u8) -> bool| tail.iter().any(is);
    has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit) && varied(key)
}

fn is_upper_mixed(key: &[u8]) -> bool {
    let tail = &key[key.len() - key.len().min(20)..];
    let n_digits = tail.iter().filter(|byte| byte.is_ascii_digit()).count();
    (3..=17).contains(&n_digits) && varied(key)
}

/// True for the id of a Discord webhook and its token: `1234…/aBc…`.
fn is_webhook(key: &[u8]) -> bool {
    let Some((id, token)) = key.rsplitn(2, |byte| *byte == b'/').nth(1).zip(key.rsplit(|byte| *byte == b'/').next())
    else {
        return false;
    };
    let id = id.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    (17..=20).contains(&id.len()) && id.iter().all(u8::is_ascii_digit) && token.len() >= 60 && is_mixed(token)
}

/// True for `A3-XXXXXX-XXXXXX-XXXXX-XXXXX-XXXXX-XXXXX`.
fn is_1password(key: &[u8]) -> bool {
    let parts: Vec<usize> = key.split(|byte| *byte == b'-').map(<[u8]>::len).collect();
    matches!(parts.as_slice(), [2, 6, 6, 5, 5, 5, 5] | [2, 6, 11, 5, 5, 5]) && is_upper_mixed(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random characters of an alphabet, from a fixed seed.
    fn random(alphabet: Alphabet, n_chars: usize, seed: &mut u64) -> String {
        let characters: Vec<char> = (0..128u8).filter(|byte| alphabet.has(*byte)).map(char::from).collect();
        // The separators of an alphabet are rare, and a key does not end with one.
        let plain: Vec<char> = characters.iter().copied().filter(char::is_ascii_alphanumeric).collect();
        let mut text = String::new();
        for _ in 0..n_chars {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(plain[(*seed >> 33) as usize % plain.len()]);
        }
        text
    }

    /// A key that the provider could have issued.
    fn sample(format: &Format, seed: &mut u64) -> String {
        let mut body = |n_chars| random(format.alphabet, n_chars, seed);
        let head = match format.head {
            Head::Fixed(alphabet, len) => random(alphabet, len, &mut 7),
            Head::Prefix | Head::Digits => String::new(),
        };
        let body = match format.prefix {
            "SG." => format!("{}.{}", body(22), body(43)),
            "A3-" => format!("7K2Q9D-4XW8RZ-{}4-T{}3-{}8-5{}", body(4), body(3), body(4), body(4)),
            "API-" | "NRAK-" => format!("{}7Q2X9", body(format.len.0 - 5)),
            "discord.com/api/webhooks/" | "discordapp.com/api/webhooks/" => {
                format!("112233445566778899/{}9aB", body(65))
            }
            ".webhook.office.com/webhookb2/" => format!("{}/IncomingWebhook/{}", body(80), body(40)),
            "xoxr-" | "xoxo-" | "xapp-" => format!("482910384756-{}", body(24)),
            _ => format!("{}7aB", body(format.len.0.saturating_sub(3))),
        };
        let body = if matches!(format.alphabet, Alphabet::Hex) { body.replace('B', "0") } else { body };
        let body = if matches!(format.alphabet, Alphabet::Digit) { "14".to_owned() } else { body };
        format!("{head}{}{body}", format.prefix)
    }

    #[track_caller]
    fn check(format: &Format, line: &str, expected: bool) {
        let at = line.find(format.prefix).unwrap();
        assert_eq!(format.find(line.as_bytes(), at).is_some(), expected, "{}: {line}", format.what);
    }

    #[test]
    fn every_format_finds_its_keys_and_none_of_their_near_misses() {
        let mut seed = 19;
        for format in PROVIDERS {
            let key = sample(format, &mut seed);
            check(format, &format!("key = \"{key}\""), true);
            check(format, &key, true);
            let start = key.find(format.prefix).unwrap() + format.prefix.len();
            let (head, body) = key.split_at(start);
            let placeholder: String = body.chars().map(|it| if it.is_alphanumeric() { 'x' } else { it }).collect();
            check(format, &format!("key = \"{head}{placeholder}\""), false);
            check(format, &format!("key = \"{head}${{KEY}}\""), false);
            check(format, &format!("startsWith(\"{head}\")"), false);
            check(format, &format!("key = \"{head}{}\"", &body[..body.len().min(format.len.0 - 1) / 2]), false);
            if !format.prefix.contains(['/', '=']) {
                check(format, &format!("key = \"Z9{key}\""), false);
            }
        }
    }
}
