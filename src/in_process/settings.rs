use std::num::NonZeroU32;
use std::sync::Arc;

use super::children::Children;
use super::models::Models;
use crate::agent::{Agent, Limits, OutputContract, SessionHeader, SessionPrefix, SessionWriter, ToolSet};
use crate::capability::{
    Capability, DepthLimit, ModelChoice, OutputSchema, OutputTokenLimit, Persona, StepLimit, ToolFilter,
    UnusableFilter,
};
use crate::error::StartError;
use crate::id::SessionId;
use crate::parent::{Parent, smallest};
use crate::request::StartRequest;
use crate::run::first_uncarried;

/// How deep the tree may grow where nobody says.
const DEFAULT_MAX_DEPTH: u32 = 3;

/// What a provider of in-process children is set up with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) models: Models,
    /// The tools that children are offered; the parent's where there are none.
    pub(crate) tools: Option<ToolSet>,
    pub(crate) system_prompt: Option<Arc<str>>,
    pub(crate) limits: Limits,
    pub(crate) max_depth: u32,
    pub(crate) children: Children,
    /// Check structured output against whole schemas.
    pub(crate) validate_schemas: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            models: Models::default(),
            tools: None,
            system_prompt: None,
            limits: Limits::default(),
            max_depth: DEFAULT_MAX_DEPTH,
            children: Children::default(),
            validate_schemas: false,
        }
    }
}

/// What a child has of its parent's conversation.
#[derive(Default)]
pub(crate) struct Inherited {
    pub(crate) seed: SessionPrefix,
    pub(crate) system_prompt: Option<Arc<str>>,
}

/// A child that is set up, and what its first turn begins with.
pub(crate) struct Child {
    pub(crate) agent: Agent,
    pub(crate) notice: Option<&'static str>,
}

/// Tells a model where its parent's conversation ends.
const FORK_NOTICE: &str = "You are a subagent. The conversation above is your parent's, for you to know what it \
                           knows; its tasks are not yours, and it does not see what you do. Your own task follows: do \
                           that and nothing else, yourself, and end with the result.";

impl Settings {
    /// The child that is to work on the request. Everything is checked before it is made.
    pub(crate) fn child(
        &self,
        request: &mut StartRequest,
        inherited: Inherited,
    ) -> Result<Child, StartError> {
        let depth = request.depth();
        let parent = request.parent().cloned();
        let parent = parent.as_ref();
        let asked = request.take::<DepthLimit>();
        let max_depth = smallest(asked, parent.and_then(Parent::max_depth)).unwrap_or(self.max_depth);
        if depth > max_depth {
            return Err(StartError::DepthExceeded { depth, max_depth });
        }
        let model_choice = request.take::<ModelChoice>();
        let model = self.models.choose(model_choice.as_deref(), parent).map_err(StartError::failed)?;
        if let Some((index, kind)) = first_uncarried(request.prompt(), model.content_kinds()) {
            return Err(StartError::unsupported_content(kind, index, model.content_kinds()));
        }
        let offered = self.tools.as_ref().or_else(|| parent?.tools()).cloned().unwrap_or_default();
        let tool_filter = narrowed(request.take::<ToolFilter>(), parent, &offered)?;
        let max_steps = smallest(request.take::<StepLimit>(), parent.and_then(Parent::max_steps));
        let max_output_tokens: Option<NonZeroU32> =
            smallest(request.take::<OutputTokenLimit>(), parent.and_then(Parent::max_output_tokens));
        let output = match request.take::<OutputSchema>() {
            Some(schema) => {
                Some(OutputContract::of_request(&schema, request.output_check(), self.validate_schemas)?)
            }
            None => None,
        };

        let mut header = SessionHeader::new(SessionId::new());
        header.parent = parent.map(|parent| parent.session_id().clone());
        header.depth = depth;
        header.max_depth = Some(max_depth);
        header.working_dir = request.working_dir().map(Into::into);
        header.model = Some(model.name().to_owned());
        header.tool_filter = tool_filter;
        header.max_steps = max_steps;
        header.max_output_tokens = max_output_tokens;
        let mut agent = Agent::builder(model)
            // So that what the child delegates itself can be told to come from its run.
            .id(request.run_id().into())
            .session(SessionWriter::fork(&inherited.seed, header))
            .tools(offered)
            .limits(self.limits.clone());
        let persona = request.take::<Persona>().map(Into::into);
        if let Some(prompt) = persona.or_else(|| self.system_prompt.clone()).or(inherited.system_prompt) {
            agent = agent.system_prompt(prompt);
        }
        if let Some(output) = output {
            agent = agent.output(output);
        }
        let notice = (!inherited.seed.is_empty()).then_some(FORK_NOTICE);
        Ok(Child { agent: agent.build(), notice })
    }
}

/// What both the request and the agents above permit; the request's filter has to fit the tools that are offered.
fn narrowed(
    asked: Option<ToolFilter>,
    parent: Option<&Parent>,
    offered: &ToolSet,
) -> Result<Option<ToolFilter>, StartError> {
    let inherited = parent.and_then(Parent::tool_filter);
    let Some(asked) = asked else { return Ok(inherited.cloned()) };
    let permitted = |name: &&str| inherited.is_none_or(|filter| filter.permits(name));
    let known: Vec<&str> = offered.names().filter(permitted).collect();
    // A name that is denied above already is no mistake.
    let denied_above = inherited.into_iter().flat_map(ToolFilter::denied);
    let checked = asked.check(known.iter().copied().chain(denied_above)).and_then(|()| {
        if known.iter().any(|name| asked.permits(name)) {
            Ok(())
        } else {
            Err(UnusableFilter::NothingAllowed { known: known.iter().map(ToString::to_string).collect() })
        }
    });
    checked.map_err(|error| StartError::InvalidValue {
        capability: ToolFilter::NAME.to_owned(),
        run_id: None,
        source: error.into(),
    })?;
    Ok(Some(match inherited {
        Some(inherited) => inherited.clone().and(asked),
        None => asked,
    }))
}
