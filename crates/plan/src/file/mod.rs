//! A plan as a file: made once, on any machine, and run with a weights file without compiling again.
//!
//! In: a [`Plan`]; bytes. Out: bytes; a [`Plan`], which the checker must look at before a device takes it
//! ([`CheckedPlan`](crate::CheckedPlan)). Never here: weights, code of kernels, whether a plan is right.
//!
//! A file is a header and a body. The header is the magic, the version of the format (u32), the length of the body
//! (u64) and the SHA-256 of version, length and body, all little-endian. The body is `wire::Body` in postcard's
//! encoding. Equal plans are equal files; what is loaded and saved again is the same file.
//!
//! The *run form* ([`PlanForm::Run`]) has what checking and running need; the *explain form* ([`PlanForm::Explain`])
//! also has what every dispatch means, where steps come from, names of values and reasons of barriers. Constants are in
//! the file. Of every kernel that a plan uses the file has the fingerprint of its declaration and of its code: a build
//! with others refuses the file by the kernel's name.

mod bounded;
mod error;
mod read;
mod sections;
mod wire;
mod write;

pub use bounded::read_plan_file;
pub use error::PlanFileError;
pub use sections::steering;

use crate::kernel::{Fingerprint, Kernels};
use crate::plan::Plan;
use crate::step::StepKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::sync::Arc;

/// The first bytes of every plan file: no text begins so, and a transfer that changes line ends changes them.
const MAGIC: [u8; 8] = *b"\x89plan\r\n\x1a";
/// Version of the format; another one is refused. It changes with anything that the body is made of.
pub const FORMAT_VERSION: u32 = 13;
const HASHED: usize = MAGIC.len() + 4 + 8;
const HEADER: usize = HASHED + 32;

/// What of a plan is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanForm {
    /// Everything: also what dispatches mean, where steps come from, and why barriers are there. The interpreter needs
    /// it.
    #[default]
    Explain,
    /// What checking and running on a device need.
    Run,
}

impl Plan {
    /// Writes the file of the plan.
    ///
    /// # Errors
    /// [`PlanFileError::Io`] where the writer fails; otherwise as [`Plan::to_bytes`].
    pub fn save(&self, writer: &mut dyn Write, form: PlanForm) -> Result<(), PlanFileError> {
        Ok(writer.write_all(&self.to_bytes(form)?)?)
    }

    /// The file of the plan.
    ///
    /// # Errors
    /// [`PlanFileError::NoExplanations`] for the explain form of a plan that has only its run form;
    /// [`PlanFileError::UnknownKernel`] and [`PlanFileError::UnknownVariant`] for a call of a kernel that there is not.
    pub fn to_bytes(&self, form: PlanForm) -> Result<Vec<u8>, PlanFileError> {
        self.to_bytes_with(form, &Kernels::built_in())
    }

    /// As [`Plan::to_bytes`], with kernels beside those that are built in.
    ///
    /// # Errors
    /// As [`Plan::to_bytes`].
    pub fn to_bytes_with(&self, form: PlanForm, kernels: &Kernels) -> Result<Vec<u8>, PlanFileError> {
        let body = match (form, self.form) {
            (PlanForm::Explain, PlanForm::Run) => {
                return Err(PlanFileError::NoExplanations { plan: self.name.clone() });
            }
            (PlanForm::Run, PlanForm::Explain) => encode(&self.clone().into_run_form(), kernels)?,
            (PlanForm::Explain, PlanForm::Explain) | (PlanForm::Run, PlanForm::Run) => encode(self, kernels)?,
        };
        let mut file = Vec::with_capacity(HEADER + body.len());
        file.extend(MAGIC);
        file.extend(FORMAT_VERSION.to_le_bytes());
        file.extend((body.len() as u64).to_le_bytes());
        file.extend([0; 32]);
        file.extend(body);
        seal(&mut file);
        Ok(file)
    }

    /// The plan of a file. It is anybody's data: only [`CheckedPlan::new`](crate::CheckedPlan::new) makes it one that a
    /// device takes. It takes memory in proportion to the file, and no more.
    ///
    /// # Errors
    /// Bytes that are no plan file, of another format version, damaged; a plan that was made for other kernels.
    pub fn load(bytes: &[u8]) -> Result<Plan, PlanFileError> {
        Plan::load_with(bytes, &Kernels::built_in())
    }

    /// As [`Plan::load`], with kernels beside those that are built in.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn load_with(bytes: &[u8], kernels: &Kernels) -> Result<Plan, PlanFileError> {
        let body = open(bytes)?;
        let malformed = |e: postcard::Error| PlanFileError::Malformed(e.to_string());
        let (body, rest): (wire::Body<'_>, _) = postcard::take_from_bytes(body).map_err(malformed)?;
        if !rest.is_empty() {
            return Err(PlanFileError::Malformed(format!("{} bytes after its end", rest.len())));
        }
        read::plan(body, bytes.len(), kernels)
    }

    /// The plan without what only explains it: meanings of dispatches, origins of steps that neither the host runs nor
    /// report, names of values, reasons of steps and barriers, counts by layer.
    #[must_use]
    pub fn into_run_form(mut self) -> Plan {
        self.form = PlanForm::Run;
        for program in self.programs_mut() {
            for step in &mut program.steps {
                let host = matches!(step.kind, StepKind::Host);
                if !host {
                    step.meaning.graph = Arc::default();
                    step.meaning.inputs.iter_mut().for_each(|i| i.name = Arc::default());
                }
                if !host && step.meaning.status.is_none() {
                    step.origin = Arc::default();
                }
                step.reason = String::new();
            }
            program.levels.iter_mut().for_each(|l| l.reason = None);
            program.values.iter_mut().for_each(|v| v.name = Arc::default());
        }
        self.runs.iter_mut().for_each(|r| r.stats.layers = Vec::new());
        self
    }
}

/// The fingerprint of a kernel's declaration.
fn declaration(kernels: &Kernels, kernel: &str) -> Result<Fingerprint, PlanFileError> {
    kernels.declaration(kernel).ok_or_else(|| PlanFileError::UnknownKernel { kernel: kernel.to_owned() })
}

/// The fingerprint of a variant's code.
fn code(kernels: &Kernels, kernel: &str, variant: &str) -> Result<Fingerprint, PlanFileError> {
    let unknown = || PlanFileError::UnknownVariant { kernel: kernel.to_owned(), variant: variant.to_owned() };
    kernels.code(kernel, variant).ok_or_else(unknown)
}

fn encode(plan: &Plan, kernels: &Kernels) -> Result<Vec<u8>, PlanFileError> {
    let body = write::body(plan, kernels)?;
    postcard::to_allocvec(&body).map_err(|e| PlanFileError::Malformed(e.to_string()))
}

/// The body of a file whose header is right.
fn open(bytes: &[u8]) -> Result<&[u8], PlanFileError> {
    let expected = stated(bytes)?;
    if expected != bytes.len() as u64 {
        return Err(PlanFileError::Length { expected, given: bytes.len() as u64 });
    }
    if checksum(bytes) != bytes[HASHED..HEADER] {
        return Err(PlanFileError::Checksum);
    }
    Ok(&bytes[HEADER..])
}

/// The length that a file states in its first bytes, if they are those of a plan of this format version.
fn stated(begin: &[u8]) -> Result<u64, PlanFileError> {
    if !begin.starts_with(&MAGIC) {
        return Err(PlanFileError::NotAPlan);
    }
    let short = || PlanFileError::Length { expected: HEADER as u64, given: begin.len() as u64 };
    let version = word(begin, MAGIC.len()).map(u32::from_le_bytes).ok_or_else(short)?;
    if version != FORMAT_VERSION {
        return Err(PlanFileError::Version { found: version, known: FORMAT_VERSION });
    }
    let body = word(begin, MAGIC.len() + 4).map(u64::from_le_bytes).ok_or_else(short)?;
    Ok(body.saturating_add(HEADER as u64))
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Of everything but itself.
fn checksum(file: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(&file[..HASHED]).chain_update(&file[HEADER..]).finalize().into()
}

/// Gives a file the length and the checksum of its bytes, whatever they are: for tests of what reads files that were
/// changed on purpose. Fewer bytes than a header stay as they are.
pub fn seal(file: &mut [u8]) {
    if file.len() < HEADER {
        return;
    }
    let body = (file.len() - HEADER) as u64;
    file[MAGIC.len() + 4..HASHED].copy_from_slice(&body.to_le_bytes());
    let sum = checksum(file);
    file[HASHED..HEADER].copy_from_slice(&sum);
}
