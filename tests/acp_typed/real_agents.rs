use serde_json::json;
use subagent::{Request, StopReason};

use super::agents::with_each;
use super::answers::{Place, Report, script};
use super::scene::patiently;

/// The tool as agents name it.
const DELIVER: &str = "deliver_result$";

#[tokio::test]
async fn a_struct_arrives() {
    with_each(async |agent| {
        let provider =
            agent.subagents.register("typed", agent.builder().structured().build().unwrap()).unwrap();
        let value = json!({"files": 2, "places": [{"path": "src/lib.rs", "line": 7}, {"path": "README.md"}]});
        let prompt = script(&json!([{"tool": DELIVER, "args": value}, {"text": "All done."}]));
        let run = patiently(provider.start(Request::new(prompt).output::<Report>())).await.unwrap();
        let said = patiently(run.collect()).await.into_result().unwrap();
        assert_eq!(said.stop_reason(), &StopReason::Completed, "{}: {said:?}", agent.name);
        let places = vec![
            Place { path: "src/lib.rs".to_owned(), line: Some(7) },
            Place { path: "README.md".to_owned(), line: None },
        ];
        assert_eq!(said.structured().unwrap(), Report { files: 2, places });
        assert_eq!(said.text(), "All done.", "{}", agent.name);
    })
    .await;
}
