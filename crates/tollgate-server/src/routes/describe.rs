//! What the API says about itself: OpenAPI 3.1, from the code of the routes.

use axum::Extension;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, RefOr, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;

use crate::layer;
use crate::problem;
use crate::routes::{Shared, webhook};

/// What is said about the whole.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "tollgate",
        description = "Features, the agents that implement them, and the reviews they must pass. Every error is a \
                       problem document (RFC 9457)."
    ),
    components(schemas(problem::Document)),
    security(("token" = []), ("session" = [])),
    tags(
        (name = "server", description = "The server itself."),
        (name = "auth", description = "Signing in from a browser."),
        (name = "events", description = "What happens, as it happens."),
        (name = "projects", description = "Projects that an operator added."),
        (name = "features", description = "Features of a project, and what people do to them."),
        (name = "iterations", description = "What agents did and reviews said."),
        (name = "reviews", description = "Stored reviews, whoever asked for them, and what they say together."),
        (name = "settings", description = "Settings, prompts and agents."),
        (name = "github", description = "What GitHub tells us, and the app that we are there."),
        (name = "jobs", description = "What is owed to pull requests and features, and what was given up."),
        (name = "review", description = "Reviews asked for by hand.")
    )
)]
pub(crate) struct Description;

/// The description as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Document(Bytes);

impl Document {
    pub(crate) fn new(api: &OpenApi) -> Self {
        Self(serde_json::to_vec(api).unwrap_or_default().into())
    }
}

/// Adds what all routes have in common: how to show who asks, and what is said when something goes wrong.
pub(crate) fn complete(mut router: OpenApiRouter<Shared>) -> OpenApiRouter<Shared> {
    let api = router.get_openapi_mut();
    let components = api.components.get_or_insert_with(Components::new);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("The server's token."));
    components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    let cookie =
        ApiKeyValue::with_description("tollgate_session_7420", "From `POST /api/auth/login`; ends in the port.");
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    for (path, item) in &mut api.paths.paths {
        let reads = [&mut item.get];
        let changes = [&mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in reads.into_iter().flatten() {
            add_problems(operation, path, Does::Read);
        }
        for operation in changes.into_iter().flatten() {
            add_problems(operation, path, Does::Change);
        }
    }
    router
}

#[derive(PartialEq, Eq)]
enum Does {
    Read,
    Change,
}

fn add_problems(operation: &mut Operation, path: &str, does: Does) {
    let is_signed = path == webhook::PATH;
    let (is_open, is_change) = (is_signed || layer::OPEN.contains(&path), does == Does::Change);
    let has_body = operation.request_body.is_some();
    if is_open {
        operation.security = Some(Vec::new());
    }
    let problems = [
        ("400", has_body, "The body is no JSON that is read here: broken, too deep, or with a key twice."),
        ("401", !is_open || is_change, "Nobody said who asks, or not rightly."),
        ("403", is_change && !is_signed, "It comes from a page of another site."),
        ("404", path.contains('{'), "There is no such thing."),
        ("409", is_change && !is_open, "It cannot be done to the thing as it is now."),
        ("413", has_body, "The body is too large."),
        ("415", has_body, "The body is not marked as JSON."),
        ("422", has_body, "The body asks for what cannot be."),
        ("503", true, "It cannot be done now, and may work later."),
        ("default", true, "Something else went wrong."),
    ];
    for (status, _, description) in problems.into_iter().filter(|(_, fits, _)| *fits) {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| said(description));
    }
}

fn said(description: &str) -> RefOr<utoipa::openapi::Response> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(description).content("application/problem+json", content).build().into()
}

/// This description.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    operation_id = "describeApi",
    tag = "server",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value))
)]
pub(crate) async fn openapi_json(Extension(document): Extension<Document>) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], document.0).into_response()
}
