use crate::capability::{
    Capabilities, Capability, Declares, DepthLimit, ModelChoice, OutputSchema, OutputTokenLimit, Persona,
    Plain, Schema, StepLimit, ToolFilter, Unchecked,
};
use crate::error::{StartError, chain};
use crate::request::Request;
use crate::testing::conformance::bench::{Bench, Door, DoorKind, NAME};
use crate::testing::conformance::probe::{Begun, Honoured, StartProbe};
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

/// A capability that no provider knows.
struct Unknown;

impl Capability for Unknown {
    const NAME: &'static str = "subagent-conformance/unknown";
    type Value = u32;
    type Kind = Plain;

    fn narrow(earlier: u32, later: u32) -> u32 {
        earlier.min(later)
    }
}

type Asked = (&'static str, fn(Request<Unchecked>) -> Request<Unchecked>);

const ASKED: [Asked; 8] = [
    (<OutputSchema as Capability>::NAME, |request| {
        match Schema::new(serde_json::json!({ "type": "object" })) {
            // Asked for on a request that is checked at run time, it is a request of the same type.
            Ok(schema) => request.output_schema(schema),
            Err(_) => request,
        }
    }),
    (DepthLimit::NAME, |request| request.max_depth(100)),
    (ToolFilter::NAME, |request| request.tool_filter(ToolFilter::deny(["a-tool"]))),
    (Persona::NAME, |request| request.persona("You are under test.")),
    (ModelChoice::NAME, |request| request.model("a-model")),
    (OutputTokenLimit::NAME, |request| request.max_output_tokens(std::num::NonZeroU32::MAX)),
    (StepLimit::NAME, |request| request.max_steps(std::num::NonZeroU32::MAX)),
    (Unknown::NAME, |request| request.with::<Unknown>(1)),
];

pub(crate) async fn undeclared_capabilities_are_refused_by_name<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let declared = declared::<F>();
    for (name, ask) in ASKED.into_iter().filter(|(name, _)| !declared.contains(name)) {
        let bench = Bench::open(fixture, Behaviour::Completes)?;
        let request = ask(bench.request().erase());
        match bench.in_time("the start", bench.subagents.start(NAME, request)).await? {
            Err(StartError::UnsupportedCapability { capability, .. }) if capability == name => {}
            Err(error) => {
                return Err(broken(
                    chain(&error),
                    format!("a request for `{name}` is an `UnsupportedCapability`"),
                ));
            }
            Ok(live) => {
                drop(live);
                return Err(broken(
                    format!("a request for `{name}` started, which the provider does not declare"),
                    "what a provider does not declare is refused before a child exists",
                ));
            }
        }
        bench.no_trace("after a refused capability")?;
    }
    Ok(())
}

pub(crate) async fn declared_capabilities_are_taken<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for probe in fixture.start_probes() {
        for door in doors::<F, D>() {
            let Begun { bench, started } = probe.begin(door, fixture.patience()).await?;
            match started {
                Ok(going) => drop(going),
                Err(error) if refused_untyped(&probe, door, &error) => {}
                Err(error) => {
                    return Err(broken(
                        chain(&error),
                        "`start` takes the value of every capability that is declared, with `StartRequest::take`",
                    ));
                }
            }
            bench.shut_down("a probe that was dropped").await?;
        }
    }
    Ok(())
}

pub(crate) async fn declared_capabilities_are_honoured<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for probe in fixture.start_probes() {
        let name = probe.capability().unwrap_or("several capabilities");
        for door in doors::<F, D>() {
            if let Some(Honoured { first: Err(seen), .. }) = shown(fixture, &probe, door).await? {
                return Err(broken(
                    format!("`{name}` was not honoured: {seen}"),
                    "a capability that is declared binds the child, not only the request",
                ));
            }
        }
    }
    Ok(())
}

pub(crate) async fn capabilities_stay_in_force_when_resumed<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for probe in fixture.start_probes() {
        let name = probe.capability().unwrap_or("several capabilities");
        for door in doors::<F, D>() {
            if let Some(Honoured { follow_up: Some(Err(seen)), .. }) = shown(fixture, &probe, door).await? {
                return Err(broken(
                    format!("`{name}` was not honoured by a follow-up: {seen}"),
                    "every limit, filter, persona and output type of the first request binds the follow-ups too",
                ));
            }
        }
    }
    Ok(())
}

async fn shown<F: Fixture>(
    fixture: &F,
    probe: &StartProbe<F::Provider>,
    door: DoorKind,
) -> Checked<Option<Honoured>> {
    let Begun { bench, started } = probe.begin(door, fixture.patience()).await?;
    let honoured = match started {
        Ok(going) => Some(going.await?),
        // Not taken: another promise says so.
        Err(StartError::Ignored { .. }) => None,
        Err(error) if refused_untyped(probe, door, &error) => None,
        Err(error) => return Err(broken(chain(&error), "the provider staged for a probe starts a child")),
    };
    bench.shut_down("a probe").await?;
    Ok(honoured)
}

/// A schema that was read from JSON has lost its type. A provider that checks values by their type alone may refuse
/// it, before a child exists.
fn refused_untyped<P: crate::Provider>(probe: &StartProbe<P>, door: DoorKind, error: &StartError) -> bool {
    door == DoorKind::Json
        && probe.capability() == Some(<OutputSchema as Capability>::NAME)
        && matches!(error, StartError::Failed { .. })
}

fn doors<F: Fixture, D: Door<F::Provider>>() -> Vec<DoorKind> {
    if D::BY_NAME { vec![DoorKind::ByName, DoorKind::Json] } else { vec![DoorKind::Typed] }
}

pub(crate) async fn declared_capabilities_have_probes<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let mut probed = Vec::new();
    for probe in fixture.start_probes() {
        let Some(name) = probe.capability() else {
            return Err(broken(
                "a probe asks for no capability, or for several",
                "one probe asks for one capability",
            ));
        };
        ensure(
            !probed.contains(&name),
            || format!("`{name}` has two probes"),
            "one probe for each capability",
        )?;
        probed.push(name);
    }
    let missing: Vec<_> = declared::<F>().names().filter(|name| !probed.contains(name)).collect();
    ensure(
        missing.is_empty(),
        || format!("no probe for {}", missing.join(", ")),
        "`Fixture::start_probes` has a probe for each capability that the provider declares",
    )
}

fn declared<F: Fixture>() -> Capabilities {
    <F::Provider as Declares>::CAPABILITIES
}
