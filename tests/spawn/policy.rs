//! A host's own rules: in front of the model, in the type of the result, and in the tools.

use std::sync::Arc;

use subagent::agent::{Model, ModelError, ModelRequest, ModelStream};
use subagent::testing::ScriptedModel;
use subagent::{ContentKinds, Request, Spawn, StopReason, ToolFilter};

use super::support::{conversation, parent, recorded, registered, says, shown, tools};

/// Looks at every request before the model does.
struct Guarded {
    inner: Arc<dyn Model>,
    forbidden: &'static str,
}

impl Model for Guarded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let asked = conversation(&request);
        if asked.iter().any(|message| message.contains(self.forbidden)) {
            return ModelStream::failed(ModelError::refused("the host does not allow this"));
        }
        self.inner.stream(request)
    }

    fn content_kinds(&self) -> ContentKinds {
        self.inner.content_kinds()
    }

    fn has_response_format(&self) -> bool {
        self.inner.has_response_format()
    }
}

#[tokio::test]
async fn a_host_vetoes_a_prompt_before_the_first_step() {
    let model = ScriptedModel::new().reply(says("done"));
    let guarded = Guarded { inner: Arc::new(model.clone()), forbidden: "rm -rf" };
    let (subagents, spawn) = registered(Spawn::new(guarded));
    let (events, _subscription) = recorded(&subagents);
    let result = spawn.start(Request::new("rm -rf /")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.output().len()), (&StopReason::Refusal, 0));
    assert!(result.diagnostic().unwrap().contains("the host does not allow this"));
    assert!(model.requests().is_empty());
    assert_eq!(events.lock().unwrap().len(), 2);

    let result = spawn.start(Request::new("ls")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.text(), "done");
}

#[tokio::test]
async fn a_childs_restrictions_are_its_own() {
    let model = ScriptedModel::new().then_always(says("done"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let top = parent().with_tools(tools(&["read", "write"]));
    let request = Request::new("go").parent(&top);
    let narrowed = request.clone().tool_filter(ToolFilter::deny(["write"])).max_depth(1);
    spawn.start(narrowed).await.unwrap().collect().await.into_result().unwrap();
    // Neither its parent nor its sibling have them.
    assert_eq!((top.tool_filter(), top.max_depth()), (None, None));
    let sibling = spawn.start(request).await.unwrap();
    assert_eq!(sibling.run().session().header().tool_filter, None);
    sibling.collect().await.into_result().unwrap();
    assert_eq!(shown(&model.requests()[0]), ["read"]);
    assert_eq!(shown(&model.requests()[1]), ["read", "write"]);
}
