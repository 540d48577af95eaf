use super::*;
use futures::channel::mpsc;
use tokio::io::AsyncReadExt as _;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#;

async fn received(output: &[u8], longest_line: usize) -> (usize, OutputEnd, Noise) {
    let traffic = Traffic::new();
    let (tx, mut rx) = mpsc::unbounded();
    let taking = async {
        let mut count = 0;
        while rx.next().await.is_some() {
            traffic.taken.notify_one();
            count += 1;
        }
        count
    };
    let (end, count) =
        tokio::join!(traffic.receive(output, longest_line, std::future::pending(), tx), taking);
    (count, end, traffic.noise())
}

#[tokio::test]
async fn lines_may_end_in_any_way_and_the_last_need_not_end() {
    let output = format!("{NOTE}\r\n\n{NOTE}\n\r\n{NOTE}");
    let (count, end, noise) = received(output.as_bytes(), 1000).await;
    assert_eq!((count, noise.count), (3, 0));
    assert!(matches!(end, OutputEnd::Closed));
}

#[tokio::test]
async fn noise_is_skipped_and_kept() {
    let mut output = format!("Starting…\n{NOTE}\n[{NOTE}]\n").into_bytes();
    output.extend(b"\xff\xfe not text\n");
    output.extend(NOTE.as_bytes());
    let (count, _, noise) = received(&output, 1000).await;
    assert_eq!((count, noise.count), (2, 3));
    assert!(noise.lines().any(|line| line == "\u{fffd}\u{fffd} not text"));
}

#[tokio::test]
async fn bytes_that_are_not_text_inside_a_message_do_not_lose_it() {
    let output = b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"text\":\"\xff\"}}\n";
    assert_eq!(received(output, 1000).await.0, 1);
}

#[tokio::test]
async fn a_response_to_nothing_and_a_second_response_are_noise() {
    let traffic = Traffic::new();
    let id = RawJsonRpcId::Str("asked".into());
    lock(&traffic.outstanding).insert(id);
    let answer = br#"{"jsonrpc":"2.0","id":"asked","result":1}"#;
    assert!(traffic.accept(answer).is_some());
    assert!(traffic.accept(answer).is_none());
    assert!(traffic.accept(br#"{"jsonrpc":"2.0","id":"stray","result":1}"#).is_none());
    assert_eq!(traffic.noise().count, 2);
}

/// Bytes without end, and how many were taken.
struct Endless(Arc<std::sync::atomic::AtomicUsize>);

impl AsyncRead for Endless {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let line = format!("{NOTE}\n");
        let count = buffer.remaining().min(line.len());
        buffer.put_slice(&line.as_bytes()[..count]);
        self.0.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
        std::task::Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_line_over_the_limit_ends_the_output_before_its_end_is_seen() {
    let (mut child, ours) = tokio::io::duplex(1024);
    let writing = async move {
        // Never a newline, and never an end.
        while child.write_all(&[b'x'; 1024]).await.is_ok() {}
    };
    let traffic = Traffic::new();
    let (tx, _rx) = mpsc::unbounded();
    let reading = async {
        let end = traffic.receive(ours, 100_000, std::future::pending(), tx).await;
        assert!(matches!(end, OutputEnd::LineTooLong(100_000)));
    };
    tokio::join!(writing, reading);
}

#[tokio::test(start_paused = true)]
async fn a_flood_that_nobody_takes_is_not_read() {
    let taken = Arc::default();
    let traffic = Traffic::new();
    let (tx, mut rx) = mpsc::unbounded();
    let flood = traffic.receive(Endless(Arc::clone(&taken)), 1000, std::future::pending(), tx);
    let mut flood = std::pin::pin!(flood);
    assert!(tokio::time::timeout(Duration::from_mins(1), &mut flood).await.is_err());
    let before = taken.load(std::sync::atomic::Ordering::Relaxed);
    assert!(before < 256 * 1024, "{before} bytes were read ahead");
    for _ in 0..QUEUED {
        rx.next().await.unwrap();
    }
    traffic.taken.notify_one();
    assert!(tokio::time::timeout(Duration::from_mins(1), &mut flood).await.is_err());
    assert!(rx.next().await.is_some());
}

/// Noise that is always there, and how much of it is left.
struct Babble(usize);

impl AsyncRead for Babble {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let count = buffer.remaining().min(self.0) & !1;
        buffer.put_slice(&b"y\n".repeat(count / 2));
        self.0 -= count;
        std::task::Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn noise_without_pause_holds_up_nothing_else() {
    let traffic = Traffic::new();
    let (tx, _rx) = mpsc::unbounded();
    let babble = traffic.receive(Babble(1 << 20), 1000, std::future::pending(), tx);
    let elsewhere = async {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        _ = babble => panic!("all of it was read at one go"),
        () = elsewhere => {}
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_program_wrote_before_it_went_is_read_though_its_pipe_stays_open() {
    let (mut child, ours) = tokio::io::duplex(64 * 1024);
    child.write_all(format!("{NOTE}\n{NOTE}\n{NOTE}").as_bytes()).await.unwrap();
    let traffic = Traffic::new();
    let (tx, rx) = mpsc::unbounded();
    let end = traffic.receive(ours, 1000, std::future::ready(()), tx).await;
    assert!(matches!(end, OutputEnd::ProgramGone));
    assert_eq!(rx.count().await, 3);
}

#[tokio::test]
async fn the_end_of_the_queue_closes_stdin_after_everything_is_written() {
    let traffic = Traffic::new();
    let (tx, rx) = mpsc::unbounded();
    let message = RawJsonRpcMessage::notification("m".into(), serde_json::json!({})).unwrap();
    tx.unbounded_send(TransportFrame::Single(message)).unwrap();
    drop(tx);
    let (ours, mut child) = tokio::io::duplex(1024);
    traffic.send(ours, rx, &CancellationToken::new()).await;
    let mut written = String::new();
    child.read_to_string(&mut written).await.unwrap();
    assert!(written.starts_with("{\"jsonrpc\":\"2.0\"") && written.ends_with("}\n"), "{written}");
}
