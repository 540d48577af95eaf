//! What several examples share: the model that they run on, and the agent that speaks the Agent Client Protocol.

#[cfg(feature = "acp")]
pub(crate) mod acp_server;

use std::error::Error;
use std::sync::Arc;

use subagent::agent::Model;

/// The model that `SUBAGENT_MODEL` names, if it is set: at `SUBAGENT_BASE_URL` if that is set, with the key
/// `SUBAGENT_API_KEY` or else that of the vendor's own variable.
#[cfg(feature = "genai")]
pub(crate) fn real_model() -> Result<Option<Arc<dyn Model>>, Box<dyn Error>> {
    use subagent::agent::GenaiModel;

    let Ok(name) = std::env::var("SUBAGENT_MODEL") else { return Ok(None) };
    let mut model = GenaiModel::builder(name);
    if let Ok(base_url) = std::env::var("SUBAGENT_BASE_URL") {
        model = model.base_url(base_url);
    }
    if let Ok(key) = std::env::var("SUBAGENT_API_KEY") {
        model = model.key(key);
    }
    Ok(Some(Arc::new(model.build()?)))
}

/// None: a real model needs `--features genai`.
#[cfg(not(feature = "genai"))]
pub(crate) fn real_model() -> Result<Option<Arc<dyn Model>>, Box<dyn Error>> {
    match std::env::var_os("SUBAGENT_MODEL") {
        Some(_) => Err("SUBAGENT_MODEL is set: run this with `--features genai`".into()),
        None => Ok(None),
    }
}
