use std::sync::Arc;

use serde_json::{Map, Value, json};

/// The one property of the object that a schema of another type is wrapped in.
const PROPERTY: &str = "result";

/// Definitions that references from anywhere in a schema point to; they stay at its root.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// A schema in the form that models can be given: an object's.
pub(super) struct WrappedSchema {
    shown: Arc<Value>,
    wraps: bool,
}

impl WrappedSchema {
    pub(super) fn of(schema: &Value) -> Self {
        if schema.get("type").and_then(Value::as_str) == Some("object") {
            return Self { shown: Arc::new(schema.clone()), wraps: false };
        }
        let mut inner = schema.clone();
        let mut shown = Map::new();
        if let Value::Object(inner) = &mut inner {
            for key in DEFINITIONS.into_iter().chain(["$schema"]) {
                if let Some(moved) = inner.remove(key) {
                    shown.insert(key.to_owned(), moved);
                }
            }
            // `#` is the root, which is another schema now.
            if refers_to_root(schema) {
                let root = Value::Object(inner.clone());
                retarget(&mut shown, inner, root);
            }
        }
        shown.insert("type".to_owned(), json!("object"));
        shown.insert("properties".to_owned(), json!({ PROPERTY: inner }));
        shown.insert("required".to_owned(), json!([PROPERTY]));
        shown.insert("additionalProperties".to_owned(), json!(false));
        Self { shown: Arc::new(Value::Object(shown)), wraps: true }
    }

    pub(super) fn shown(&self) -> &Arc<Value> {
        &self.shown
    }

    pub(super) fn unwrap(&self, delivered: Value) -> Result<Value, String> {
        if !self.wraps {
            return Ok(delivered);
        }
        match delivered {
            Value::Object(mut object) if object.contains_key(PROPERTY) => {
                Ok(object.remove(PROPERTY).unwrap_or_default())
            }
            _ => Err(format!("{PROPERTY}: missing; the value belongs under this one property")),
        }
    }
}

fn refers_to_root(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            object.get("$ref").is_some_and(|target| place_in_root(target).is_some())
                || object.values().any(refers_to_root)
        }
        Value::Array(items) => items.iter().any(refers_to_root),
        _ => false,
    }
}

/// Where in the root a reference points, as what follows `#`; `None` for one that the root's move leaves as it is.
fn place_in_root(target: &Value) -> Option<&str> {
    let place = target.as_str()?.strip_prefix('#')?;
    let first = place.strip_prefix('/').map(|place| place.split('/').next().unwrap_or_default());
    (place.is_empty() || first.is_some_and(|first| !DEFINITIONS.contains(&first))).then_some(place)
}

/// Makes what was the root a definition, and points its references there.
fn retarget(shown: &mut Map<String, Value>, inner: &mut Map<String, Value>, root: Value) {
    let definitions = shown.entry("$defs").or_insert_with(|| json!({}));
    if let Value::Object(definitions) = definitions {
        let mut name = "root".to_owned();
        while definitions.contains_key(&name) {
            name.push('_');
        }
        definitions.insert(name.clone(), root);
        let target = format!("#/$defs/{name}");
        for definition in definitions.values_mut() {
            point(definition, &target);
        }
        inner.clear();
        inner.insert("$ref".to_owned(), target.into());
    }
}

fn point(schema: &mut Value, target: &str) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                match place_in_root(value).filter(|_| key == "$ref") {
                    Some(place) => *value = format!("{target}{place}").into(),
                    None => point(value, target),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point(item, target)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objects_schema_is_shown_as_it_is() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let wrapped = WrappedSchema::of(&schema);
        assert_eq!(**wrapped.shown(), schema);
        assert_eq!(wrapped.unwrap(json!({"a": "b"})), Ok(json!({"a": "b"})));
    }

    #[test]
    fn another_schema_becomes_one_property_and_its_definitions_stay_at_the_root() {
        let schema = json!({"type": "array", "items": {"$ref": "#/$defs/Item"}, "$defs": {"Item": {"type": "string"}}});
        let wrapped = WrappedSchema::of(&schema);
        assert_eq!(
            **wrapped.shown(),
            json!({
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Item"}}},
                "required": ["result"],
                "additionalProperties": false,
                "$defs": {"Item": {"type": "string"}},
            })
        );
        assert_eq!(wrapped.unwrap(json!({"result": ["a"]})), Ok(json!(["a"])));
        assert!(wrapped.unwrap(json!(["a"])).unwrap_err().contains("result: missing"));
    }

    #[test]
    fn a_reference_into_the_root_follows_it() {
        let schema = json!({"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/prefixItems/0"}, {"$ref": "#/$defs/Item"}, {"$ref": "#anchor"}]});
        let wrapped = WrappedSchema::of(&schema);
        let moved = &wrapped.shown()["$defs"]["root"]["prefixItems"];
        assert_eq!(moved[1], json!({"$ref": "#/$defs/root/prefixItems/0"}));
        assert_eq!((&moved[2]["$ref"], &moved[3]["$ref"]), (&json!("#/$defs/Item"), &json!("#anchor")));
    }

    #[test]
    fn a_reference_to_the_root_follows_it() {
        let schema = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]});
        assert_eq!(
            **WrappedSchema::of(&schema).shown(),
            json!({
                "type": "object",
                "properties": {"result": {"$ref": "#/$defs/root"}},
                "required": ["result"],
                "additionalProperties": false,
                "$defs": {"root": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/root"}}]}},
            })
        );
    }
}
