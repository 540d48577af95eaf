//! A vendor on loopback that plays its answers, one per call, and keeps what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How the vendor answers one call.
pub(crate) struct Answer {
    head: String,
    chunks: Vec<String>,
    end: End,
}

#[derive(Clone, Copy)]
enum End {
    Complete,
    BreakOff,
    Silence,
}

impl Answer {
    /// A stream of server-sent events.
    pub(crate) fn events(chunks: Vec<String>) -> Self {
        Self {
            head: "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".into(),
            chunks,
            end: End::Complete,
        }
    }

    /// Another status, with headers, each with its line end, and a body.
    pub(crate) fn status(status: &str, headers: &str, body: impl Into<String>) -> Self {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}");
        Self { head, chunks: vec![body.into()], end: End::Complete }
    }

    /// The connection breaks off after the chunks.
    pub(crate) fn then_breaks_off(self) -> Self {
        Self { end: End::BreakOff, ..self }
    }

    /// Nothing comes after the chunks, and the connection stays open.
    pub(crate) fn then_goes_silent(self) -> Self {
        Self { end: End::Silence, ..self }
    }

    async fn play(self, stream: &mut TcpStream, ended: &Notify) -> std::io::Result<()> {
        let head = format!("{}connection: close\r\ntransfer-encoding: chunked\r\n\r\n", self.head);
        stream.write_all(head.as_bytes()).await?;
        for chunk in &self.chunks {
            stream.write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes()).await?;
        }
        match self.end {
            End::Complete => stream.write_all(b"0\r\n\r\n").await?,
            End::BreakOff => {}
            End::Silence => {
                // Ends when the client closes its side.
                while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {}
                ended.notify_one();
            }
        }
        stream.shutdown().await
    }
}

/// What the vendor was asked in one call.
#[derive(Clone)]
pub(crate) struct Asked {
    /// The request line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Stops answering when it is dropped.
pub(crate) struct Vendor {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Vendor {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let (asked, ended) = (Arc::default(), Arc::new(Notify::new()));
        let task = tokio::spawn(serve(
            listener,
            answers.into_iter().collect(),
            Arc::clone(&asked),
            Arc::clone(&ended),
        ));
        Self { address, asked, ended, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// When a client has closed a connection that had gone silent.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let ended = Arc::clone(&self.ended);
        async move { ended.notified().await }
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    answers: Vec<Answer>,
    asked: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<Notify>,
) {
    for answer in answers {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read(&mut stream).await.unwrap();
        asked.lock().unwrap().push(request);
        // A client that hangs up early is what some tests are about.
        answer.play(&mut stream, &ended).await.ok();
    }
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Asked> {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await?;
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse().unwrap() {
            return Ok(Asked { body: serde_json::from_str(body).unwrap(), head });
        }
    }
}
