//! The access and time policy of a route, declared where the route is added to the router.

/// The credentials that a route asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The token, or the cookie of a session.
    Token,
    /// None.
    Open,
    /// None: the token is in the body, as JSON or as a form.
    SignIn,
    /// The token, a cookie, or a ticket for a WebSocket.
    Events,
    /// A signature of the body, which the handler checks.
    Signature,
}

/// The time limit of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// That of an ordinary response.
    Answer,
    Review,
}

/// The form of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    /// A problem document.
    Problem,
    /// A problem document with `"success": false`.
    WithSuccess,
}

/// The policy of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) access: Access,
    pub(crate) limit: TimeLimit,
    pub(crate) errors: ErrorForm,
}

impl Policy {
    /// The policy of most routes.
    pub(crate) const TOKEN: Self = Self { access: Access::Token, limit: TimeLimit::Answer, errors: ErrorForm::Problem };
    /// For health checks, assets and the return from GitHub.
    pub(crate) const OPEN: Self = Self { access: Access::Open, ..Self::TOKEN };
    pub(crate) const SIGN_IN: Self = Self { access: Access::SignIn, ..Self::TOKEN };
    /// For the event stream.
    pub(crate) const EVENTS: Self = Self { access: Access::Events, ..Self::TOKEN };
    /// For the webhook.
    pub(crate) const SIGNATURE: Self = Self { access: Access::Signature, ..Self::TOKEN };
    /// For routes that wait for a model or an agent.
    pub(crate) const SLOW: Self = Self { limit: TimeLimit::Review, ..Self::TOKEN };
    /// For the route that waits for a review, whose clients look for `success`.
    pub(crate) const REVIEW: Self = Self { errors: ErrorForm::WithSuccess, ..Self::SLOW };
}
