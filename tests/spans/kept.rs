//! A subscriber that keeps every span: what it is in, its fields, whether it is closed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

#[derive(Clone, Default)]
pub(crate) struct Spans(Arc<Mutex<Vec<Kept>>>);

struct Kept {
    name: &'static str,
    parent: Option<usize>,
    fields: Fields,
    open: bool,
}

/// Where in the list a span is: ids are used again.
struct At(usize);

impl Spans {
    pub(crate) fn installed() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(spans.clone()));
        (spans, guard)
    }

    /// The name of every span, behind those of the spans around it, in the order of their beginning.
    pub(crate) fn paths(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let mut paths: Vec<String> = Vec::new();
        for span in &*all {
            let own = span.fields.0.get("otel.name").map_or(span.name, String::as_str);
            paths.push(match span.parent {
                Some(parent) => format!("{} > {own}", paths[parent]),
                None => own.to_owned(),
            });
        }
        paths
    }

    pub(crate) fn field(&self, at: usize, name: &str) -> Option<String> {
        self.0.lock().unwrap()[at].fields.0.get(name).cloned()
    }

    pub(crate) fn fields(&self, at: usize) -> Vec<(&'static str, String)> {
        let all = self.0.lock().unwrap();
        all[at].fields.0.iter().map(|(name, value)| (*name, value.clone())).collect()
    }

    pub(crate) fn open(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|span| span.open).count()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let span = context.span(id).unwrap();
        let parent = span.parent().map(|parent| parent.extensions().get::<At>().unwrap().0);
        let mut all = self.0.lock().unwrap();
        span.extensions_mut().insert(At(all.len()));
        all.push(Kept { name: attributes.metadata().name(), parent, fields, open: true });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let at = context.span(id).unwrap().extensions().get::<At>().unwrap().0;
        let mut fields = Fields::default();
        values.record(&mut fields);
        let mut all = self.0.lock().unwrap();
        for (name, value) in fields.0 {
            let earlier = all[at].fields.0.insert(name, value);
            assert_eq!(earlier, None, "`{name}` is recorded once");
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let at = context.span(&id).unwrap().extensions().get::<At>().unwrap().0;
        self.0.lock().unwrap()[at].open = false;
    }
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}
