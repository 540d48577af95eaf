//! A real, small language model on this machine, from Python packages alone.

use std::io::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use subagent::agent::{Agent, GenaiModel, Limits, TurnOptions, UsageLedger};
use subagent::testing::model_conformance::{ModelCase, ModelFixture, StagedModel, check};
use subagent::{Fork, Parent, Request, Spawn, StopReason, Subagents};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// A machine that is busy with other builds takes its time.
const READY_WITHIN: Duration = Duration::from_mins(2);
const TOKENS: NonZeroU32 = NonZeroU32::new(48).unwrap();

/// The model's server; it ends when this is dropped.
struct RealModel {
    url: String,
    _server: Child,
}

impl RealModel {
    /// `Err` says what is missing.
    async fn start() -> Result<Self, String> {
        let installed = std::env::var_os("SUBAGENT_REAL_MODEL_DIR").map_or_else(
            || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/subagent-real-model"),
            PathBuf::from,
        );
        if !installed.join("ok").exists() {
            return Err("its packages are not installed: tests/real-model/start install".into());
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real-model/start"))
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("its starter cannot run: {error}"))?;
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let ready = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(url) = line.strip_prefix("ready ") {
                    return Ok(url.to_owned());
                }
            }
            Err("its server ended before it was ready".to_owned())
        };
        let url = tokio::time::timeout(READY_WITHIN, ready)
            .await
            .map_err(|_| format!("its server was not ready within {} s", READY_WITHIN.as_secs()))??;
        Ok(Self { url, _server: server })
    }

    fn model(&self) -> GenaiModel {
        GenaiModel::builder("smollm2")
            .base_url(&*self.url)
            .response_format(true)
            .temperature(0.0)
            .build()
            .unwrap()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Amount {
    #[schemars(range(max = 99))]
    count: u8,
    #[schemars(length(max = 12))]
    unit: String,
}

#[tokio::test]
async fn children_on_a_real_model_complete_their_turns_and_give_typed_values() {
    let real = match RealModel::start().await {
        Ok(real) => real,
        Err(why) if std::env::var_os("SUBAGENT_REQUIRE_ALL").is_none() => {
            // Past the capture of a test's output, so that it is seen.
            writeln!(std::io::stderr(), "SKIPPED the real model: {why}").unwrap();
            return;
        }
        Err(why) => panic!("the real model is required: {why}"),
    };
    spawned_child(&real).await;
    forked_child(&real).await;
    typed_value(&real).await;
    let report = check(&real).await;
    assert!(report.is_conformant(), "{report}");
}

async fn spawned_child(real: &RealModel) {
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(real.model())).unwrap();
    let request = Request::new("Say hello.").persona("You answer in one short sentence.");
    let run = spawn.start(request.max_output_tokens(TOKENS)).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Completed, "{result:?}");
    assert!(!result.text().is_empty());
    let usage = result.usage().total();
    assert!(usage[0].input_tokens > Some(0) && usage[0].output_tokens > Some(0), "{usage:?}");
}

async fn forked_child(real: &RealModel) {
    let mut limits = Limits::default();
    limits.output_tokens = Some(TOKENS);
    let mut agent = Agent::builder(Arc::new(real.model()))
        .system_prompt("You answer in one short sentence.")
        .limits(limits)
        .build();
    let outcome = agent.run_turn(vec!["Say hello.".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed, "{:?}", outcome.diagnostic);
    let parent = Parent::from(&agent.as_caller(CancellationToken::new(), UsageLedger::new()));

    let subagents = Subagents::new();
    let fork = subagents.register("fork", Fork::new()).unwrap();
    let run =
        fork.start(Request::new("Say goodbye.").parent(&parent).max_output_tokens(TOKENS)).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Completed, "{result:?}");
    assert!(!result.text().is_empty());
}

async fn typed_value(real: &RealModel) {
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(real.model())).unwrap();
    let request = Request::new("How long is a day? Give `count` and `unit`.");
    let run = spawn.start(request.output::<Amount>().max_output_tokens(TOKENS)).await.unwrap();
    let settled = run.settle().await;
    let Amount { count, unit } = settled.structured().unwrap();
    assert!(!format!("{count} {unit}").is_empty());
    settled.dispose().await.unwrap();
}

impl ModelFixture for RealModel {
    fn stage(&self, case: ModelCase) -> Option<StagedModel> {
        let shows =
            [ModelCase::Answers, ModelCase::ReachesCap, ModelCase::KeepsFormat, ModelCase::GoesSilent];
        shows.contains(&case).then(|| StagedModel::new(self.model()))
    }

    fn deadline(&self) -> Duration {
        Duration::from_mins(1)
    }
}
