use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use subagent::acp::EnvPolicy;
use subagent::{Request, Subagents};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, span};

use super::scene::{Scene, acp_error, patiently, rerun, rerun_in};

const SECRET: &str = "marker-of-the-parent-0451";

/// In a process of its own, whose environment can be set, and all of whose output is looked through.
#[tokio::test]
async fn a_secret_of_the_parent_is_found_nowhere() {
    let Some(scene) = Scene::new() else { return };
    let mut parent = rerun("environment::parent_with_a_secret", &scene);
    parent.env("ACME_API_KEY", SECRET).env("ACME_EDITOR", "vi");
    let output = patiently(parent.output()).await.unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
}

/// Does nothing unless the test above runs it with a secret.
#[tokio::test]
async fn parent_with_a_secret() {
    let Some(directory) = rerun_in() else { return };
    let log = Log::default();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    let scene = std::mem::ManuallyDrop::new(Scene::at(directory, Subagents::new()));
    let env = "env ACME_API_KEY\nenv ACME_EDITOR\nenv PATH_OF_NOTHING";

    let said = scene.said(scene.agent(&[]), env).await;
    assert_eq!(said.text(), "[unset][vi][unset]", "credentials are dropped, the rest is kept");
    let said = scene.said(scene.agent(&[]).environment(EnvPolicy::allow_list(["OTHER"])), env).await;
    assert_eq!(said.text(), "[unset][unset][unset]");
    let said = scene.said(scene.agent(&[]).variable("ACME_API_KEY", "its own"), env).await;
    assert_eq!(said.text(), "[its own][vi][unset]", "what is set for it always reaches it");

    // Passed on purpose it reaches the child, and still nobody else, though the child spills it.
    let trusted = || scene.agent(&[]).environment(EnvPolicy::scrubbed().pass("ACME_API_KEY"));
    let said = scene.said(trusted(), env).await;
    assert!(said.text() == format!("[{SECRET}][vi][unset]"), "a passed credential reaches the child");
    let spill = format!("stderr the key is {SECRET}\nraw banner with {SECRET}\n");
    for end in ["exit 1", "error -32603 bad key marker-of-the-parent-0451", "stop marker-of-the-parent-0451"]
    {
        let said = scene.said(trusted(), &format!("{spill}{end}")).await;
        let diagnostic = said.diagnostic().unwrap();
        assert!(!diagnostic.contains(SECRET), "the diagnostic spills it: {}", end.replace(SECRET, "…"));
    }
    let error = scene.refused(scene.agent(&["exit=1", &format!("stderr=the key is {SECRET}")])).await;
    assert!(!format!("{error}{error:?}").contains(SECRET));

    // What a policy held back is told by name, so that it can be passed.
    let agent = scene.register(scene.agent(&["error-on=session/new:-32000:Log in"]));
    let error = acp_error(scene.try_start(&agent, Request::new("say x")).await.unwrap_err());
    let text = error.to_string();
    assert!(text.contains("ACME_API_KEY") && text.contains("EnvPolicy::pass") && !text.contains(SECRET));
    assert!(!format!("{agent:?}").contains(SECRET));
    assert!(!log.0.lock().unwrap().contains(SECRET), "the log spills it");
}

#[tokio::test]
async fn a_credential_that_is_to_be_passed_and_is_not_set_is_refused_by_name() {
    let Some(scene) = Scene::new() else { return };
    let error =
        scene.refused(scene.agent(&[]).environment(EnvPolicy::scrubbed().pass("ACME_UNSET_KEY"))).await;
    assert_eq!(error.code(), "PASSED_VARIABLE_NOT_SET");
    assert!(error.to_string().contains("ACME_UNSET_KEY"), "{error}");
    assert_eq!(scene.started(), 0);
}

#[tokio::test]
async fn a_variable_with_a_name_that_is_used_within_reaches_the_child_like_any_other() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&[]).variable("SUBAGENT_CHILD_1", "mine").variable("LD_ACME", "loader");
    let said = scene.said(agent, "env SUBAGENT_CHILD_1\nenv LD_ACME").await;
    assert_eq!(said.text(), "[mine][loader]");
}

/// Everything that is logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for &Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut &*self);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut &*self);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut &*self);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
