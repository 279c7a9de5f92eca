//! How a model of the Hugging Face hub is called on a command line: `ORG/REPO[:QUANT][@REV]`.
//!
//! In: a text. Out: its parts, each safe as a part of a path and of a URL. Never here: whether there is such a model.

use std::fmt;
use std::str::FromStr;

/// The longest name of an organization, a repository, an encoding or a revision.
const LONGEST: usize = 96;
/// Where nobody says which revision.
const MAIN: &str = "main";

/// A model of the hub.
///
/// ```
/// use pumice::hub::ModelName;
///
/// let name: ModelName = "org/tiny-gguf:Q4_K_M@main".parse()?;
/// assert_eq!((name.repository(), name.quant()), ("org/tiny-gguf", Some("Q4_K_M")));
/// assert!("../secret".parse::<ModelName>().is_err());
/// # Ok::<(), pumice::hub::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    repository: String,
    quant: Option<String>,
    revision: String,
}

/// A text that is no name of a model of the hub.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` does not name a model of the hub: ORG/REPO[:QUANT][@REV] is wanted, as in bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M",
    text.escape_debug()
)]
pub struct NameError {
    /// The text.
    pub text: String,
}

pumice_types::debug_as_display!(NameError);

#[cfg(feature = "hub")]
impl ModelName {
    /// `ORG/REPO`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The encoding that is wanted of several GGUF files.
    pub fn quant(&self) -> Option<&str> {
        self.quant.as_deref()
    }

    /// A branch, a tag or a commit; `main` where the name has none.
    pub fn revision(&self) -> &str {
        &self.revision
    }
}

impl FromStr for ModelName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<ModelName, NameError> {
        let (rest, revision) = text.split_once('@').unwrap_or((text, MAIN));
        let (repository, quant) = match rest.split_once(':') {
            Some((repository, quant)) => (repository, Some(quant)),
            None => (rest, None),
        };
        let two = repository.split_once('/').is_some_and(|(org, name)| is_plain(org) && is_plain(name));
        let wanted = two && quant.is_none_or(is_plain) && revision.split('/').all(is_plain);
        if !wanted || revision.len() > LONGEST {
            return Err(NameError { text: text.to_owned() });
        }
        let (repository, revision) = (repository.to_owned(), revision.to_owned());
        Ok(ModelName { repository, quant: quant.map(str::to_owned), revision })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        if let Some(quant) = &self.quant {
            write!(f, ":{quant}")?;
        }
        if self.revision == MAIN { Ok(()) } else { write!(f, "@{}", self.revision) }
    }
}

/// Letters, digits and `._-`, as the hub has them. `--` separates names in its cache, and a point at either end has a
/// meaning to file systems.
fn is_plain(part: &str) -> bool {
    let plain = part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    let ends = [part.as_bytes().first(), part.as_bytes().last()];
    let pointed = ends.contains(&Some(&b'.')) || ends[0] == Some(&b'-');
    !part.is_empty()
        && part.len() <= LONGEST
        && plain
        && !pointed
        && !part.contains("--")
        && !part.contains("..")
}

#[cfg(all(test, feature = "hub"))]
mod tests {
    use super::*;

    #[test]
    fn names_have_three_parts() {
        let name = |text: &str| text.parse::<ModelName>().expect("a name");
        let all = name("a-b/C.d_e:q4_0@refs/pr/1");
        assert_eq!((all.repository(), all.quant(), all.revision()), ("a-b/C.d_e", Some("q4_0"), "refs/pr/1"));
        assert_eq!(all.to_string(), "a-b/C.d_e:q4_0@refs/pr/1");
        let short = name("a/b");
        assert_eq!((short.quant(), short.revision(), short.to_string().as_str()), (None, "main", "a/b"));
        assert_eq!(name("a/b@v1").quant(), None);
    }

    #[test]
    fn what_is_a_path_is_no_name() {
        let long = format!("a/{}", "b".repeat(97));
        for text in [
            "", "a", "a/b/c", "/a/b", "./a/b", "../a", "a/..", "a/b:", "a/b@", "a/b:c/d", "a/b@../c",
            "a/b@/c", "a\\b", "a/b c", "C:/x", "a/b\n", "a--b/c", "a/-b", "a/b@x//y", "a/.b", &long,
            "~/models",
        ] {
            assert!(text.parse::<ModelName>().is_err(), "{text}");
        }
    }
}
