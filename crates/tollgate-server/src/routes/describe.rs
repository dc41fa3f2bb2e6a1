//! The OpenAPI 3.1 description, generated from the routes.

use axum::Extension;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;

use crate::app::Shared;
use crate::policy::{Access, Policy};
use crate::problem;
use crate::view::request::FEATURE_ID;

/// The head of the description.
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
        (name = "events", description = "The event stream."),
        (name = "projects", description = "Projects that an operator added."),
        (name = "features", description = "Features of a project, and actions on them."),
        (name = "iterations", description = "Iterations of a feature: reviews, diffs, output."),
        (name = "reviews", description = "Stored reviews of all origins, and trends over them."),
        (name = "settings", description = "Settings, prompts and agents."),
        (name = "github", description = "The webhook, and the GitHub App of this server."),
        (name = "jobs", description = "Queued jobs of pull requests and features, and dead letters."),
        (name = "review", description = "Reviews on demand.")
    )
)]
pub(crate) struct Description;

/// The description as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct ApiDocument(Bytes);

impl ApiDocument {
    pub(crate) fn new(api: &OpenApi) -> Self {
        Self(serde_json::to_vec(api).unwrap_or_default().into())
    }
}

/// Adds the credentials: the token, and the cookie of a session.
pub(crate) fn with_credentials(mut router: OpenApiRouter<Shared>) -> OpenApiRouter<Shared> {
    let components = router.get_openapi_mut().components.get_or_insert_with(Components::new);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("The server's token."));
    components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    let cookie =
        ApiKeyValue::with_description("tollgate_session_7420", "From `POST /api/auth/login`; ends in the port.");
    components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    router
}

/// Adds the path parameters, and the errors that all routes with a policy have in common.
pub(crate) fn with_errors(mut router: OpenApiRouter<Shared>, policy: Policy) -> OpenApiRouter<Shared> {
    each_operation(&mut router, |path, operation, is_change| {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut parameters: Vec<_> = names.filter_map(path_parameter).map(RefOr::from).collect();
        parameters.extend(operation.parameters.take().unwrap_or_default());
        operation.parameters = Some(parameters).filter(|parameters| !parameters.is_empty());
        add_errors(operation, path, policy.access, is_change);
    });
    router
}

/// Marks all routes of a kind of resource with its tag.
pub(crate) fn tagged(tag: &str, mut router: OpenApiRouter<Shared>) -> OpenApiRouter<Shared> {
    each_operation(&mut router, |_, operation, _| operation.tags = Some(vec![tag.to_owned()]));
    router
}

/// Calls a function with the path of each operation, the operation, and whether it changes anything.
fn each_operation(router: &mut OpenApiRouter<Shared>, mut with: impl FnMut(&str, &mut Operation, bool)) {
    for (path, item) in &mut router.get_openapi_mut().paths.paths {
        let changes = [&mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        let changes = changes.into_iter().map(|operation| (operation, true));
        for (operation, is_change) in [(&mut item.get, false)].into_iter().chain(changes) {
            if let Some(operation) = operation {
                with(path, operation, is_change);
            }
        }
    }
}

/// The description of a path parameter, as `extract` reads it.
fn path_parameter(name: &str) -> Option<Parameter> {
    let text = |pattern: &str| ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    let number = |format, least: i64| {
        let format = SchemaFormat::KnownFormat(format);
        ObjectBuilder::new().schema_type(Type::Integer).format(Some(format)).minimum(Some(least))
    };
    let row = || number(KnownFormat::Int64, 0).maximum(Some(i64::MAX));
    let (description, schema, example) = match name {
        "project" => ("The number of the project.", row(), None),
        "feature" => ("The name of the feature.", text(FEATURE_ID), None),
        "iteration" => ("The number of the iteration.", number(KnownFormat::Int32, 1), None),
        "finding" => ("The number of the finding within its review.", text("^F[0-9]{3,6}$"), Some("F001")),
        "fingerprint" => {
            ("The key of the finding across reviews.", text("^fp-[0-9a-f]{16}$"), Some("fp-4d1b0c2f9a6e7385"))
        }
        "run" => ("The number of the review.", row(), None),
        "job" => {
            let schema = text("^(pull|post|work)-[0-9]{1,18}(-[A-Za-z0-9_-]{1,64})?$").max_length(Some(100));
            ("The name of the job: `pull-12`, `post-5`, `work-3-login`.", schema, None)
        }
        _ => return None,
    };
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
    let parameter = parameter.description(Some(description)).schema(Some(schema));
    Some(parameter.example(example.map(Into::into)).build())
}

fn add_errors(operation: &mut Operation, path: &str, access: Access, is_change: bool) {
    let is_open = matches!(access, Access::Open | Access::SignIn | Access::Signature);
    let has_body = operation.request_body.is_some();
    if is_open {
        operation.security = Some(Vec::new());
    }
    let errors = [
        ("400", has_body, "The body is not valid JSON: broken, too deep, or with a duplicate key."),
        ("401", !is_open || is_change, "Missing or wrong credentials."),
        (
            "403",
            is_change && access != Access::Signature,
            "The request comes from a page of another site, or only a person may do it.",
        ),
        ("404", path.contains('{'), "Not found."),
        ("409", is_change && !is_open, "In conflict with the current state."),
        ("413", has_body, "The body is too large."),
        ("415", has_body, "The body is not marked as JSON."),
        ("422", has_body, "The body is not valid for this operation."),
        ("503", true, "Not available now; retry later."),
        ("default", true, "Any other error."),
    ];
    for (status, _, description) in errors.into_iter().filter(|(_, fits, _)| *fits) {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| problem(description));
    }
}

fn problem(description: &str) -> RefOr<utoipa::openapi::Response> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(description).content("application/problem+json", content).build().into()
}

/// This description.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    operation_id = "describeApi",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value))
)]
pub(crate) async fn openapi_json(Extension(document): Extension<ApiDocument>) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], document.0).into_response()
}
