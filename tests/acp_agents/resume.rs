use subagent::Update;

use super::agents::{assert_completed, seen, with_each};
use super::scene::patiently;

#[tokio::test]
async fn a_follow_up_goes_on_in_the_same_process() {
    with_each(async |agent| {
        let provider = agent.register(agent.builder());
        let first = agent.start(&provider, "Hello. [[reply:ANSWER-ONE]]").await.settle().await;
        assert_completed(agent, first.result().unwrap(), "ANSWER-ONE");
        let second = patiently(first.resume("And now? [[reply:ANSWER-TWO]]")).await.unwrap();
        let said = patiently(second.collect()).await.into_result().unwrap();
        assert_completed(agent, &said, "ANSWER-TWO");
        assert!(!said.text().contains("ANSWER-ONE"));
        assert_eq!(agent.started(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_follow_up_goes_on_in_a_fresh_process_where_the_first_was_killed() {
    with_each(async |agent| {
        let provider = agent.register(agent.builder());
        let first = agent.start(&provider, "Hello. [[reply:ANSWER-ONE]]").await.settle().await;
        assert_completed(agent, first.result().unwrap(), "ANSWER-ONE");
        let session = first.run().session_id();
        let second = patiently(first.resume("On. [[slow:60]]")).await.unwrap();
        seen(&mut second.updates(), |update| matches!(update, Update::Text { .. })).await;
        agent.kill_leader();
        let third = patiently(second.settle().await.resume("And now? [[reply:ANSWER-THREE]]")).await.unwrap();
        let third = patiently(third.settle()).await;
        let said = third.result().unwrap();
        assert_completed(agent, said, "ANSWER-THREE");
        assert!(!said.text().contains("ANSWER-ONE"), "the past is no output: {}", said.text());
        assert_eq!((third.run().session_id(), agent.started()), (session, 2));
        let requests = std::fs::read_to_string(agent.path("requests")).unwrap();
        let last = requests.lines().rfind(|request| request.contains("ANSWER-THREE")).unwrap();
        assert!(last.contains("ANSWER-ONE"), "{}: the model is shown what was said before", agent.name);
        patiently(third.dispose()).await.unwrap();
    })
    .await;
}
