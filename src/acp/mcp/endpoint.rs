use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::gate::{Gate, PATH};
use super::offered::Offered;
use super::token::Token;
use super::tunnel;
use crate::sync::lock;

/// How many connections there may be at once.
const MOST_CONNECTIONS: usize = 64;
/// How long a connection may take to show that it is the child's.
const UNKNOWN: Duration = Duration::from_secs(10);
/// How long to wait when the system gives no connection.
const NO_CONNECTION: Duration = Duration::from_millis(100);

/// A server for one child. Dropped, it is closed.
pub(super) struct Endpoint {
    address: McpAddress,
    offered: Arc<Offered>,
    closed: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// Where a child finds its server.
pub(super) enum McpAddress {
    /// The URL.
    Http(String),
    /// Where our relay connects to.
    Tunnel(SocketAddr),
}

impl Endpoint {
    /// Opens a port on loopback, which nobody else can reach from outside of this machine.
    pub(super) async fn open(offered: Arc<Offered>, token: Token, http: bool) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let closed = CancellationToken::new();
        let door = if http {
            Door::Http(Gate::new(Arc::clone(&offered), token, address, &closed))
        } else {
            Door::Tunnel(token, Arc::clone(&offered))
        };
        let task = tokio::spawn(serve(listener, Arc::new(door), closed.clone()));
        let address = if http {
            McpAddress::Http(format!("http://{address}{PATH}"))
        } else {
            McpAddress::Tunnel(address)
        };
        Ok(Self { address, offered, closed, task: Mutex::new(Some(task)) })
    }

    pub(super) fn address(&self) -> &McpAddress {
        &self.address
    }

    /// Closes the port and every connection, and waits for the calls that are under way.
    pub(super) async fn close(&self) {
        self.closed.cancel();
        let task = lock(&self.task).take();
        if let Some(task) = task
            && task.await.is_err_and(|error| error.is_panic())
        {
            tracing::warn!("the MCP endpoint of an ACP child panicked");
        }
        self.offered.close().await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.closed.cancel();
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

/// How connections are spoken with.
enum Door {
    Http(Gate),
    Tunnel(Token, Arc<Offered>),
}

async fn serve(listener: TcpListener, door: Arc<Door>, closed: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = closed.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(Arc::clone(&door).speak(stream, closed.clone()));
                }
                Err(error) => {
                    tracing::debug!(%error, "an ACP child's MCP endpoint got no connection");
                    tokio::time::sleep(NO_CONNECTION).await;
                }
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}

impl Door {
    async fn speak(self: Arc<Self>, stream: TcpStream, closed: CancellationToken) {
        let is_known = AtomicBool::new(false);
        let spoken = async {
            match &*self {
                Self::Http(gate) => {
                    let service = service_fn(|request| gate.answer(request, &is_known));
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection of an ACP child's MCP endpoint broke");
                    }
                }
                Self::Tunnel(token, offered) => {
                    tunnel::speak(stream, token, Arc::clone(offered), &is_known, closed).await;
                }
            }
        };
        let unknown = async {
            tokio::time::sleep(UNKNOWN).await;
            if is_known.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = spoken => {}
            () = unknown => tracing::warn!("a connection to an ACP child's MCP endpoint did not show whose it is"),
        }
    }
}
