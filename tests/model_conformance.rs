//! The scripted model keeps the model contract, and the checks see where a model breaks it.

use futures::stream;
use serde_json::json;
use subagent::agent::{FinishReason, Model, ModelError, ModelEvent, ModelRequest, ModelStream};
use subagent::testing::model_conformance::{ModelCase, ModelFixture, ModelVerdict, StagedModel, check};
use subagent::testing::{ScriptedModel, ScriptedReply};

struct Scripted;

impl ModelFixture for Scripted {
    fn stage(&self, case: ModelCase) -> Option<StagedModel> {
        let reply = ScriptedReply::new();
        let reply = match case {
            ModelCase::Answers => reply.text("Good ").text("day").usage(3, 2),
            ModelCase::Thinks => reply.thought("Hm.").text("Hello"),
            ModelCase::CallsTools => reply.tool_call("1", "look_up", json!({"city": "Oslo"})).tool_call(
                "2",
                "look_up",
                json!({"city": "Rome"}),
            ),
            ModelCase::MalformedArguments => reply.event(ModelEvent::ToolCall {
                id: "1".into(),
                name: "look_up".into(),
                arguments: r#"{"city": "#.into(),
            }),
            ModelCase::ReachesCap => reply.text("Once").finish(FinishReason::MaxTokens),
            ModelCase::Declines => reply.error(ModelError::refused("no")),
            ModelCase::KeepsFormat => reply.text(r#"{"count": 24, "unit": "h"}"#),
            ModelCase::GoesSilent => reply.text("Hello").hang(),
            ModelCase::BadRequest => reply.error(ModelError::bad_request("no")),
            ModelCase::BadKey => reply.error(ModelError::Authentication { source: None }),
            ModelCase::RateLimited => reply.error(ModelError::rate_limited(Some(ModelCase::RETRY_AFTER))),
            ModelCase::ServerFails => reply.error(ModelError::Server { status: Some(500), source: None }),
            ModelCase::BreaksOff => reply.text("Good ").cut(),
            ModelCase::Garbage => reply.error(ModelError::CutStream { source: None }),
            ModelCase::Unreachable => reply.error(ModelError::Network { source: None }),
            _ => return None,
        };
        Some(StagedModel::new(ScriptedModel::new().with_response_format().reply(reply)))
    }
}

#[tokio::test(start_paused = true)]
async fn the_scripted_model_keeps_the_model_contract() {
    let report = check(&Scripted).await;
    assert!(report.is_conformant() && report.skipped().is_empty(), "{report}");
}

/// Plays the same events whatever it is asked, and says a secret in its errors.
struct Broken(Vec<Result<ModelEvent, ModelError>>);

impl Model for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn stream(&self, _: ModelRequest) -> ModelStream {
        ModelStream::new(stream::iter(self.0.clone()))
    }
}

struct Always(Vec<Result<ModelEvent, ModelError>>);

impl ModelFixture for Always {
    fn stage(&self, _: ModelCase) -> Option<StagedModel> {
        Some(StagedModel::new(Broken(self.0.clone())).secret("secret"))
    }
}

async fn broken(events: Vec<Result<ModelEvent, ModelError>>) -> Vec<ModelCase> {
    let report = check(&Always(events)).await;
    assert!(!report.is_conformant());
    let broken = |(case, verdict): (ModelCase, &ModelVerdict)| {
        matches!(verdict, ModelVerdict::Broken { .. }).then_some(case)
    };
    report.cases().filter_map(broken).collect()
}

#[tokio::test(start_paused = true)]
async fn every_case_can_be_broken() {
    assert_eq!(broken(vec![Ok(ModelEvent::Finish(FinishReason::Other("?".into())))]).await, ModelCase::ALL);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_end_breaks_the_contract() {
    let events = vec![
        Ok(ModelEvent::text("Hello")),
        Ok(ModelEvent::Usage(subagent::ModelUsage::new("broken", 1, 1))),
        Ok(ModelEvent::Finish(FinishReason::Stop)),
    ];
    assert!(!broken(events.clone()).await.contains(&ModelCase::Answers));
    let more = [events, vec![Ok(ModelEvent::text("!"))]].concat();
    assert!(broken(more).await.contains(&ModelCase::Answers));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_shows_the_key_breaks_the_contract() {
    let fails = |message: &str| vec![Err(ModelError::bad_request(message))];
    assert!(!broken(fails("too long")).await.contains(&ModelCase::BadRequest));
    assert!(broken(fails("not with secret")).await.contains(&ModelCase::BadRequest));
}
