use std::sync::Arc;

use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    ContentKind, ContentKinds, Event, NoProvider, ProviderHandle, RegisterError, Request, StartError,
    Subagents,
};
use tokio::sync::Notify;

use crate::support::{Recorder, chain, scripted};

fn names(subagents: &Subagents) -> Vec<String> {
    subagents.list().iter().map(|provider| provider.name().to_owned()).collect()
}

fn replying(text: &str) -> ScriptedProvider {
    ScriptedProvider::replying(text)
}

#[tokio::test]
async fn a_registered_provider_is_listed_found_and_started() {
    let provider = replying("done");
    let log = provider.log();
    let subagents = Subagents::new();
    let registration = subagents.register("scripted", provider).unwrap();

    assert_eq!(names(&subagents), ["scripted"]);
    assert_eq!(subagents.get("scripted").unwrap().name(), "scripted");
    let found: ProviderHandle<ScriptedProvider> = subagents.get_as("scripted").unwrap();
    assert!(std::ptr::eq(found.provider(), registration.provider()), "the very same object");

    let run = subagents.start("scripted", Request::new("work")).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.text(), "done");
    assert!(result.is_completed());
    assert_eq!(result.structured_json(), None);
    assert_eq!(log.requests().len(), 1);
    assert_eq!(log.requests()[0].prompt, "work");
}

#[test]
fn providers_are_listed_in_the_order_of_registration() {
    let subagents = Subagents::new();
    let _zebra = subagents.register("zebra", replying("z")).unwrap();
    let ant = subagents.register("ant", replying("a")).unwrap();
    let _mole = subagents.register("mole", replying("m").without_steering()).unwrap();
    assert_eq!(names(&subagents), ["zebra", "ant", "mole"]);
    for name in ["zebra", "ant", "mole"] {
        assert_eq!(subagents.get(name).unwrap().name(), name);
    }

    ant.unregister();
    assert_eq!(names(&subagents), ["zebra", "mole"]);
    let _ant = subagents.register("ant", replying("a")).unwrap();
    assert_eq!(names(&subagents), ["zebra", "mole", "ant"]);
}

#[tokio::test]
async fn two_names_of_one_kind_of_provider_are_two_providers() {
    let subagents = Subagents::new();
    let fast = subagents.register("fast", replying("quick")).unwrap();
    let _slow = subagents.register("slow", replying("thorough")).unwrap();
    assert_eq!(fast.name(), "fast");
    for (name, said) in [("fast", "quick"), ("slow", "thorough")] {
        let run = subagents.start(name, Request::new("work")).await.unwrap();
        assert_eq!(&*run.info().provider, name);
        assert_eq!(run.collect().await.into_result().unwrap().text(), said);
    }
}

#[tokio::test]
async fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
    let subagents = Subagents::new();
    let error = subagents.start("spwan", Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "NO_PROVIDER");
    assert_eq!(error.to_string(), "no provider is named `spwan`; the known ones are: none");

    let _spawn = subagents.register("spawn", replying("done")).unwrap();
    let _fork = subagents.register("fork", replying("done")).unwrap();
    let error = subagents.start("spwan", Request::new("work")).await.unwrap_err();
    assert_eq!(chain(&error), ["no provider is named `spwan`; the known ones are: spawn, fork"]);
    let StartError::NoProvider(NoProvider::Unknown { name, known, .. }) = error else { panic!("{error:?}") };
    assert_eq!(name, "spwan");
    assert_eq!(known, [Arc::from("spawn"), Arc::from("fork")]);
    assert_eq!(subagents.get("Spawn").unwrap_err().code(), "NO_PROVIDER", "names are taken literally");
}

#[tokio::test]
async fn a_taken_name_is_refused_and_the_first_provider_stays() {
    let subagents = Subagents::new();
    let first = subagents.register("spawn", replying("first")).unwrap();
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let error = subagents.register("spawn", replying("second")).unwrap_err();
    assert_eq!(error.code(), "DUPLICATE_PROVIDER");
    assert!(error.to_string().contains("`spawn`"), "{error}");
    assert_eq!(error, RegisterError::DuplicateProvider { name: "spawn".into() });

    assert_eq!(names(&subagents), ["spawn"]);
    assert!(recorder.words().is_empty());
    let run = subagents.start("spawn", Request::new("work")).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "first");
    drop(first);
}

#[test]
fn a_name_that_cannot_be_seen_or_repeated_is_refused() {
    let subagents = Subagents::new();
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    for name in [
        "",
        " ",
        "\t",
        "\n",
        "spawn\n",
        " spawn",
        "spawn ",
        "\u{a0}spawn",
        "spa\0wn",
        "spa\u{7f}wn",
        "spa\u{85}wn",
        "\u{200b}",
        "spa\u{200b}wn",
        "\u{feff}spawn",
        "spa\u{202e}wn",
        "spa\u{2066}wn",
        "spa\u{ad}wn",
    ] {
        let error = subagents.register(name, replying("done")).unwrap_err();
        assert_eq!(error.code(), "INVALID_NAME", "{name:?}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("{name:?} is not a provider name")), "{text}");
        assert!(!text.contains(char::is_control), "the text shows what is wrong: {text}");
    }
    assert!(subagents.list().is_empty());
    assert!(recorder.words().is_empty());
    for name in ["spawn", "My provider", "acme/coder", "代理", "👷\u{200d}♀\u{fe0f}"] {
        subagents.register(name, replying("done")).unwrap().unregister();
    }
}

#[tokio::test]
async fn a_dropped_registration_takes_its_name_along() {
    let subagents = Subagents::new();
    let handle = {
        let registration = subagents.register("spawn", replying("done")).unwrap();
        registration.handle()
    };
    assert!(subagents.list().is_empty());
    assert_eq!(subagents.get("spawn").unwrap_err().code(), "NO_PROVIDER");
    let error = handle.start(Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "UNREGISTERED", "a handle that was kept starts nothing");
    assert!(error.to_string().contains("`spawn`"), "{error}");
}

#[tokio::test]
async fn the_error_for_a_name_says_that_its_registration_was_dropped() {
    let subagents = Subagents::new();
    subagents.register("spawn", replying("done")).unwrap().unregister();
    let _fork = subagents.register("fork", replying("done")).unwrap();
    let error = subagents.start("spawn", Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "NO_PROVIDER");
    assert!(matches!(&error, StartError::NoProvider(NoProvider::Unknown { dropped: true, .. })), "{error:?}");
    assert_eq!(
        error.to_string(),
        "no provider is named `spawn` (its registration was dropped; keep the `Registration`, or call \
         `leave_registered`); the known ones are: fork"
    );
    let error = subagents.start("spwan", Request::new("work")).await.unwrap_err();
    assert!(
        matches!(&error, StartError::NoProvider(NoProvider::Unknown { dropped: false, .. })),
        "{error:?}"
    );
}

#[test]
fn a_typed_handle_says_what_its_provider_declares_and_carries() {
    let subagents = Subagents::new();
    let images = ContentKinds::TEXT.with(ContentKind::Image);
    let typed = subagents.register("spawn", replying("done").with_content(images)).unwrap();
    let by_name = subagents.get("spawn").unwrap();
    assert!(typed.capabilities().contains("persona"));
    assert_eq!(typed.capabilities().to_string(), by_name.capabilities().to_string());
    assert_eq!((typed.content(), by_name.content()), (images, images));
}

#[tokio::test]
async fn a_removal_while_a_run_is_published_is_told_after_its_start() {
    let subagents = Subagents::new();
    let registration = subagents.register("spawn", replying("done")).unwrap();
    let registry = subagents.clone();
    // It removes the provider in the middle of the publication, before the recorder is told of the start.
    let _remover = subagents.subscribe(move |event| {
        if matches!(event, Event::Started(_)) {
            assert!(registry.unregister("spawn"));
        }
    });
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = registration.start(Request::new("work")).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    assert_eq!(recorder.words()[..2], ["started", "removed: spawn"]);
    assert_eq!(registration.start(Request::new("work")).await.unwrap_err().code(), "UNREGISTERED");
    drop(registration);
    assert_eq!(recorder.words().iter().filter(|word| *word == "removed: spawn").count(), 1);
}

#[tokio::test]
async fn a_name_can_be_registered_again_and_again() {
    let subagents = Subagents::new();
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    for round in 0..3 {
        let registration = subagents.register("spawn", replying("done")).unwrap();
        let run = registration.start(Request::new("work")).await.unwrap();
        assert!(run.collect().await.into_result().unwrap().is_completed());
        match round {
            0 => drop(registration),
            1 => registration.unregister(),
            _ => assert!(subagents.unregister("spawn"), "by its name"),
        }
        assert!(!subagents.unregister("spawn"), "it is gone");
    }
    let words = recorder.words();
    let of_providers: Vec<_> = words.iter().filter(|word| word.contains("spawn")).collect();
    assert_eq!(of_providers, ["added: spawn", "removed: spawn"].repeat(3));
}

#[tokio::test]
async fn a_provider_that_is_left_registered_outlives_its_guard() {
    let subagents = Subagents::new();
    let handle = subagents.register("spawn", replying("done")).unwrap().leave_registered();
    assert_eq!(names(&subagents), ["spawn"]);
    let run = handle.start(Request::new("work")).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    drop(handle);
    assert_eq!(names(&subagents), ["spawn"]);
    assert!(subagents.unregister("spawn"));
    assert!(subagents.list().is_empty());
}

#[tokio::test]
async fn a_guard_whose_name_was_taken_over_removes_nothing() {
    let subagents = Subagents::new();
    let old = subagents.register("spawn", replying("old")).unwrap();
    assert!(subagents.unregister("spawn"));
    let _new = subagents.register("spawn", replying("new")).unwrap();
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let error = old.start(Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "UNREGISTERED", "the old handle does not reach the new provider");
    drop(old);

    assert_eq!(names(&subagents), ["spawn"]);
    assert!(recorder.words().is_empty());
    let run = subagents.start("spawn", Request::new("work")).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "new");
}

#[test]
fn a_provider_of_another_type_is_not_handed_out() {
    let subagents = Subagents::new();
    let _registration = subagents.register("spawn", replying("done").without_steering()).unwrap();
    let error = subagents.get_as::<ScriptedProvider>("spawn").unwrap_err();
    assert_eq!(error.code(), "OTHER_PROVIDER_TYPE");
    assert!(error.to_string().contains("Absent"), "it names the type that is there: {error}");
    assert_eq!(subagents.get_as::<ScriptedProvider>("fork").unwrap_err().code(), "NO_PROVIDER");
}

#[tokio::test]
async fn removing_a_provider_leaves_its_live_run_alone() {
    let go = Arc::new(Notify::new());
    let provider = ScriptedProvider::new(Script::new().wait_for(&go).complete("done"));
    let log = provider.log();
    let subagents = Subagents::new();
    let registration = subagents.register("spawn", provider).unwrap();
    let run = registration.start(Request::new("work")).await.unwrap();
    registration.unregister();

    assert_eq!(log.live_children(), 1);
    assert!(!run.cancellation().is_cancelled());
    go.notify_one();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_start_that_races_with_the_removal_makes_no_child() {
    let ready = Arc::new(Notify::new());
    let script = Script::new().wait_for(&ready).text("I live").in_start().complete("done");
    let (subagents, handle, log) = scripted(ScriptedProvider::new(script));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let start = handle.start(Request::new("work"));
    let id = start.run_id();
    let start = tokio::spawn(start);
    while log.live_children() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(subagents.unregister("child"));
    ready.notify_one();

    let error = start.await.unwrap().unwrap_err();
    assert_eq!(error.code(), "UNREGISTERED");
    assert!(id.is_some() && error.run_id() == id);
    assert_eq!(log.live_children(), 0, "what came to be too late is gone");
    assert_eq!(log.disposals(), 1);
    assert!(subagents.runs().is_empty());
    assert_eq!(recorder.words(), ["removed: child"], "and no event speaks of it");
}

#[tokio::test]
async fn providers_can_be_registered_from_many_tasks_and_one_wins_each_name() {
    let subagents = Subagents::new();
    let tries: Vec<_> = (0..16)
        .map(|n| {
            let subagents = subagents.clone();
            tokio::task::spawn_blocking(move || {
                subagents
                    .register(format!("p{}", n % 4), replying("done"))
                    .map(subagent::Registration::leave_registered)
            })
        })
        .collect();
    let mut won = 0;
    for attempt in tries {
        match attempt.await.unwrap() {
            Ok(_) => won += 1,
            Err(error) => assert_eq!(error.code(), "DUPLICATE_PROVIDER"),
        }
    }
    assert_eq!(won, 4);
    let mut names = names(&subagents);
    names.sort();
    assert_eq!(names, ["p0", "p1", "p2", "p3"]);
}
