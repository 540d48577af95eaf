use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use subagent::acp::{AcpRun, McpRelay};
use subagent::{Live, Request, Typed};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

use super::delivery::{register, typed};
use super::scene::{Scene, eventually, patiently};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

/// What is refused, how, and the headers and body of it.
type Case<'a> = (&'a str, u16, Vec<(&'a str, &'a str)>, &'a str);

/// A child at work, and where its tools are served.
struct Served {
    run: Live<AcpRun, Typed<Vec<u8>>>,
    port: u16,
    token: String,
}

impl Served {
    async fn start(scene: &Scene, name: &str) -> Self {
        let provider = typed(scene);
        let script = format!("servers {{}}/{name}\nwait-file {{}}/go-on\ndeliver {{\"result\": [1]}}");
        let request = Request::new(scene.fill(&script)).output::<Vec<u8>>();
        let run = patiently(provider.start(request)).await.unwrap();
        let servers: Value = serde_json::from_str(&scene.appears(name).await).unwrap();
        let url = servers[0]["url"].as_str().unwrap();
        let port = url.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        let header = servers[0]["headers"][0]["value"].as_str().unwrap();
        Self { run, port: port.parse().unwrap(), token: header.strip_prefix("Bearer ").unwrap().to_owned() }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// What a request with these headers is answered: the status, and all of it.
async fn asked(port: u16, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut request =
        format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    request += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    for (name, value) in headers {
        write!(request, "{name}: {value}\r\n").unwrap();
    }
    request = request + "\r\n" + body;
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // A refusal may come before all is sent.
        drop(stream.write_all(request.as_bytes()));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    });
    let answer = patiently(answer).await.unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, answer)
}

#[tokio::test]
async fn only_the_child_gets_through_and_nothing_leaks() {
    let Some(scene) = Scene::new() else { return };
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    let (one, other) = (Served::start(&scene, "one").await, Served::start(&scene, "other").await);
    assert_ne!(one.token, other.token);
    assert_ne!(one.port, other.port);
    assert!(one.token.len() >= 32);
    let bearer = |token: &str| format!("Bearer {token}");
    let (own, foreign) = (bearer(&one.token), bearer(&other.token));
    let (half, empty) = (bearer(&one.token[1..]), bearer(""));
    let host = one.host();
    let other_host = other.host();
    let large = format!("{LIST}{}", " ".repeat(5 << 20));
    let cases: [Case<'_>; 10] = [
        ("no token", 401, vec![("Host", &host)], LIST),
        ("another run's token", 401, vec![("Host", &host), ("Authorization", &foreign)], LIST),
        ("half a token", 401, vec![("Host", &host), ("Authorization", &half)], LIST),
        ("an empty token", 401, vec![("Host", &host), ("Authorization", &empty)], LIST),
        ("a token without its scheme", 401, vec![("Host", &host), ("Authorization", &one.token)], LIST),
        ("two tokens", 401, vec![("Host", &host), ("Authorization", &own), ("Authorization", &own)], LIST),
        (
            "a page in a browser",
            403,
            vec![("Host", &host), ("Authorization", &own), ("Origin", "https://evil.example")],
            LIST,
        ),
        ("a name that was rebound", 403, vec![("Host", "evil.example"), ("Authorization", &own)], LIST),
        ("another port's name", 403, vec![("Host", &other_host), ("Authorization", &own)], LIST),
        ("a body that is too large", 413, vec![("Host", &host), ("Authorization", &own)], &large),
    ];
    for (case, status, headers, body) in cases {
        let (answered, answer) = asked(one.port, &headers, body).await;
        assert_eq!(answered, status, "{case}: {answer}");
        assert!(!answer.contains(&one.token) && !answer.contains("deliver_result"), "{case}: {answer}");
    }
    drop(guard);
    let log = log.0.lock().unwrap().join("\n");
    assert_eq!(log.matches("MCP endpoint was refused").count(), 10, "{log}");
    assert!(!log.contains(&one.token) && !log.contains(&other.token), "{log}");
    let (status, answer) = asked(one.port, &[("Host", &host), ("Authorization", &own)], LIST).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("deliver_result"), "{answer}");

    std::fs::write(scene.path("go-on"), "").unwrap();
    for served in [one, other] {
        let (port, result) = (served.port, patiently(served.run.collect()).await);
        assert_eq!(result.into_result().unwrap().structured().unwrap(), [1]);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the endpoint is gone with the run");
    }
}

#[tokio::test]
async fn the_endpoint_is_on_loopback_alone_and_gone_when_its_run_is_dropped() {
    let Some(scene) = Scene::new() else { return };
    let served = Served::start(&scene, "served").await;
    let place = format!(":{:04X}", served.port);
    let listening = |file: &str| -> Vec<String> {
        let table = std::fs::read_to_string(file).unwrap_or_default();
        let rows = table.lines().filter_map(|row| {
            let mut words = row.split_whitespace();
            let (local, state) = (words.nth(1)?, words.nth(1)?);
            (state == "0A" && local.ends_with(&place)).then(|| local.to_owned())
        });
        rows.collect()
    };
    assert_eq!(listening("/proc/net/tcp"), [format!("0100007F{place}")]);
    assert!(listening("/proc/net/tcp6").is_empty());
    let port = served.port;
    drop(served);
    eventually(|| TcpStream::connect(("127.0.0.1", port)).is_err().then_some(())).await;
    scene.gone().await;
}

#[tokio::test]
async fn a_result_that_comes_after_its_turn_is_refused() {
    let Some(scene) = Scene::new() else { return };
    let provider = typed(&scene);
    let script = scene.fill("servers {}/served\ndeliver {\"result\": [1]}");
    let run = patiently(provider.start(Request::new(script).output::<Vec<u8>>())).await.unwrap();
    let servers: Value = serde_json::from_str(&scene.appears("served").await).unwrap();
    let settled = patiently(run.settle()).await;
    let url = servers[0]["url"].as_str().unwrap();
    let host = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
    let port = host.rsplit(':').next().unwrap().parse().unwrap();
    let token = servers[0]["headers"][0]["value"].as_str().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deliver_result","arguments":{"result":[2]}}}"#;
    let (status, answer) = asked(port, &[("Host", host), ("Authorization", token)], call).await;
    assert_eq!(status, 200);
    assert!(answer.contains("the turn is over"), "{answer}");
    assert_eq!(settled.structured().unwrap(), [1]);
    patiently(settled.dispose()).await.unwrap();
}

#[tokio::test]
async fn the_token_is_not_in_what_is_shown() {
    let Some(scene) = Scene::new() else { return };
    let provider = typed(&scene);
    let script = scene.fill("servers {}/served\ntell-token\nexit 3");
    let run = patiently(provider.start(Request::new(script).output::<Vec<u8>>())).await.unwrap();
    let servers: Value = serde_json::from_str(&scene.appears("served").await).unwrap();
    let header = servers[0]["headers"][0]["value"].as_str().unwrap().to_owned();
    let token = header.strip_prefix("Bearer ").unwrap();
    assert!(!format!("{run:?}").contains(token));
    let result = patiently(run.collect()).await.into_result().unwrap();
    let shown = format!("{result:?}");
    assert!(shown.contains("[hidden]") && !shown.contains(token), "{shown}");
}

#[tokio::test]
async fn the_relays_endpoint_asks_for_the_token_too() {
    let Some(scene) = Scene::new() else { return };
    let relay = McpRelay::new(env!("CARGO_BIN_EXE_subagent-mcp-relay"));
    let provider = register(&scene, scene.agent(&[]).relay(relay).structured());
    let script = scene.fill("servers {}/served\nwait-file {}/go-on\ndeliver {\"result\": [1]}");
    let run = patiently(provider.start(Request::new(script).output::<Vec<u8>>())).await.unwrap();
    let servers: Value = serde_json::from_str(&scene.appears("served").await).unwrap();
    let address = servers[0]["env"][0]["value"].as_str().unwrap().to_owned();
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        drop(stream.write_all(format!("not-the-token\n{LIST}\n").as_bytes()));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        answer
    });
    assert_eq!(patiently(answer).await.unwrap(), b"");
    std::fs::write(scene.path("go-on"), "").unwrap();
    assert_eq!(patiently(run.collect()).await.into_result().unwrap().structured().unwrap(), [1]);
}

/// All that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Our own words: what the HTTP crates trace is theirs.
        metadata.target().starts_with("subagent")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut told = String::new();
        event.record(&mut |_: &Field, value: &dyn std::fmt::Debug| write!(told, "{value:?} ").unwrap());
        self.0.lock().unwrap().push(told);
    }
}
