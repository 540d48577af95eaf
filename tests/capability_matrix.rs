//! Which provider supports what, present and absent: asserted when this file compiles, for the compiler's view and for
//! the run-time one, and compared with the table in the crate's documentation.

use std::future::Ready;
use std::marker::PhantomData;
use std::sync::Arc;

use acme_agents::{Chat, GpuQuota, Metered, OnGpu, OneShot, Reader, Renderer, Thinker, Worker};
#[cfg(feature = "acp")]
use subagent::acp::Acp;
use subagent::testing::ScriptedProvider;
use subagent::{
    Absent, Capability, ChildContext, Declares, DepthLimit, Fork, Inbox, ModelChoice, Outcome, OutputSchema,
    OutputTokenLimit, Persona, Presence, Present, Provider, ProviderFn, Resumable, Run, Spawn, Steerable,
    StepLimit, Supports, ToolFilter,
};

/// A closure that `provider_fn` takes.
type Plain = fn(ChildContext) -> Ready<Outcome>;
/// A closure that `steerable_provider_fn` takes.
type WithInbox = fn(ChildContext, Inbox) -> Ready<Outcome>;

/// What the compiler knows of `P`, for a concrete `P`: an inherent constant wins where its bound holds.
struct Probe<P, C = ()>(PhantomData<(P, C)>);

trait Lacks {
    const SUPPORTS: bool = false;
    const STEERABLE: bool = false;
    const RESUMABLE: bool = false;
}

impl<P, C> Lacks for Probe<P, C> {}

impl<P: Supports<C>, C> Probe<P, C> {
    const SUPPORTS: bool = true;
}

impl<P: Provider<Run: Steerable>> Probe<P> {
    const STEERABLE: bool = true;
}

impl<P: Provider<Run: Resumable>> Probe<P> {
    const RESUMABLE: bool = true;
}

const fn declares<P: Declares, C: Capability>() -> bool {
    P::CAPABILITIES.contains(C::NAME)
}

const fn steers<P: Provider>() -> bool {
    <P::Run as Run>::Steer::PRESENT
}

const fn resumes<P: Provider>() -> bool {
    <P::Run as Run>::Resume::PRESENT
}

macro_rules! is {
    (yes) => {
        true
    };
    (no) => {
        false
    };
}

/// One row a provider: its name in the documentation, its type, then `yes` or `no` for each column.
macro_rules! matrix {
    ($name:ident: $($row:literal $provider:ty: $output:ident $depth:ident $filter:ident $persona:ident $model:ident
        $tokens:ident $steps:ident $gpu:ident | $steer:ident $resume:ident;)*) => {
        const $name: &[(&str, [bool; 10])] = &[$({
            type P = $provider;
            assert!(Probe::<P, OutputSchema>::SUPPORTS == is!($output) && declares::<P, OutputSchema>() == is!($output));
            assert!(Probe::<P, DepthLimit>::SUPPORTS == is!($depth) && declares::<P, DepthLimit>() == is!($depth));
            assert!(Probe::<P, ToolFilter>::SUPPORTS == is!($filter) && declares::<P, ToolFilter>() == is!($filter));
            assert!(Probe::<P, Persona>::SUPPORTS == is!($persona) && declares::<P, Persona>() == is!($persona));
            assert!(Probe::<P, ModelChoice>::SUPPORTS == is!($model) && declares::<P, ModelChoice>() == is!($model));
            assert!(
                Probe::<P, OutputTokenLimit>::SUPPORTS == is!($tokens)
                    && declares::<P, OutputTokenLimit>() == is!($tokens)
            );
            assert!(Probe::<P, StepLimit>::SUPPORTS == is!($steps) && declares::<P, StepLimit>() == is!($steps));
            assert!(Probe::<P, GpuQuota>::SUPPORTS == is!($gpu) && declares::<P, GpuQuota>() == is!($gpu));
            assert!(Probe::<P>::STEERABLE == is!($steer) && steers::<P>() == is!($steer));
            assert!(Probe::<P>::RESUMABLE == is!($resume) && resumes::<P>() == is!($resume));
            ($row, [is!($output), is!($depth), is!($filter), is!($persona), is!($model), is!($tokens), is!($steps),
                is!($gpu), is!($steer), is!($resume)])
        }),*];
    };
}

// The columns: OutputSchema DepthLimit ToolFilter Persona ModelChoice OutputTokenLimit StepLimit, the third party's
// GpuQuota | Steerable Resumable.
matrix! { DOCUMENTED:
    "Spawn"                  Spawn:                            yes yes yes yes yes yes yes no | yes yes;
    "Spawn<Absent>"          Spawn<Absent>:                    yes yes yes yes yes yes yes no | no  yes;
    "Fork"                   Fork:                             yes yes yes yes yes yes yes no | yes yes;
    "Fork<Absent>"           Fork<Absent>:                     yes yes yes yes yes yes yes no | no  yes;
    "provider_fn"            ProviderFn<Plain>:                no  no  no  no  no  no  no  no | no  no;
    "steerable_provider_fn"  ProviderFn<WithInbox, Present>:   no  no  no  no  no  no  no  no | yes no;
    "ScriptedProvider"       ScriptedProvider:                 yes yes yes yes yes yes yes no | yes yes;
}

#[cfg(feature = "acp")]
matrix! { OF_ACP:
    "Acp"                    Acp:                              no  no  no  no  no  no  no  no | no  yes;
    "Acp<Absent, Present>"   Acp<Absent, Present>:             yes no  no  no  no  no  no  no | no  yes;
    "Acp<Present>"           Acp<Present>:                     no  no  no  no  no  no  no  no | yes yes;
}

// Each part taken away alone, wrappers around what has and what lacks, and what a third party writes.
matrix! { OTHERS:
    "" ScriptedProvider<Absent>:                        no  no  no  no  no  no  no  no  | yes yes;
    "" ScriptedProvider<Present, Absent>:               yes yes yes yes yes yes yes no  | no  yes;
    "" ScriptedProvider<Present, Present, Absent>:      yes yes yes yes yes yes yes no  | yes no;
    "" ProviderFn<Plain, Absent, Renderer>:             no  yes no  no  no  no  no  yes | no  no;
    "" Arc<Spawn>:                                      yes yes yes yes yes yes yes no  | yes yes;
    "" Arc<ProviderFn<Plain>>:                          no  no  no  no  no  no  no  no  | no  no;
    "" OneShot:                                         no  no  no  no  no  no  no  no  | no  no;
    "" Chat:                                            yes yes yes yes yes yes yes no  | yes yes;
    "" Renderer:                                        no  yes no  no  no  no  no  yes | no  no;
    "" Thinker<Worker>:                                 no  yes yes no  no  no  no  no  | no  no;
    "" Thinker<Reader>:                                 no  yes no  no  no  no  no  no  | no  no;
    "" Metered<Chat>:                                   yes yes yes yes yes yes yes no  | yes yes;
    "" Metered<Renderer>:                               no  yes no  no  no  no  no  yes | no  no;
    "" Metered<Thinker<Reader>>:                        no  yes no  no  no  no  no  no  | no  no;
    "" Metered<Arc<ScriptedProvider<Absent, Absent>>>:  no  no  no  no  no  no  no  no  | no  yes;
    "" OnGpu<Chat>:                                     no  yes no  no  no  no  no  yes | yes yes;
    "" OnGpu<Metered<Renderer>>:                        no  yes no  no  no  no  no  yes | no  no;
}

#[test]
fn the_documented_table_is_the_asserted_one() {
    let columns = [
        "OutputSchema",
        "DepthLimit",
        "ToolFilter",
        "Persona",
        "ModelChoice",
        "OutputTokenLimit",
        "StepLimit",
        "Steerable",
        "Resumable",
    ];
    let heads: Vec<_> = columns.iter().map(|column| format!("[`{column}`]")).collect();
    let mut lines = vec![
        format!("| provider | {} |", heads.join(" | ")),
        format!("|---|{}", ":-:|".repeat(columns.len())),
    ];
    #[cfg(feature = "acp")]
    let documented = DOCUMENTED.iter().chain(OF_ACP);
    #[cfg(not(feature = "acp"))]
    let documented = DOCUMENTED;
    for (name, [built_in @ .., gpu, steer, resume]) in documented {
        assert!(!gpu, "{name} supports what the table has no column for");
        let cells = built_in.iter().chain([steer, resume]).map(|has| if *has { "yes" } else { "–" });
        lines.push(format!("| `{name}` | {} |", cells.collect::<Vec<_>>().join(" | ")));
    }
    let table = lines.join("\n") + "\n";
    // The table is the same whatever is compiled in.
    let is_compiled_in = |line: &&str| cfg!(feature = "acp") || !line.starts_with("| `Acp");
    let documented: String =
        include_str!("../src/capability/table.md").split_inclusive('\n').filter(is_compiled_in).collect();
    assert_eq!(documented, table, "put this into src/capability/table.md:\n{table}");
    assert!(
        include_str!("../src/lib.rs").contains(r#"#![doc = include_str!("capability/table.md")]"#),
        "the crate's documentation shows the table"
    );
    assert!(!OTHERS.is_empty());
}
