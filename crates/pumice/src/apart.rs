//! Whether what a command writes is apart from what it reads. In: the place of an output, the files and folders that
//! are read. Out: nothing, or the one that would be written onto. Never here: reading or writing.
//!
//! Files are compared by what they are (on Unix device and inode), so symbolic and hard links are seen through. Only
//! regular files count: a terminal may be read and written. Every command that takes both asks [`check`] before it
//! begins.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// An output that is one of the inputs.
#[derive(thiserror::Error)]
#[error(
    "{} is {}, which this command reads: it would be written over; name another place",
    out.display(),
    read.display()
)]
pub struct OverwriteError {
    /// The output, as it was named.
    pub out: PathBuf,
    /// The file that is read.
    pub read: PathBuf,
}

pumice_types::debug_as_display!(OverwriteError);

/// The standard input, whose name on the command line is `-`.
const STANDARD_INPUT: &str = "/dev/stdin";
/// The standard output as a file.
const STANDARD_OUTPUT: &str = "/dev/stdout";
/// Folders within a model's folder: pooling and the like lie one folder further in.
const DEEPEST: usize = 3;

/// Refuses an output that is a file among those that are read, or one that lies in a folder that is read. What commands
/// write themselves (plans, arrays of NumPy) may lie in a model's folder, which no model reads.
///
/// # Errors
/// [`OverwriteError`] with the file that is read.
pub fn check(out: &Path, reads: &[&Path]) -> Result<(), OverwriteError> {
    let Some(known) = regular(out) else { return Ok(()) };
    let onto = reads.iter().find_map(|read| {
        let read = if *read == Path::new("-") { Path::new(STANDARD_INPUT) } else { read };
        if read.is_dir() { found_in(read, out, &known, DEEPEST) } else { found(read, out, &known) }
    });
    match onto {
        Some(read) => Err(OverwriteError { out: out.to_owned(), read }),
        None => Ok(()),
    }
}

/// Whether an output is where this process's standard output goes, so that nothing else may be printed there: `-`, a
/// name of it, or the file that it was redirected to.
pub fn is_standard_output(out: &Path) -> bool {
    if out == Path::new("-") {
        return true;
    }
    let (ours, there) = (fs::metadata(STANDARD_OUTPUT), fs::metadata(out));
    ours.is_ok_and(|ours| there.is_ok_and(|there| same(Path::new(STANDARD_OUTPUT), &ours, out, &there)))
}

fn regular(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok().filter(Metadata::is_file)
}

fn found(read: &Path, out: &Path, known: &Metadata) -> Option<PathBuf> {
    let there = regular(read)?;
    same(read, &there, out, known).then(|| read.to_owned())
}

/// A file of a folder that is the output.
fn found_in(folder: &Path, out: &Path, known: &Metadata, depth: usize) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find_map(|path| match path.is_dir() {
        true if depth > 0 => found_in(&path, out, known, depth - 1),
        true => None,
        false if is_written_by_commands(&path) => None,
        false => found(&path, out, known),
    })
}

fn is_written_by_commands(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "plan" || end == "npy")
}

#[cfg(unix)]
fn same(_: &Path, a: &Metadata, _: &Path, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same(a: &Path, _: &Metadata, b: &Path, _: &Metadata) -> bool {
    let real = |path| fs::canonicalize(path).ok();
    real(a).is_some_and(|a| Some(a) == real(b))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_seen_through() {
        let folder = std::env::temp_dir().join(format!("pumice-apart-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("model/1_Pooling")).expect("made");
        let at = |name: &str| folder.join(name);
        for file in ["m.gguf", "model/model.safetensors", "model/1_Pooling/config.json", "model/old.plan"] {
            fs::write(at(file), "x").expect("written");
        }
        symlink("m.gguf", at("soft")).expect("made");
        symlink("soft", at("softer")).expect("made");
        fs::hard_link(at("m.gguf"), at("hard")).expect("made");
        fs::hard_link(at("model/model.safetensors"), at("model/x.plan")).expect("made");
        // A folder of links, as download caches have it.
        symlink("model", at("linked")).expect("made");
        let (file, model, linked) = (at("m.gguf"), at("model"), at("linked"));
        let read: [&Path; 3] = [&file, &model, &linked];
        let onto =
            ["m.gguf", "soft", "softer", "hard", "model/model.safetensors", "model/1_Pooling/config.json"];
        for out in onto.into_iter().chain(["linked/model.safetensors", "model/x.plan"]) {
            let refused = check(&at(out), &read).expect_err(out);
            assert!(refused.to_string().contains("which this command reads"), "{refused}");
        }
        for out in ["new.plan", "model/new.plan", "model/old.plan"] {
            check(&at(out), &read).unwrap_or_else(|e| panic!("{e}"));
        }
        assert!(check(Path::new("/dev/null"), &[Path::new("/dev/null")]).is_ok(), "devices are no files");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn the_standard_output_has_several_names() {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert!(is_standard_output(Path::new(name)), "{name}");
        }
        assert!(!is_standard_output(Path::new("/dev/zero")) && !is_standard_output(Path::new("x.plan")));
    }
}
