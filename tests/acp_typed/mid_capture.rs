//! A run that is cancelled while its value is being read.

use std::sync::{Condvar, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use subagent::{Live, Request, StopReason, Typed, acp::AcpRun};

use super::delivery::register;
use super::scene::{SOON, Scene, patiently};

/// A number that takes its time to be read, until the test lets it.
#[derive(Debug, JsonSchema)]
struct Slow(#[expect(dead_code, reason = "it is in the schema")] u8);

/// How many are being read, and whether they may be done.
static READING: Mutex<(usize, bool)> = Mutex::new((0, false));
static CHANGED: Condvar = Condvar::new();

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        let mut reading = READING.lock().unwrap();
        reading.0 += 1;
        CHANGED.notify_all();
        drop(CHANGED.wait_while(reading, |reading| !reading.1).unwrap());
        Ok(Self(number))
    }
}

fn may_be_read(may: bool) {
    *READING.lock().unwrap() = (0, may);
    CHANGED.notify_all();
}

async fn is_being_read() {
    let waiting = tokio::task::spawn_blocking(|| {
        drop(CHANGED.wait_while(READING.lock().unwrap(), |reading| reading.0 == 0).unwrap());
    });
    patiently(waiting).await.unwrap();
}

async fn reading(scene: &Scene) -> Live<AcpRun, Typed<Slow>> {
    may_be_read(false);
    let provider = register(scene, scene.agent(&["able=http"]).cancel_limit(SOON).structured());
    let request = Request::new("deliver {\"result\": 1}\nwait-cancel").output::<Slow>();
    let run = patiently(provider.start(request)).await.unwrap();
    is_being_read().await;
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_that_is_cancelled_while_its_value_is_read_is_aborted_without_one() {
    let Some(scene) = Scene::new() else { return };
    // The value is read to its end, but too late.
    let run = reading(&scene).await;
    run.cancel("enough");
    may_be_read(true);
    let said = patiently(run.collect()).await;
    said.disposal.unwrap();
    let said = said.result.unwrap();
    assert_eq!(said.stop_reason(), &StopReason::Aborted);
    assert!(said.structured().is_err());
    scene.gone().await;

    // It is still being read when the run has settled: that waits for nobody.
    let run = reading(&scene).await;
    run.cancel("enough");
    let settled = patiently(run.settle()).await;
    assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::Aborted);
    assert!(settled.structured().is_err());
    may_be_read(true);
    patiently(settled.dispose()).await.unwrap();
    scene.assert_nothing_left();
}
