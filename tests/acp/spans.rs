use super::scene::{Scene, patiently};
use crate::kept::Spans;

#[tokio::test]
async fn the_span_of_a_run_says_which_session_of_the_agent_it_is() {
    let Some(scene) = Scene::new() else { return };
    let (spans, _guard) = Spans::installed();
    let agent = scene.register(scene.agent(&["session=the-session"]));
    let settled = patiently(scene.start(&agent, "say one").await.settle()).await;
    let again = patiently(settled.resume("say two")).await.unwrap();
    patiently(again.collect()).await.disposal.unwrap();
    let runs: Vec<_> = (0..).zip(spans.paths()).filter(|(_, path)| path == "invoke_agent").collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    for (at, _) in runs {
        assert_eq!(spans.field(at, "gen_ai.conversation.id").as_deref(), Some("the-session"));
    }
    assert_eq!(spans.open(), 0);
}
