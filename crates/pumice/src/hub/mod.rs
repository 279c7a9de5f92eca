//! Models of the Hugging Face hub: a name in, a path of local files out.
//!
//! ```no_run
//! use pumice::hub::{self, Event, Form, Options};
//! use std::ops::ControlFlow;
//!
//! let name = "bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M".parse()?;
//! let options = Options::new("hub-cache");
//! let model = hub::fetch(&name, Form::Any, &options, &mut |event| {
//!     if let Event::Bytes { done, of, .. } = event {
//!         println!("{done} of {of} bytes");
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} of commit {}", model.path.display(), model.commit);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In: a name, options, an untrusted server. Out: the path of a GGUF file (of several the first) or of a folder.
//! Never here: the environment, what files hold. Files lie in the cache of huggingface_hub. Contents are whole, as
//! long as announced and of the announced sha256 before a name points to them, and names point to none of a model's
//! files before all of them are there: what is in the cache can be taken without a server. A part stays where
//! fetching ends early, and the next call asks for the rest.

mod cache;
mod choose;
mod client;
mod download;
mod error;
mod file_name;
mod options;
mod progress;
mod quant;
mod remote;
mod whole;

pub use crate::hub_name::{ModelName, NameError};
pub use choose::Form;
pub use error::HubError;
pub use options::Options;
pub use progress::Event;

use cache::{Repository, failed};
use choose::{Chosen, choose};
use client::{Asked, Client};
use file_name::{check_stored, path_in};
use progress::{Listener, Watched};
use remote::Remote;
use std::path::{Path, PathBuf};

/// Files of one model.
const MOST_FILES: usize = 2_000;

/// A model that is in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// The GGUF file, of several the first, or the folder.
    pub path: PathBuf,
    /// Which commit of the repository it is.
    pub commit: String,
    /// Names of its files in the repository.
    pub files: Vec<String>,
}

/// The files of a model, fetched as far as they are not in the cache. `listen` hears of bytes, and stops it.
///
/// # Errors
/// [`HubError`]; with [`HubError::Connection`], [`HubError::Range`] and [`HubError::Stopped`] what has come is kept.
pub fn fetch(
    name: &ModelName,
    form: Form,
    options: &Options,
    listen: &mut Listener<'_>,
) -> Result<Fetched, HubError> {
    let repository = Repository::new(options, name);
    if options.is_offline {
        return kept(name, form, &repository);
    }
    let client = Client::new(options)?;
    let listing = remote::list(&client, name)?;
    let chosen = choose(name, form, &listing.names)?;
    check_chosen(name, &chosen)?;
    let absent: Vec<&String> =
        chosen.files().iter().filter(|file| !repository.has(&listing.commit, file)).collect();
    let remote = |file: &&String| remote::file(&client, name.repository(), &listing.commit, file);
    let remotes = absent.iter().map(remote).collect::<Result<Vec<Remote>, _>>()?;
    contents(name, &client, &repository, &remotes, options, listen)?;
    let own_index =
        remotes.iter().find(|file| file.name == choose::INDEX).map(|file| repository.blob(&file.etag));
    let index = own_index.unwrap_or_else(|| repository.snapshot(&listing.commit).join(choose::INDEX));
    check_whole(name, &chosen, &index, SERVER)?;
    for file in &remotes {
        repository.point(&listing.commit, &file.name, &file.etag)?;
    }
    repository.set_commit(name.revision(), &listing.commit)?;
    Ok(found(&repository, listing.commit, &chosen))
}

/// What of the model is in the cache.
fn kept(name: &ModelName, form: Form, repository: &Repository) -> Result<Fetched, HubError> {
    let nothing = |missing: String| HubError::Missing {
        repository: name.repository().to_owned(),
        missing: vec![missing],
        place: repository.folder().display().to_string(),
        remedy: CACHE.1,
    };
    let commit = repository.commit(name.revision())?;
    let commit = commit.ok_or_else(|| nothing(format!("revision {}", name.revision())))?;
    let names = repository.names(&commit)?;
    if names.is_empty() {
        return Err(nothing(format!("commit {commit}")));
    }
    // A folder whose weights are not there is still the folder, whose missing files have names.
    let chosen = match choose(name, form, &names) {
        Err(HubError::NoModel { available, .. }) if available.is_empty() => Chosen::Folder(names),
        other => other?,
    };
    check_whole(name, &chosen, &repository.snapshot(&commit).join(choose::INDEX), CACHE)?;
    Ok(found(repository, commit, &chosen))
}

/// A place and what to do where a file is missing there.
type Where = (&'static str, &'static str);
const SERVER: Where =
    ("the repository", "its makers left it out; take another model, or another file of this one");
const CACHE: Where = ("the cache", "fetch the model once without HF_HUB_OFFLINE");

/// Whether all files of the model are there; `index` is the file that lists a folder's shards.
fn check_whole(
    name: &ModelName,
    chosen: &Chosen,
    index: &Path,
    (place, remedy): Where,
) -> Result<(), HubError> {
    let missing = whole::missing(chosen, index);
    if missing.is_empty() {
        return Ok(());
    }
    Err(HubError::Missing {
        repository: name.repository().to_owned(),
        missing,
        place: place.to_owned(),
        remedy,
    })
}

fn found(repository: &Repository, commit: String, chosen: &Chosen) -> Fetched {
    let snapshot = repository.snapshot(&commit);
    let path = match chosen {
        Chosen::Gguf(set) => set.files.first().map_or(snapshot.clone(), |first| path_in(&snapshot, first)),
        Chosen::Folder(_) => snapshot,
    };
    Fetched { path, commit, files: chosen.files().to_vec() }
}

/// Names that become paths, and shards that the repository has not, before anything is fetched.
fn check_chosen(name: &ModelName, chosen: &Chosen) -> Result<(), HubError> {
    let files = chosen.files();
    if files.len() > MOST_FILES {
        let problem = format!("the model has {} files; at most {MOST_FILES} are read", files.len());
        return Err(HubError::Answer { what: name.repository().to_owned(), problem });
    }
    files.iter().try_for_each(|file| check_stored(name.repository(), file))?;
    match chosen {
        // What an index lists is known once it is there.
        Chosen::Folder(_) => Ok(()),
        Chosen::Gguf(_) => check_whole(name, chosen, Path::new(choose::INDEX), SERVER),
    }
}

/// Fetches the contents of files, where the disk has room for all of them.
fn contents(
    name: &ModelName,
    client: &Client,
    repository: &Repository,
    remotes: &[Remote],
    options: &Options,
    listen: &mut Listener<'_>,
) -> Result<(), HubError> {
    if remotes.is_empty() {
        return Ok(());
    }
    repository.create()?;
    check_room(repository, remotes, options)?;
    let sum = remotes.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    let mut watched = Watched::new(listen, sum);
    for file in remotes {
        let what = format!("{}/{}", name.repository(), file.name);
        let asked = Asked { what: &what, repository: name.repository() };
        download::fetch(client, repository, file, asked, &mut watched)?;
    }
    Ok(())
}

/// Whether the disk has room for what is missing of these files.
fn check_room(repository: &Repository, remotes: &[Remote], options: &Options) -> Result<(), HubError> {
    let missing = |file: &Remote| {
        if download::is_whole(&repository.blob(&file.etag), file) {
            return 0;
        }
        let part = std::fs::metadata(repository.part(&file.etag)).map_or(0, |known| known.len());
        file.bytes.saturating_sub(part)
    };
    let needed = remotes.iter().fold(0u64, |sum, file| sum.saturating_add(missing(file)));
    let path = options.cache.clone();
    let available = fs4::available_space(&path).map_err(|e| failed(&path, "asking for free bytes", e))?;
    if needed > available { Err(HubError::Room { needed, available, path }) } else { Ok(()) }
}
