use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use subagent::acp::{PermissionDecision, PermissionPolicy};
use subagent::{StopReason, Update};

use super::scene::{PATIENCE, SOON, Scene, patiently};

/// What an agent was answered, and what the updates say of it.
async fn asked(policy: PermissionPolicy, step: &str) -> Option<(String, String)> {
    let scene = Scene::new()?;
    let agent = scene.register(scene.agent(&[]).permissions(policy));
    let run = scene.start(&agent, step).await;
    let updates: Vec<_> = patiently(run.updates().map(Result::unwrap).collect()).await;
    let outcome = updates.iter().find_map(|update| match &**update {
        Update::Other { kind, data } if kind == "permission" => Some(data["outcome"].as_str()?.to_owned()),
        _ => None,
    });
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(said.stop_reason(), &StopReason::Completed);
    Some((said.text().into_owned(), outcome.expect("the updates tell of it")))
}

#[tokio::test]
async fn options_are_picked_by_kind_and_the_outcomes_told_apart() {
    for (policy, step, answer, outcome) in [
        (PermissionPolicy::default(), "permission allow_once,reject_once", "[option 1]", "denied"),
        (PermissionPolicy::reject(), "permission allow_once,reject_always", "[cancelled]", "denied"),
        (
            PermissionPolicy::allow(),
            "permission reject_once,allow_always,allow_once",
            "[option 2]",
            "allowed",
        ),
        (PermissionPolicy::allow(), "permission reject_once,allow_always", "[option 1]", "allowed"),
        (PermissionPolicy::allow(), "permission reject_once", "[cancelled]", "allowed"),
        (
            PermissionPolicy::ask(PATIENCE, async |_| PermissionDecision::Deny),
            "permission allow_once,reject_once",
            "[option 1]",
            "denied",
        ),
        (
            PermissionPolicy::ask(SOON, |_| std::future::pending()),
            "permission allow_once,reject_once",
            "[option 1]",
            "expired",
        ),
        (
            PermissionPolicy::ask(PATIENCE, async |_| PermissionDecision::NobodyToAsk),
            "permission allow_once,reject_once",
            "[option 1]",
            "nobody_to_ask",
        ),
    ] {
        let Some((said, told)) = asked(policy, step).await else { return };
        assert_eq!((said.as_str(), told.as_str()), (answer, outcome), "{step}");
    }
}

#[tokio::test]
async fn a_child_of_the_child_is_answered_by_the_same_policy() {
    let step = "permission-of-a-child allow_once,reject_once";
    let Some((said, told)) = asked(PermissionPolicy::reject(), step).await else { return };
    assert_eq!(
        (said.as_str(), told.as_str()),
        ("[option 1]", "denied"),
        "with nobody to ask it is denied at once"
    );

    let sessions = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sessions);
    let policy = PermissionPolicy::ask(PATIENCE, move |request| {
        seen.lock().unwrap().push(request.session_id);
        std::future::ready(PermissionDecision::Allow)
    });
    let Some((said, told)) = asked(policy, step).await else { return };
    assert_eq!((said.as_str(), told.as_str()), ("[option 0]", "allowed"));
    assert_eq!(*sessions.lock().unwrap(), ["session-of-a-child"]);
}

#[tokio::test]
async fn a_policy_is_its_providers_own() {
    let Some(scene) = Scene::new() else { return };
    let strict = scene.register(scene.agent(&[]));
    let lenient = scene.agent(&[]).permissions(PermissionPolicy::allow()).build().unwrap();
    let lenient = scene.subagents.register("lenient", lenient).unwrap();
    let script = "permission allow_once,reject_once\nsleep 0.1\npermission allow_once,reject_once";
    let (denied, allowed) = tokio::join!(scene.result(&strict, script), scene.result(&lenient, script));
    assert_eq!(denied.text(), "[option 1][option 1]");
    assert_eq!(allowed.text(), "[option 0][option 0]");
}
