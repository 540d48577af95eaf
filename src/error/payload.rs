use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs foreign code; a panic in it becomes its message.
pub(crate) fn contain<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(message)
}

/// The text of a panic, whatever was thrown. A payload whose own drop panics is dropped no further.
pub(crate) fn message(payload: Box<dyn Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a value that is not text was thrown".to_owned(),
    };
    if let Err(thrown_by_drop) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its drop may panic again, and so may the next: leaking this one ends the chain.
        let _leaked = ManuallyDrop::new(thrown_by_drop);
    }
    text
}
