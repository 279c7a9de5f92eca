//! The kernels that plans may use, by name: what each is declared as, and fingerprints by which a plan that was made
//! elsewhere knows whether it would meet the same kernel here.
//!
//! In: the built-in declarations and the table that is generated with their SPIR-V; declarations of a user's. Out:
//! declarations and fingerprints. Never here: code, a plan.

use super::{KernelDecl, interface};
use crate::kernels;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// SHA-256 of a declaration or of a kernel's code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Of bytes.
    pub fn of(bytes: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(bytes).into())
    }

    /// Of a declaration: everything that its compiled forms depend on beside their sources.
    pub fn of_declaration(decl: &KernelDecl) -> Fingerprint {
        Fingerprint::of(interface::fingerprint(decl).as_bytes())
    }

    /// From 64 hexadecimal digits, in the table that is generated.
    pub(crate) const fn hex(text: &str) -> Fingerprint {
        assert!(text.len() == 64, "a fingerprint has 64 digits");
        let (digits, mut bytes, mut i) = (text.as_bytes(), [0; 32], 0);
        while i < 32 {
            bytes[i] = digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]);
            i += 1;
        }
        Fingerprint(bytes)
    }
}

const fn digit(c: u8) -> u8 {
    assert!(matches!(c, b'0'..=b'9' | b'a'..=b'f'), "a fingerprint has hexadecimal digits");
    if c <= b'9' { c - b'0' } else { c - b'a' + 10 }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a built-in kernel was when its SPIR-V was made; a row of the generated table.
pub(crate) struct Compiled {
    pub kernel: &'static str,
    pub declaration: Fingerprint,
    /// By variant, that of the form that reaches operands by address.
    pub code: &'static [(&'static str, Fingerprint)],
}

/// Kernels by name. A value: whoever knows more kernels adds them.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    all: BTreeMap<&'static str, Known>,
}

#[derive(Clone, Debug)]
struct Known {
    decl: KernelDecl,
    declaration: Fingerprint,
    code: BTreeMap<&'static str, Fingerprint>,
}

/// A kernel that cannot be added.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// There is one of that name.
    #[error("there is a kernel `{0}` already")]
    Name(&'static str),
    /// A variant is declared and has no code.
    #[error("variant `{variant}` of kernel `{kernel}` comes without the fingerprint of its code")]
    Code {
        /// The kernel.
        kernel: &'static str,
        /// The variant.
        variant: &'static str,
    },
}

pumice_types::debug_as_display!(RegisterError);

impl Kernels {
    /// The kernels that come with pumice.
    pub fn built_in() -> Kernels {
        let mut all = BTreeMap::new();
        for row in kernels::fingerprints::COMPILED {
            if let Some(decl) = kernels::find(row.kernel) {
                let code = row.code.iter().copied().collect();
                all.insert(row.kernel, Known { decl: *decl, declaration: row.declaration, code });
            }
        }
        Kernels { all }
    }

    /// Adds a kernel with the fingerprint of the code of each of its variants.
    ///
    /// # Errors
    /// A name that there is already; a variant without code.
    pub fn register(
        &mut self,
        decl: KernelDecl,
        code: &[(&'static str, Fingerprint)],
    ) -> Result<(), RegisterError> {
        if self.all.contains_key(decl.name) {
            return Err(RegisterError::Name(decl.name));
        }
        let code: BTreeMap<&'static str, Fingerprint> = code.iter().copied().collect();
        if let Some(bare) = decl.variants.iter().find(|v| !code.contains_key(v.name)) {
            return Err(RegisterError::Code { kernel: decl.name, variant: bare.name });
        }
        let declaration = Fingerprint::of_declaration(&decl);
        self.all.insert(decl.name, Known { decl, declaration, code });
        Ok(())
    }

    /// The declaration of that name.
    pub fn find(&self, name: &str) -> Option<&KernelDecl> {
        self.all.get(name).map(|known| &known.decl)
    }

    /// The fingerprint of a declaration.
    pub fn declaration(&self, name: &str) -> Option<Fingerprint> {
        self.all.get(name).map(|known| known.declaration)
    }

    /// The fingerprint of a variant's code.
    pub fn code(&self, name: &str, variant: &str) -> Option<Fingerprint> {
        self.all.get(name)?.code.get(variant).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_kernel_has_its_fingerprints() {
        let known = Kernels::built_in();
        for decl in kernels::all() {
            let declared = Fingerprint::of_declaration(decl);
            assert_eq!(
                known.declaration(decl.name),
                Some(declared),
                "{}: run `cargo xtask shaders`",
                decl.name
            );
            for variant in decl.variants {
                assert!(known.code(decl.name, variant.name).is_some(), "{}.{}", decl.name, variant.name);
            }
        }
    }

    #[test]
    fn kernels_are_added_under_new_names_with_all_their_code() {
        let mut known = Kernels::built_in();
        let decl = *known.find("fill").expect("built in");
        assert_eq!(known.register(decl, &[]), Err(RegisterError::Name("fill")));
        let mine = KernelDecl { name: "mine", ..decl };
        let bare = RegisterError::Code { kernel: "mine", variant: "plain" };
        assert_eq!(known.register(mine, &[]), Err(bare));
        assert_eq!(known.register(mine, &[("plain", Fingerprint::of(b"code"))]), Ok(()));
        assert_eq!(known.code("mine", "plain"), Some(Fingerprint::of(b"code")));
        assert_ne!(known.declaration("mine"), known.declaration("fill"));
        assert_eq!(known.code("mine", "fast"), None);
    }

    #[test]
    fn fingerprints_read_as_they_print() {
        let some = Fingerprint::of(b"some");
        assert_eq!(Fingerprint::hex(&some.to_string()), some);
    }
}
