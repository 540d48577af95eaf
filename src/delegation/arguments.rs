use serde_json::{Map, Value};

use crate::id::RunId;

/// The most bytes of a prompt or message.
pub(super) const MOST_PROMPT_BYTES: usize = 1024 * 1024;
/// The most bytes of a label or reason.
pub(super) const MOST_LABEL_BYTES: usize = 200;
/// How much of what a model wrote is quoted back to it.
const QUOTED: usize = 60;

/// A call's arguments, taken field by field. Each error says what would be right.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// The arguments as an object that has no field beside `known`.
    pub(super) fn read(arguments: Value, known: &[&str]) -> Result<Self, String> {
        let Value::Object(fields) = arguments else {
            return Err(format!("The arguments have to be a JSON object with: {}.", listed(known)));
        };
        match fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => Err(format!(
                "There is no argument `{}`. The arguments are: {}.",
                quoted(unknown),
                listed(known)
            )),
            None => Ok(Self(fields)),
        }
    }

    /// Text that says something: required, at most `most` bytes, without control characters.
    pub(super) fn text(&mut self, name: &str, most: usize) -> Result<String, String> {
        self.optional_text(name, most)?
            .ok_or_else(|| format!("`{name}` is missing. It has to be text that is not empty."))
    }

    pub(super) fn optional_text(&mut self, name: &str, most: usize) -> Result<Option<String>, String> {
        let text = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text,
            Some(other) => return Err(format!("`{name}` has to be text, not {}.", kind(&other))),
        };
        if text.len() > most {
            return Err(format!(
                "`{name}` has {} bytes, and the most is {most}. Shorten it, or put what is long into a file and name \
                 the file.",
                text.len()
            ));
        }
        if text.trim().is_empty() {
            return Err(format!("`{name}` is empty. It has to be text that says something."));
        }
        if let Some(found) = text.chars().find(|char| is_control(*char)) {
            return Err(format!(
                "`{name}` holds the control character U+{:04X}. Only line breaks and tabs are allowed; leave it out.",
                u32::from(found)
            ));
        }
        Ok(Some(text))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(format!("`{name}` has to be true or false, not {}.", kind(&other))),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| {
                format!("`{name}` has to be a whole number of 0 or more, not {}.", kind(&value))
            }),
        }
    }

    /// A run's id as text: whether such a run exists is another question.
    pub(super) fn id(&mut self, name: &str) -> Result<Option<Asked>, String> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(value) => Asked::read(name, &value).map(Some),
        }
    }

    /// Several ids; none where the field is not there.
    pub(super) fn ids(&mut self, name: &str) -> Result<Option<Vec<Asked>>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(values)) if values.is_empty() => {
                Err(format!("`{name}` is empty. Name at least one agent, or leave it out for all of them."))
            }
            Some(Value::Array(values)) => {
                values.iter().map(|value| Asked::read(name, value)).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(format!("`{name}` has to be a list of agent ids, not {}.", kind(&other))),
        }
    }
}

/// An id that the model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Id(RunId),
    /// Something that cannot be one, as far as it is quoted back.
    Malformed(String),
}

impl Asked {
    fn read(name: &str, value: &Value) -> Result<Self, String> {
        let Value::String(text) = value else {
            return Err(format!("`{name}` has to hold agent ids as text, not {}.", kind(value)));
        };
        Ok(text.parse().map_or_else(|_| Self::Malformed(quoted(text)), Self::Id))
    }
}

/// What a model wrote, fit to be shown: short, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String =
        text.chars().take(QUOTED).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

pub(super) fn is_control(char: char) -> bool {
    char.is_control() && !matches!(char, '\n' | '\r' | '\t')
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() {
        return "none".to_owned();
    }
    known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
