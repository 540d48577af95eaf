use serde_json::{Value, json};

use crate::acp::wire::{text_at, texts_at};

/// The models and modes that an agent offers for a session.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// Options by category, the way that is to stay.
    options: Vec<Value>,
    /// Modes and models of their own, as before there were options.
    modes: Value,
    models: Value,
}

/// A method and its parameters.
type Request = (&'static str, Value);

impl Choices {
    /// What the answer that opened a session offers.
    pub(super) fn read(answer: &Value) -> Self {
        Self {
            options: answer["configOptions"].as_array().cloned().unwrap_or_default(),
            modes: answer["modes"].clone(),
            models: answer["models"].clone(),
        }
    }

    /// One choice may change what else there is.
    pub(super) fn update(&mut self, answer: &Value) {
        if let Some(options) = answer["configOptions"].as_array() {
            self.options.clone_from(options);
        }
    }

    /// The request that makes a choice, `None` where it is made already; else what there is to choose from.
    pub(super) fn request(
        &self,
        session: &str,
        category: &str,
        value: &str,
    ) -> Result<Option<Request>, Vec<String>> {
        if let Some(option) = self.options.iter().find(|option| option["category"] == category) {
            return pick(&option["currentValue"], &offered(option), value).map(|chosen| {
                chosen.then(|| {
                    let params = json!({ "sessionId": session, "configId": option["id"], "value": value });
                    ("session/set_config_option", params)
                })
            });
        }
        let (state, list, id, current, method) = match category {
            "model" => (&self.models, "availableModels", "modelId", "currentModelId", "session/set_model"),
            _ => (&self.modes, "availableModes", "id", "currentModeId", "session/set_mode"),
        };
        let parameter = if category == "model" { "modelId" } else { "modeId" };
        pick(&state[current], &texts_at(&state[list], id), value).map(|chosen| {
            chosen.then(|| {
                let mut params = json!({ "sessionId": session });
                params[parameter] = value.into();
                (method, params)
            })
        })
    }
}

/// Whether a value has to be chosen: it may be the present one already.
fn pick(current: &Value, known: &[String], value: &str) -> Result<bool, Vec<String>> {
    if *current == value {
        Ok(false)
    } else if known.iter().any(|known| known == value) {
        Ok(true)
    } else {
        Err(known.to_vec())
    }
}

/// The values of an option, which may be in groups.
fn offered(option: &Value) -> Vec<String> {
    let entries = option["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .flat_map(|entry| match text_at(entry, "value") {
            Some(value) => vec![value],
            None => texts_at(&entry["options"], "value"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_option() -> Choices {
        Choices::read(&json!({
            "configOptions": [
                {
                    "id": "m", "category": "model", "type": "select", "currentValue": "small",
                    "options": [
                        { "group": "g", "options": [{ "value": "small" }, { "value": "large" }] },
                    ],
                },
                { "id": "x", "category": "mode", "currentValue": "ask", "options": [{ "value": "code" }] },
            ],
            "modes": { "currentModeId": "old", "availableModes": [{ "id": "older" }] },
        }))
    }

    #[test]
    fn a_choice_is_made_by_the_category_of_an_option() {
        let (method, params) = by_option().request("s", "model", "large").unwrap().unwrap();
        assert_eq!(method, "session/set_config_option");
        assert_eq!(params, json!({ "sessionId": "s", "configId": "m", "value": "large" }));
        assert_eq!(by_option().request("s", "model", "small").unwrap(), None);
    }

    #[test]
    fn without_an_option_the_older_way_is_used() {
        let old = Choices::read(&json!({
            "modes": { "currentModeId": "ask", "availableModes": [{ "id": "ask" }, { "id": "code" }] },
            "models": { "currentModelId": "a", "availableModels": [{ "modelId": "b" }] },
        }));
        let mode = old.request("s", "mode", "code").unwrap().unwrap();
        assert_eq!(mode, ("session/set_mode", json!({ "sessionId": "s", "modeId": "code" })));
        let model = old.request("s", "model", "b").unwrap().unwrap();
        assert_eq!(model, ("session/set_model", json!({ "sessionId": "s", "modelId": "b" })));
    }

    #[test]
    fn an_unknown_value_is_refused_with_the_known_ones() {
        assert_eq!(by_option().request("s", "model", "huge").unwrap_err(), ["small", "large"]);
        assert_eq!(Choices::default().request("s", "mode", "code").unwrap_err(), [""; 0]);
    }
}
