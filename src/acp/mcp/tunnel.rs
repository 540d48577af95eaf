//! The server's end of the relay: a line with the token, then the protocol, one message a line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use rmcp::transport::async_rw::JsonRpcMessageCodec;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::offered::Offered;
use super::server::Server;
use super::token::Token;

/// The longest line with a token, in bytes.
const LONGEST_TOKEN: u64 = 256;
/// The longest line after it, in bytes.
const LONGEST_LINE: usize = 4 << 20;

pub(super) async fn speak(
    stream: TcpStream,
    token: &Token,
    offered: Arc<Offered>,
    is_known: &AtomicBool,
    closed: CancellationToken,
) {
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let read = (&mut reader).take(LONGEST_TOKEN).read_until(b'\n', &mut line).await;
    if read.is_err() || !token.is(line.trim_ascii_end()) {
        tracing::warn!("a connection to an ACP child's MCP endpoint was refused: its token is not valid");
        return;
    }
    is_known.store(true, Ordering::Relaxed);
    let messages = FramedRead::new(reader, JsonRpcMessageCodec::new_with_max_length(LONGEST_LINE))
        .take_while(|message| std::future::ready(message.is_ok()))
        .filter_map(|message| std::future::ready(message.ok()));
    let answers = FramedWrite::new(writer, JsonRpcMessageCodec::default());
    match rmcp::service::serve_server_with_ct(Server(offered), (answers, Box::pin(messages)), closed).await {
        Ok(service) => drop(service.waiting().await),
        Err(error) => tracing::debug!(%error, "an ACP child's MCP client did not shake hands"),
    }
}
