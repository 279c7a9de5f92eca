//! `spv/manifest.json`: what every module was made from, so that anyone can tell without a shader compiler whether the
//! SPIR-V is up to date.
//!
//! `declaration` is the SHA-256 of `pumice_plan::kernel::interface::fingerprint`, `sources` those of the GLSL files
//! (relative to `shaders/`), `modules` those of the files in `spv/`.

use crate::error::BuildError;
use pumice_plan::kernel::{KernelDecl, interface};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The whole manifest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// By kernel name.
    pub kernels: BTreeMap<String, Entry>,
}

/// One kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Hash of the declaration's fingerprint.
    pub declaration: String,
    /// Hashes of the sources.
    pub sources: BTreeMap<String, String>,
    /// Hashes of the modules.
    pub modules: BTreeMap<String, String>,
}

/// SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

impl Entry {
    /// An entry without sources and modules.
    pub fn new(decl: &KernelDecl) -> Entry {
        let declaration = hash(interface::fingerprint(decl).as_bytes());
        Entry { declaration, sources: BTreeMap::new(), modules: BTreeMap::new() }
    }

    /// Whether declaration, sources and modules are those that were hashed.
    pub fn is_current(&self, decl: &KernelDecl, root: &Path) -> bool {
        let same =
            |path: &Path, expected: &str| std::fs::read(path).is_ok_and(|bytes| hash(&bytes) == expected);
        self.declaration == Entry::new(decl).declaration
            && self.sources.iter().all(|(file, h)| same(&root.join(file), h))
            && self.modules.iter().all(|(file, h)| same(&root.join("spv").join(file), h))
    }
}

impl Manifest {
    /// The manifest in a folder; empty if there is none.
    pub fn read(spv: &Path) -> Result<Manifest, BuildError> {
        match std::fs::read_to_string(spv.join("manifest.json")) {
            Ok(text) => Ok(serde_json::from_str(&text)?),
            Err(_) => Ok(Manifest::default()),
        }
    }

    /// Writes it, and removes modules that it does not know.
    pub fn write(&self, spv: &Path) -> Result<(), BuildError> {
        std::fs::create_dir_all(spv).map_err(|e| BuildError::file(spv, e))?;
        let path = spv.join("manifest.json");
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).map_err(|e| BuildError::file(&path, e))?;
        let known = |name: &str| self.kernels.values().any(|e| e.modules.contains_key(name));
        for file in std::fs::read_dir(spv).map_err(|e| BuildError::file(spv, e))?.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.ends_with(".spv") && !known(&name) {
                std::fs::remove_file(file.path()).map_err(|e| BuildError::file(&file.path(), e))?;
            }
        }
        Ok(())
    }
}
