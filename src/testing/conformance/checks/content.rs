use crate::content::{ContentBlock, ContentKind, EmbeddedResource, ResourceContents};
use crate::error::{StartError, chain};
use crate::provider::Provider;
use crate::testing::conformance::bench::{Bench, Door};
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

/// One block of each kind that the suite can make.
fn blocks() -> [ContentBlock; 5] {
    [
        ContentBlock::text("text of the conformance suite"),
        ContentBlock::image("iVBORw0KGgo=", "image/png"),
        ContentBlock::audio("UklGRg==", "audio/wav"),
        ContentBlock::resource_link("conformance", "file:///conformance.txt"),
        ContentBlock::Resource(EmbeddedResource::new(ResourceContents::Text {
            uri: "file:///conformance.txt".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text: "a resource of the conformance suite".to_owned(),
        })),
    ]
}

pub(crate) async fn content_that_is_not_carried_is_refused<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for block in blocks() {
        let bench = Bench::open(fixture, Behaviour::Completes)?;
        let kind = block.kind();
        if bench.registration.provider().content().contains(kind) {
            continue;
        }
        let request = bench.request_of(vec![ContentBlock::text("Look at this:"), block]);
        match bench.in_time("the start", D::start(&bench, request)).await? {
            Err(StartError::UnsupportedContent { kind: refused, .. }) if refused == kind => {}
            Err(error) => {
                return Err(broken(chain(&error), "`StartError::UnsupportedContent`, which names the kind"));
            }
            Ok(live) => {
                drop(live);
                return Err(broken(
                    format!("a prompt with {kind} content started, which the provider does not carry"),
                    "content that is not carried is refused, not dropped",
                ));
            }
        }
        bench.no_trace("after refused content")?;
    }
    Ok(())
}

pub(crate) async fn content_that_is_carried_reaches_the_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for block in blocks().into_iter().filter(|block| block.kind() != ContentKind::Text) {
        let bench = Bench::open(fixture, Behaviour::Completes)?;
        let kind = block.kind();
        if !bench.registration.provider().content().contains(kind) {
            continue;
        }
        let seen = bench.seen("content beyond text")?;
        let request = bench.request_of(vec![ContentBlock::text("Look at this:"), block.clone()]);
        let live = bench.started::<D>(request).await?;
        let collected = bench.in_time("a run that completes", live.collect()).await?;
        collected.result.map_err(|fault| broken(chain(&fault), "the run has a result"))?;
        let all = seen();
        ensure(
            all.iter().flatten().any(|content| *content == block),
            || format!("the provider says that it carries {kind} content, and its children saw {all:?}"),
            "a block that is carried reaches the child as it was given; `Staged::sees` shows the prompts too",
        )?;
    }
    Ok(())
}
