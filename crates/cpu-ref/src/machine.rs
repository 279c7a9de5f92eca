//! How much memory this machine has, where its system says so in `/proc/meminfo`; elsewhere nothing is known, and only
//! an allocation that fails tells. No environment is read.

use pumice_types::Bytes;

/// Less than this is taken without asking.
const SMALL: Bytes = Bytes(64 << 20);

/// Memory of the machine.
pub fn total_memory() -> Option<Bytes> {
    field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// Memory that can be taken now without swapping.
pub fn available_memory() -> Option<Bytes> {
    field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Whether so many bytes can be taken now.
///
/// # Errors
/// The bytes that are available, where they are fewer.
pub fn check_available(needed: Bytes) -> Result<(), Bytes> {
    if needed <= SMALL {
        return Ok(());
    }
    match available_memory() {
        Some(available) if needed > available => Err(available),
        _ => Ok(()),
    }
}

/// A line `name   123 kB`.
fn field(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib.checked_mul(1024)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_meminfo_are_read() {
        let text =
            "MemTotal:       24112936 kB\nMemFree:         1 kB\nMemAvailable:   12 kB\nHugePages:  3\n";
        assert_eq!(field(text, "MemTotal:"), Some(Bytes(24_112_936 * 1024)));
        assert_eq!(field(text, "MemAvailable:"), Some(Bytes(12 * 1024)));
        assert_eq!((field(text, "HugePages:"), field(text, "SwapTotal:")), (None, None));
        assert_eq!(field("MemTotal: 99999999999999999999 kB", "MemTotal:"), None);
    }

    #[test]
    fn no_machine_has_memory_for_everything() {
        assert_eq!(check_available(SMALL), Ok(()));
        if let Some(total) = total_memory() {
            assert!(check_available(Bytes(u64::MAX)).is_err_and(|available| available <= total));
        }
    }
}
