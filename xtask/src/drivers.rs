//! How a machine gets a Vulkan driver. In: nothing. Out: advice as text, or an installation that the user
//! asked for. Never here: an installation that nobody asked for.

use std::process::Command;

use crate::child;
use crate::failure::{Failure, Outcome};

/// What Debian and Ubuntu call the software driver and the validation layer.
const APT_PACKAGES: [&str; 3] = ["libvulkan1", "mesa-vulkan-drivers", "vulkan-validationlayers"];

/// One line per system: what to install for a driver.
pub fn advice() -> String {
    let lines = [
        ("any GPU", "install the vendor's current driver; it carries Vulkan"),
        ("Debian, Ubuntu", "apt install mesa-vulkan-drivers vulkan-validationlayers   (or `--install` here)"),
        ("Fedora", "dnf install mesa-vulkan-drivers vulkan-validation-layers"),
        (
            "Arch",
            "pacman -S vulkan-swrast vulkan-validation-layers   (or vulkan-radeon, vulkan-intel, nvidia-utils)",
        ),
        ("macOS", "brew install molten-vk vulkan-loader vulkan-validationlayers"),
        ("Windows", "the GPU's driver, or Mesa's lavapipe; the Vulkan SDK carries the validation layer"),
    ];
    let mut text = String::from("how to get a Vulkan driver:\n");
    for (system, how) in lines {
        text.push_str(&format!("  {system:<15} {how}\n"));
    }
    text
}

/// Installs Mesa's drivers (lavapipe runs on the CPU) and the validation layer through apt.
pub fn install() -> Outcome {
    if !cfg!(target_os = "linux") || !child::answers("apt-get", &["--version"]) {
        return Err(Failure::said(format!("--install knows only apt. {}", advice())));
    }
    eprintln!("--install: installing {} with apt, because you asked for it", APT_PACKAGES.join(" "));
    let root = child::stdout(Command::new("id").arg("-u"))?.trim() == "0";
    let apt = |args: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        child::run(&mut command)
    };
    apt(&["update"])?;
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(APT_PACKAGES);
    apt(&install)
}
