//! The checkout that xtask works on. In: the current folder. Out: its root, its files in a fixed order, its
//! packages. Never here: what a file must contain.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::child;
use crate::failure::{Failure, Outcome};
use crate::save;

/// The folder of all-MiniLM-L6-v2.
pub const MINILM: &str = "all-MiniLM-L6-v2";
/// The folder of SmolLM2-135M-Instruct.
pub const SMOLLM2: &str = "SmolLM2-135M-Instruct";

/// The workspace around the current folder.
#[derive(Debug, Clone)]
pub struct Checkout {
    /// Folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
}

/// One package of the workspace, as `cargo metadata` tells it.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    /// Package name.
    pub name: String,
    /// `Some([])` means that the package is never published.
    publish: Option<Vec<String>>,
    /// What the package builds.
    pub targets: Vec<PackageTarget>,
    /// What the package names in its dependency tables.
    pub dependencies: Vec<Dependency>,
}

/// One library, binary, test or example.
#[derive(Debug, Clone, Deserialize)]
pub struct PackageTarget {
    /// Target name.
    pub name: String,
    /// `lib`, `bin`, `test`, `example`, ...
    pub kind: Vec<String>,
}

/// One line of a dependency table.
#[derive(Debug, Clone, Deserialize)]
pub struct Dependency {
    /// Name of the package depended on.
    pub name: String,
    /// None for ordinary dependencies, `dev` or `build` else.
    pub kind: Option<String>,
    /// Features asked for.
    #[serde(default)]
    pub features: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

impl Package {
    /// Whether `cargo publish` would accept it.
    pub fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

impl Checkout {
    /// Finds the workspace that holds the current folder.
    pub fn find() -> Outcome<Checkout> {
        let here = std::env::current_dir().map_err(Failure::file(Path::new(".")))?;
        for folder in here.ancestors() {
            let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
            if text.lines().any(|line| line.trim() == "[workspace]") {
                return Ok(Checkout { root: folder.to_owned() });
            }
        }
        Err(Failure::said(format!("{}: not inside pumice's checkout", here.display())))
    }

    /// Every file that is not a build output, as paths relative to the root with `/`, sorted.
    pub fn files(&self) -> Outcome<Vec<String>> {
        let mut found = Vec::new();
        self.walk(&self.root, "", &mut found)?;
        found.sort();
        Ok(found)
    }

    fn walk(&self, folder: &Path, prefix: &str, found: &mut Vec<String>) -> Outcome {
        const HIDDEN_BUT_OURS: [&str; 4] = [".ci", ".cargo", ".config", ".gitignore"];
        const OUTPUTS: [&str; 3] = ["target", "models", "node_modules"];
        for entry in fs::read_dir(folder).map_err(Failure::file(folder))? {
            let entry = entry.map_err(Failure::file(folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && !HIDDEN_BUT_OURS.contains(&name.as_str());
            if hidden || (prefix.is_empty() && OUTPUTS.contains(&name.as_str())) {
                continue;
            }
            let kind = entry.file_type().map_err(Failure::file(&entry.path()))?;
            if kind.is_dir() {
                self.walk(&entry.path(), &format!("{prefix}{name}/"), found)?;
            } else if kind.is_file() {
                found.push(format!("{prefix}{name}"));
            }
        }
        Ok(())
    }

    /// Reads a text file by its path relative to the root.
    pub fn read(&self, path: &str) -> Outcome<String> {
        let full = self.root.join(path);
        fs::read_to_string(&full).map_err(Failure::file(&full))
    }

    /// Writes a file, so that a kill leaves the old text or the new.
    pub fn write(&self, path: &str, text: &str) -> Outcome {
        let full = self.root.join(path);
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder).map_err(Failure::file(folder))?;
        }
        save::replace(&full, text.as_bytes()).map_err(Failure::file(&full))
    }

    /// The packages of the workspace, in Cargo's order.
    pub fn packages(&self) -> Outcome<Vec<Package>> {
        Ok(self.metadata()?.packages)
    }

    /// Where Cargo puts build outputs.
    pub fn target_folder(&self) -> Outcome<PathBuf> {
        Ok(self.metadata()?.target_directory)
    }

    /// Where the demo puts a model of that name, and where tests find it.
    pub fn model_folder(&self, name: &str) -> Outcome<PathBuf> {
        Ok(self.target_folder()?.join("demo").join(name))
    }

    fn metadata(&self) -> Outcome<Metadata> {
        let mut command = child::cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(&self.root);
        let text = child::stdout(&mut command)?;
        serde_json::from_str(&text).map_err(|e| Failure::said(format!("cargo metadata: {e}")))
    }
}
