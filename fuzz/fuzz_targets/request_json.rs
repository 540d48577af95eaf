//! A request read from JSON: it is refused, or it means the same when it is written and read again, and starts or is
//! refused by its provider.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use subagent::testing::ScriptedProvider;
use subagent::{Request, Subagents, Unchecked};

fuzz_target!(|bytes: &[u8]| {
    let Ok(request) = serde_json::from_slice::<Request<Unchecked>>(bytes) else { return };
    let json = serde_json::to_value(&request).expect("what was read can be written");
    let again: Request<Unchecked> = serde_json::from_value(json.clone()).expect("what was written can be read");
    assert_eq!(serde_json::to_value(&again).expect("and written"), json);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let subagents = Subagents::builder().cancel_grace(Duration::ZERO).build();
        let provider = subagents.register("scripted", ScriptedProvider::replying("done")).expect("a good name");
        if let Ok(run) = subagents.start(provider.name(), request).await {
            run.collect().await.disposal.expect("it is disposed of");
        }
        subagents.shutdown().await;
        assert!(subagents.runs().is_empty());
    });
});
