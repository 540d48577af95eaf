use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::offered::Offered;
use super::server::Server;
use super::token::Token;

/// The one path that is served.
pub(super) const PATH: &str = "/mcp";
/// The largest body of a request, in bytes.
const LARGEST_BODY: usize = 4 << 20;

/// Lets the child's requests through, and no others.
pub(super) struct Gate {
    token: Token,
    service: StreamableHttpService<Server, NeverSessionManager>,
}

impl Gate {
    pub(super) fn new(
        offered: Arc<Offered>,
        token: Token,
        address: SocketAddr,
        closed: &CancellationToken,
    ) -> Self {
        let port = address.port();
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_allowed_hosts([format!("127.0.0.1:{port}"), format!("localhost:{port}")])
            // No page in a browser has any business here.
            .with_allowed_origins(std::iter::empty::<String>())
            .enforce_origin_validation()
            .with_max_request_body_bytes(LARGEST_BODY)
            .with_cancellation_token(closed.clone());
        let service = StreamableHttpService::new(
            move || Ok(Server(Arc::clone(&offered))),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Self { token, service }
    }

    /// Answers one request; `is_known` is set by the first that is let through.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        is_known: &AtomicBool,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
        let response = if !self.is_authorized(&request) {
            let mut response = plain(StatusCode::UNAUTHORIZED, "a valid bearer token is needed");
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        } else if request.uri().path() != PATH {
            plain(StatusCode::NOT_FOUND, "there is nothing here")
        } else {
            is_known.store(true, Ordering::Relaxed);
            self.service.handle(request).await
        };
        let status = response.status();
        // An agent may ask for a stream of news, which there is none of.
        if status.is_client_error() && status != StatusCode::METHOD_NOT_ALLOWED {
            tracing::warn!(status = status.as_u16(), "a request to an ACP child's MCP endpoint was refused");
        }
        Ok(response)
    }

    fn is_authorized(&self, request: &Request<Incoming>) -> bool {
        let mut given = request.headers().get_all(AUTHORIZATION).iter();
        let (Some(only), None) = (given.next(), given.next()) else { return false };
        match only.as_bytes().split_at_checked(b"Bearer ".len()) {
            Some((scheme, token)) => scheme.eq_ignore_ascii_case(b"Bearer ") && self.token.is(token),
            None => false,
        }
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
