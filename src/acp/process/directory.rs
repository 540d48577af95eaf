use std::path::Path;

use crate::acp::error::AcpStartError;

/// Refuses a working directory that a child could not work in.
pub(super) fn check(directory: &Path) -> Result<(), AcpStartError> {
    let refused =
        |reason, source| AcpStartError::WorkingDirectory { directory: directory.to_owned(), reason, source };
    if !directory.is_absolute() {
        return Err(refused("it has to be absolute", None));
    }
    match std::fs::metadata(directory) {
        Ok(found) if !found.is_dir() => return Err(refused("it is not a directory", None)),
        Ok(_) => {}
        Err(error) => return Err(refused("it has to exist", Some(error))),
    }
    // Looking up a name in it is what searching means.
    std::fs::metadata(directory.join("."))
        .map_err(|error| refused("it has to be searchable", Some(error)))?;
    Ok(())
}
