//! Models that an argument names by their place in the Hugging Face hub, `ORG/REPO[:QUANT][@REV]`.
//!
//! In: what a user gave as a model, and what the program knows of the hub. Out: a path of this machine. A path that
//! there is goes before a name. Never here: the environment, which the program reads.

use super::progress::Progress;
use crate::embed::EmbedError;
use crate::hub_name::ModelName;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the program knows of the hub, beside the arguments of a command that takes a model.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct HubArgs {
    /// It is set by the program; no argument sets it.
    #[arg(skip)]
    pub access: HubAccess,
}

/// Whether names of the hub are looked up.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum HubAccess {
    /// What is given is a path.
    #[default]
    Never,
    /// The program was built without the feature `hub`, which is said where a name is given.
    NotBuilt,
    /// They are.
    #[cfg(feature = "hub")]
    Through(crate::hub::Options),
}

/// Which files of a repository a command takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A GGUF model, or a folder.
    Any,
    /// A folder alone.
    Folder,
}

impl HubArgs {
    /// The path of a model: what is given, or where the model of that name is in the hub's cache after it was
    /// fetched.
    ///
    /// # Errors
    /// [`EmbedError::Hub`] with what is wrong, [`EmbedError::Usage`] where the program was built without the hub.
    pub(crate) fn located(
        &self,
        given: &Path,
        takes: Takes,
        progress: &Progress,
        log: &mut dyn Write,
    ) -> Result<PathBuf, EmbedError> {
        let name = given.to_str().and_then(|text| text.parse::<ModelName>().ok());
        let Some(name) = name.filter(|_| std::fs::symlink_metadata(given).is_err()) else {
            return Ok(given.to_owned());
        };
        #[cfg(not(feature = "hub"))]
        let _ = (takes, progress, log);
        match &self.access {
            HubAccess::Never => Ok(given.to_owned()),
            HubAccess::NotBuilt => Err(EmbedError::Usage(format!(
                "`{name}` is no file or folder here; models of the Hugging Face hub need the feature hub: `cargo install \
                 --path crates/pumice --features cli,hub`"
            ))),
            #[cfg(feature = "hub")]
            HubAccess::Through(options) => fetched(&name, takes, options, progress, log),
        }
    }
}

/// Fetches a model, shows how far it is, and says which commit it is.
#[cfg(feature = "hub")]
fn fetched(
    name: &ModelName,
    takes: Takes,
    options: &crate::hub::Options,
    progress: &Progress,
    log: &mut dyn Write,
) -> Result<PathBuf, EmbedError> {
    use crate::hub::{Event, Form, fetch};
    let form = match takes {
        Takes::Any => Form::Any,
        Takes::Folder => Form::Folder,
    };
    let mut shown = progress.bytes(&name.to_string());
    let found = fetch(name, form, options, &mut |event| {
        match event {
            Event::Bytes { file, done, of } => shown.reached(file, done, of),
            Event::Waiting { file } => shown.waiting(file),
        }
        std::ops::ControlFlow::Continue(())
    });
    shown.end();
    let found = found.map_err(|source| EmbedError::Hub { name: name.to_string(), source })?;
    let said = writeln!(log, "model: {name}, commit {}", &found.commit[..12]);
    said.map_err(|source| EmbedError::Io { path: "standard error".into(), action: "writing", source })?;
    Ok(found.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_hub_a_name_is_told_how_to_get_it() {
        let located = |access, given: &str| {
            HubArgs { access }.located(Path::new(given), Takes::Any, &Progress::new(), &mut Vec::new())
        };
        let told = located(HubAccess::NotBuilt, "nobody/nothing:Q4_0").expect_err("refused").to_string();
        assert!(told.contains("nobody/nothing:Q4_0") && told.contains("--features cli,hub"), "{told}");
        // What is there is a path, and so is what is no name.
        for path in ["src/lib.rs", "./nobody/nothing", "nothing.gguf"] {
            assert_eq!(located(HubAccess::NotBuilt, path).expect("a path"), Path::new(path));
        }
        assert_eq!(located(HubAccess::Never, "a/b").expect("a path"), Path::new("a/b"));
    }
}
