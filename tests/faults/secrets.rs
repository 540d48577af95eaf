//! What a caller puts into a prompt, and what lies behind a model's error, stays there: it is in no log at the levels
//! that programs log by default, in no error's own text, in no diagnostic and in no event.

use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use subagent::agent::{ModelError, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Request, Spawn, StartError, Subagents, provider_fn};

use crate::support::Printing;

const MARKER: &str = "hunter2-do-not-tell";
const VARIABLE: &str = "SUBAGENT_TEST_API_KEY";

/// All that anyone but the caller gets to see.
struct Seen(Vec<String>);

impl Seen {
    fn holds_no_secret(&self) {
        for text in &self.0 {
            assert!(!text.contains(MARKER), "{}", text.replace(MARKER, "<the secret>"));
        }
    }
}

fn secret_error() -> Arc<dyn std::error::Error + Send + Sync> {
    Arc::new(std::io::Error::other(format!("Authorization: Bearer {MARKER}")))
}

async fn everything_that_goes_wrong() -> Seen {
    let mut seen = Vec::new();
    let events = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let subagents = Subagents::new();
    let _subscription = subagents.subscribe(move |event| {
        sink.lock().unwrap().push(serde_json::to_string(event).unwrap() + &format!("{event:?}"));
    });
    let source = Some(secret_error());
    let failures = [
        ScriptedReply::new().error(ModelError::Network { source: source.clone() }),
        ScriptedReply::new().error(ModelError::Authentication { source: source.clone() }),
        ScriptedReply::new().error(ModelError::Server { status: Some(500), source: source.clone() }),
        ScriptedReply::new().error(ModelError::CutStream { source: source.clone() }),
        ScriptedReply::new().error(ModelError::RateLimited { retry_after: None, source: source.clone() }),
        ScriptedReply::new().error(ModelError::Other { message: "it broke".into(), source }),
        ScriptedReply::new().panic(),
        ScriptedReply::new().tool_call("", "leak", json!({"key": MARKER})),
        ScriptedReply::new().text("done"),
        ScriptedReply::new().hang(),
    ];
    for reply in failures {
        let leak = tool_fn("leak", "Leaks.", json!({}), |arguments, _| async move {
            assert!(arguments.is_null(), "{arguments}");
            "never"
        });
        let model = ScriptedModel::new().reply(reply).then_always(ScriptedReply::new().text("done"));
        let spawn = Spawn::builder().default_model(model).tools(ToolSet::new().with(leak).unwrap()).build();
        let spawn = subagents.register("spawn", spawn).unwrap();
        let request = Request::new(format!("the password is {MARKER}")).persona(format!("you know {MARKER}"));
        let run = spawn.start(request.idempotency_key(MARKER)).await.unwrap();
        seen.push(format!("{run:?} {:?} {spawn:?} {subagents:?}", run.run()));
        run.send_message(format!("also {MARKER}")).await.ok();
        if run
            .settle_within(std::time::Duration::from_secs(1))
            .await
            .map(|settled| {
                let result = settled.result().unwrap();
                seen.push(format!("{:?} {}", result.diagnostic(), result.text()));
                seen.push(format!("{:?}", settled.info()));
            })
            .is_err()
        {
            seen.push("it was left".into());
        }
    }
    let failing = provider_fn(|_| async { Ok::<_, String>("never") });
    let failing = subagents.register("failing", failing).unwrap();
    let refused = Request::new("").idempotency_key(MARKER);
    seen.extend(failing.start(refused).await.map(drop).err().map(|error| error.to_string()));
    let error = StartError::failed(std::io::Error::other(MARKER));
    seen.push(error.to_string());
    let json = json!({"prompt": MARKER, "capabilities": {"persona": MARKER}});
    let request: Request<subagent::Unchecked> = serde_json::from_value(json).unwrap();
    seen.extend(
        subagents
            .start("failing", request.clone())
            .await
            .map(drop)
            .err()
            .map(|error| format!("{error} {error:?}")),
    );
    seen.extend(
        request.try_into_typed::<()>().map(drop).map_err(|refused| format!("{refused} {refused:?}")).err(),
    );
    subagents.shutdown().await;
    seen.append(&mut events.lock().unwrap());
    assert!(seen.len() > 30, "it is all looked at");
    Seen(seen)
}

#[test]
fn a_prompt_a_models_error_and_a_tools_panic_are_told_to_nobody() {
    let printing = Printing::default();
    let lines = Arc::clone(&printing.lines);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let seen = tracing::subscriber::with_default(printing, || runtime.block_on(everything_that_goes_wrong()));
    seen.holds_no_secret();
    let logged = std::mem::take(&mut *lines.lock().unwrap());
    assert!(logged.iter().any(|line| line.contains("panicked")), "something was logged: {logged:?}");
    Seen(logged).holds_no_secret();
    // In the program that is started below, this prints all that was seen.
    if std::env::var_os(VARIABLE).is_some() {
        for text in seen.0 {
            println!("{text}");
        }
    }
}

#[test]
fn the_environment_is_told_to_nobody() {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own)
        .args([
            "--exact",
            "secrets::a_prompt_a_models_error_and_a_tools_panic_are_told_to_nobody",
            "--nocapture",
        ])
        .env(VARIABLE, format!("environment-{MARKER}"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(!said.contains("environment-"), "{said}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("environment-"));
}
