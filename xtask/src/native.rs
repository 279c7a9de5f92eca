//! The C++ part of the shader compiler: shaderc, with the SPIRV-Tools that it brings, built once for all checkouts.
//! In: the versions that `Cargo.lock` pins. Out: a folder of static libraries in the user's cache, named by a hash of
//! what they are made from, and the options by which cargo links them instead of running the packages' own builds.
//! Never here: Rust code's build, kernels.
//!
//! `shaderc-sys` and `spirv-tools-sys` carry the same SPIRV-Tools and would each compile it. Here one build serves
//! both; of the second package only its C interface to the optimizer is compiled, against the first one's headers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

/// The packages whose native code is built here.
const PACKAGES: [&str; 2] = ["shaderc-sys", "spirv-tools-sys"];

/// Counts changes of what this file does with the sources.
const RECIPE: &str = "recipe 1";

/// What cmake is told: one static library of everything, no programs, no tests.
const CMAKE_OPTIONS: [&str; 7] = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DENABLE_SPVREMAPPER=OFF",
    "-DENABLE_GLSLANG_BINARIES=OFF",
    "-DSHADERC_SKIP_TESTS=ON",
    "-DSPIRV_SKIP_EXECUTABLES=ON",
    "-DSPIRV_WERROR=OFF",
];

/// The target of cmake that makes `libshaderc_combined.a` and what it consists of, and nothing else.
const CMAKE_TARGET: &str = "shaderc_combined";

/// Where the library lies in cmake's build folder.
const BUILT: &str = "shaderc/libshaderc/libshaderc_combined.a";

/// How the optimizer's C interface is compiled.
const INTERFACE_FLAGS: [&str; 6] = ["-c", "-O2", "-std=c++17", "-fPIC", "-fno-exceptions", "-fno-rtti"];

/// Static libraries that are there, and where they are.
pub struct Native {
    /// Named by the hash of its sources: `lib/`, and `target/` for the Rust part.
    folder: PathBuf,
    /// What rustc calls this machine.
    host: String,
}

impl Native {
    /// Finds the libraries, or builds them (minutes).
    pub fn find(checkout: &Checkout) -> Outcome<Native> {
        let host = host()?;
        let compiler = child::stdout(Command::new("c++").arg("--version"))?;
        let name = name(&checkout.read("Cargo.lock")?, &host, compiler.lines().next().unwrap_or_default())?;
        let folder = cache(checkout)?.join(name);
        if !folder.join("lib").is_dir() {
            build(checkout, &folder)?;
        }
        Ok(Native { folder, host })
    }

    /// Options of cargo that link the libraries in place of what the packages' build scripts would make.
    pub fn cargo_options(&self) -> Vec<String> {
        let folder = self.folder.join("lib");
        let linked =
            [("shaderc", vec!["shaderc_combined"]), ("spirv-tools", vec!["optimizer_c", "shaderc_combined"])];
        let one = |(package, libraries): (&str, Vec<&str>)| {
            let key = format!("target.{}.{package}", self.host);
            // Not bundled, so that each package brings the libraries after it and the order of the two does not matter.
            let libraries: Vec<String> = libraries.iter().map(|l| format!("static:-bundle={l}")).collect();
            let search = format!("{key}.rustc-link-search=[{:?}]", folder.display().to_string());
            [
                "--config".to_owned(),
                search,
                "--config".to_owned(),
                format!("{key}.rustc-link-lib={libraries:?}"),
            ]
        };
        linked.into_iter().flat_map(one).collect()
    }
}

/// The folder's name: a hash of the packages as they are pinned, the machine, its compiler and the recipe.
fn name(lock: &str, host: &str, compiler: &str) -> Outcome<String> {
    let mut hash = Sha256::new();
    for text in [RECIPE, host, compiler].into_iter().chain(CMAKE_OPTIONS).chain(INTERFACE_FLAGS) {
        hash.update(text);
        hash.update([0]);
    }
    for package in PACKAGES {
        let pinned = pinned(lock, package)
            .ok_or_else(|| Failure::said(format!("Cargo.lock does not pin `{package}` by a checksum")))?;
        hash.update(pinned);
        hash.update([0]);
    }
    let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("shader-compiler-{digest}"))
}

/// The checksum of a package's sources.
fn pinned<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let entry = lock.split("[[package]]").find(|entry| entry.lines().any(|line| line == name))?;
    entry.lines().find_map(|line| line.strip_prefix("checksum = "))
}

/// The user's cache folder, or the checkout's own where there is none.
fn cache(checkout: &Checkout) -> Outcome<PathBuf> {
    let folder =
        |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    match folder("XDG_CACHE_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".cache"))) {
        Some(cache) => Ok(cache.join("pumice")),
        None => checkout.target_folder(),
    }
}

fn host() -> Outcome<String> {
    let text = child::stdout(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::said("rustc -vV names no host"))
}

/// Builds in a folder of its own and moves it into place when it is whole: a second build at the same time costs time
/// only.
fn build(checkout: &Checkout, folder: &Path) -> Outcome {
    eprintln!("building the shader compiler's C++ part, once for all checkouts: {}", folder.display());
    let part = folder.with_extension(format!("{}.part", std::process::id()));
    let (work, lib) = (part.join("work"), part.join("lib"));
    for new in [&work, &lib] {
        fs::create_dir_all(new).map_err(Failure::file(new))?;
    }
    let [shaderc, spirv_tools] = sources(checkout)?;
    combined(&shaderc.join("build"), &work, &lib)?;
    interface(&spirv_tools, &shaderc.join("build/spirv-tools/include"), &work, &lib)?;
    fs::remove_dir_all(&work).map_err(Failure::file(&work))?;
    match fs::rename(&part, folder) {
        Err(_) if folder.join("lib").is_dir() => fs::remove_dir_all(&part).map_err(Failure::file(&part)),
        moved => moved.map_err(Failure::file(folder)),
    }
}

/// Where cargo keeps the sources of the two packages; it downloads what is missing.
fn sources(checkout: &Checkout) -> Outcome<[PathBuf; 2]> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        manifest_path: PathBuf,
    }
    let mut command = child::cargo();
    command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(&checkout.root);
    let metadata: Metadata = serde_json::from_str(&child::stdout(&mut command)?)
        .map_err(|e| Failure::said(format!("cargo metadata: {e}")))?;
    let folder = |name: &str| {
        let package = metadata.packages.iter().find(|package| package.name == name);
        let folder = package.and_then(|package| package.manifest_path.parent());
        folder.map(Path::to_owned).ok_or_else(|| Failure::said(format!("cargo metadata names no `{name}`")))
    };
    Ok([folder(PACKAGES[0])?, folder(PACKAGES[1])?])
}

/// shaderc, glslang and SPIRV-Tools as one library.
fn combined(source: &Path, work: &Path, lib: &Path) -> Outcome {
    let build = work.join("cmake");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source).arg("-B").arg(&build).args(CMAKE_OPTIONS).stdout(Stdio::null());
    if child::answers("ninja", &["--version"]) {
        configure.args(["-G", "Ninja"]);
    }
    child::run(&mut configure)?;
    child::run(Command::new("cmake").arg("--build").arg(&build).args([
        "--parallel",
        "--target",
        CMAKE_TARGET,
    ]))?;
    let (from, to) = (build.join(BUILT), lib.join("libshaderc_combined.a"));
    fs::copy(&from, &to).map(|_| ()).map_err(Failure::file(&from))
}

/// The optimizer's C interface, which `spirv-tools-sys` brings.
fn interface(package: &Path, headers: &Path, work: &Path, lib: &Path) -> Outcome {
    let object = work.join("optimizer_c.o");
    let mut compile = Command::new("c++");
    compile.args(INTERFACE_FLAGS).arg("-I").arg(headers).arg(package.join("src/c/opt.cpp"));
    child::run(compile.arg("-o").arg(&object))?;
    child::run(Command::new("ar").arg("rcs").arg(lib.join("liboptimizer_c.a")).arg(&object))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"shaderc-sys\"\nversion = \"0.10.1\"\nchecksum = \"bd\"\n\
                        \n[[package]]\nname = \"spirv-tools-sys\"\nversion = \"0.13.3\"\nchecksum = \"3d\"\n";

    #[test]
    fn the_folder_is_named_by_what_is_built() {
        let name = |lock: &str, compiler: &str| name(lock, "x86_64-unknown-linux-gnu", compiler).unwrap();
        let here = name(LOCK, "c++ 12");
        assert_eq!(
            here,
            name(&LOCK.replace("version = 4", "version = 5"), "c++ 12"),
            "of the lock only two entries"
        );
        assert_ne!(here, name(&LOCK.replace("\"3d\"", "\"3e\""), "c++ 12"));
        assert_ne!(here, name(LOCK, "c++ 13"));
        assert!(super::name(&LOCK.replace("shaderc-sys", "shaderc"), "h", "c").is_err());
    }

    #[test]
    fn the_checkout_pins_both_packages() {
        let lock = Checkout::find().unwrap().read("Cargo.lock").unwrap();
        assert!(PACKAGES.iter().all(|package| pinned(&lock, package).is_some()));
    }

    #[test]
    fn cargo_is_told_both_packages() {
        let native = Native { folder: "/cache/x".into(), host: "h".to_owned() };
        assert_eq!(
            native
                .cargo_options()
                .iter()
                .filter(|o| *o != "--config")
                .map(String::as_str)
                .collect::<Vec<_>>(),
            [
                "target.h.shaderc.rustc-link-search=[\"/cache/x/lib\"]",
                "target.h.shaderc.rustc-link-lib=[\"static:-bundle=shaderc_combined\"]",
                "target.h.spirv-tools.rustc-link-search=[\"/cache/x/lib\"]",
                "target.h.spirv-tools.rustc-link-lib=[\"static:-bundle=optimizer_c\", \"static:-bundle=shaderc_combined\"]",
            ]
        );
    }
}
