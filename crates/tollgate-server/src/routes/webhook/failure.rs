//! Error responses to deliveries.

use axum::http::HeaderMap;

use crate::problem::{Kind, Problem};

pub(super) fn no_app() -> Problem {
    Problem::new(Kind::NotFound, "no GitHub App is set up here").hint("`tollgate github setup` makes one.")
}

pub(super) fn not_yet() -> Problem {
    Problem::new(Kind::Unavailable, "the server does not know yet what its app is called")
        .hint("It asks GitHub; deliver once more in a while.")
        .retry_after(30)
}

pub(super) fn unsigned(headers: &HeaderMap) -> Problem {
    let problem = if headers.contains_key("x-hub-signature") && !headers.contains_key(super::signature::SIGNATURE) {
        "the delivery is only signed with SHA-1, which is not taken"
    } else {
        "the delivery is not signed"
    };
    Problem::new(Kind::Unauthorized, problem)
        .hint("GitHub signs with `X-Hub-Signature-256` when the webhook has a secret.")
}

pub(super) fn wrong_signature() -> Problem {
    Problem::new(Kind::Unauthorized, "the signature does not fit")
        .hint("The webhook secret at GitHub must be the one this server has; `tollgate doctor` says where it looks.")
}

pub(super) fn form_encoded() -> Problem {
    Problem::new(Kind::UnsupportedMediaType, "the delivery is a form, and only JSON is taken")
        .hint("Choose `application/json` as the content type of the webhook at GitHub.")
}

pub(super) fn no_guid() -> Problem {
    Problem::new(Kind::BadRequest, "the header `X-GitHub-Delivery` does not name a delivery")
}

pub(super) fn no_event() -> Problem {
    Problem::new(Kind::BadRequest, "the header `X-GitHub-Event` does not name an event")
}

pub(super) fn too_slow() -> Problem {
    Problem::new(Kind::RequestTimeout, "the body came too slowly")
}

pub(super) fn unreadable(why: &str) -> Problem {
    Problem::new(Kind::Unprocessable, why)
}
