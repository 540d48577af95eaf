mod background;
mod foreground;

pub(super) use background::begin_now;

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::{Arguments, MOST_LABEL_BYTES, MOST_PROMPT_BYTES};
use super::builder::{ByProviderName, SubagentToolBuilder};
use super::context::CallContext;
use super::source::Source;
use super::tools;
use super::toolset::DEFAULT_RESULT_BYTES;
use crate::agent::{Tool, ToolContext, ToolDefinition, ToolOutput};
use crate::content::ContentBlock;
use crate::provider::Provider;
use crate::registry::{ProviderHandle, Subagents};

/// Hands a task to a child of one provider, waits for it, and returns what it brought. Its model sees `description`
/// and `prompt`. Cheap to clone.
///
/// The child is started, collected and disposed of on every path; it is cancelled with the call. A child that did not
/// complete is an error result: the reason first, then the diagnostic, then what it said so far.
#[derive(Clone)]
pub struct SubagentTool {
    pub(super) source: Arc<dyn Source>,
    pub(super) settings: Arc<Settings>,
}

/// What a tool is configured with.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) result_bytes: usize,
    pub(super) prompt_bytes: usize,
    /// Whether the toolset has a tool that reads long results.
    pub(super) can_read: bool,
    /// What the toolset adds.
    pub(super) background: Option<Background>,
}

/// What background work is bound by.
#[derive(Debug, Clone)]
pub(super) struct Background {
    /// How many children of one agent may be at work.
    pub(super) most: usize,
    /// Whether settled children are kept for follow-ups.
    pub(super) keeps: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "subagent".to_owned(),
            description: None,
            result_bytes: DEFAULT_RESULT_BYTES,
            prompt_bytes: MOST_PROMPT_BYTES,
            can_read: false,
            background: None,
        }
    }
}

/// Told to every child with its prompt.
const CONTRACT: &str = "Your last message is all that is handed back to whoever gave you this task: put your whole \
                        result into it, and do not refer to what you said before.";

impl SubagentTool {
    /// A tool for this provider.
    pub fn builder<P: Provider>(provider: &ProviderHandle<P>) -> SubagentToolBuilder<ProviderHandle<P>> {
        SubagentToolBuilder::typed(provider)
    }

    /// A tool for the provider of this name. It need not be registered yet: each call finds out.
    pub fn by_name(
        subagents: &Subagents,
        provider: impl Into<Arc<str>>,
    ) -> SubagentToolBuilder<ByProviderName> {
        SubagentToolBuilder::named(subagents, provider.into())
    }

    pub(super) fn new(source: Arc<dyn Source>, settings: Settings) -> Self {
        Self { source, settings: Arc::new(settings) }
    }

    /// Whether the provider is registered.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.source.sees_conversation().is_some()
    }

    /// What a model is told of the tool, as things are now.
    #[must_use]
    pub fn definition(&self) -> ToolDefinition {
        let mut properties = json!({
            "description": {
                "type": "string",
                "description": "The task in a few words.",
                "minLength": 1,
                "maxLength": MOST_LABEL_BYTES,
            },
            "prompt": {
                "type": "string",
                "description": "The task: what to do, what to know for it, and what to hand back.",
                "minLength": 1,
            },
        });
        if self.settings.background.is_some() {
            properties[RUN_IN_BACKGROUND] = json!({
                "type": "boolean",
                "description": "Go on at once while the subagent works; you are told when it has ended.",
            });
        }
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": ["description", "prompt"],
            "additionalProperties": false,
        });
        ToolDefinition::new(self.settings.name.clone(), self.description(), schema)
    }

    /// Runs one call. It does not fail: what goes wrong is an error output.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, a child that it waits for is cancelled and disposed of in the background.
    pub async fn call(&self, arguments: Value, context: impl Into<CallContext> + Send) -> ToolOutput {
        let context = context.into();
        Box::pin(self.delegate(arguments, &context)).await.unwrap_or_else(ToolOutput::error)
    }

    async fn delegate(&self, arguments: Value, context: &CallContext) -> Result<ToolOutput, String> {
        let fields: &[&str] = match self.settings.background {
            None => &["description", "prompt"],
            Some(_) => &["description", "prompt", RUN_IN_BACKGROUND],
        };
        let mut arguments = Arguments::read(arguments, fields)?;
        let description = arguments.text("description", MOST_LABEL_BYTES)?;
        let prompt = arguments.text("prompt", self.settings.prompt_bytes)?;
        let prompt = vec![ContentBlock::text(prompt), ContentBlock::text(format!("\n\n{CONTRACT}"))];
        match &self.settings.background {
            Some(background) if arguments.flag(RUN_IN_BACKGROUND)? => {
                self.start_in_background(background, &description, prompt, context).await
            }
            _ => self.run(prompt, context).await,
        }
    }

    fn description(&self) -> String {
        let what = self.settings.description.as_deref().unwrap_or(
            "Hands a task to a subagent, which works on it by itself, and returns what it hands back.",
        );
        let sees = match self.source.sees_conversation() {
            None => "It is not available at the moment.",
            Some(false) => {
                "The subagent sees nothing of this conversation: the prompt has to say everything that it needs."
            }
            Some(true) => {
                "The subagent sees this conversation up to the end of your last turn: the prompt has to say what it \
                 is to do, and what is new since then."
            }
        };
        format!("{what} {sees}")
    }

    /// The tool with which the rest of a long result is read, where there is one.
    pub(super) fn reader(&self) -> Option<&'static str> {
        self.settings.can_read.then_some(tools::READ_RESULT)
    }
}

fn start_failed(why: &str) -> String {
    format!("The subagent could not be started: {why}.")
}

pub(super) const RUN_IN_BACKGROUND: &str = "run_in_background";

impl Tool for SubagentTool {
    fn definition(&self) -> ToolDefinition {
        self.definition()
    }

    async fn call(&self, arguments: Value, context: ToolContext) -> ToolOutput {
        self.call(arguments, &context).await
    }
}

impl fmt::Debug for SubagentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubagentTool")
            .field("provider", &self.source.provider())
            .field("settings", &self.settings)
            .finish()
    }
}
