//! What drivers do that no specification says, and what pumice does about it: one table, read by `device_plan` for the
//! target, by `doctor` for people, and by a test that holds `docs/quirks.md` to it.
//!
//! In: a [`Snapshot`]. Out: rows. Never here: the remedy itself, which stands where it works and says why.

use crate::snapshot::{DeviceKind, Snapshot};
use pumice_types::target::LLVMPIPE_LOOP_TURNS;

/// Whose quirk it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Mesa's CPU driver (lavapipe over llvmpipe).
    Lavapipe,
    /// NVIDIA's own driver.
    Nvidia,
    /// Every driver we know.
    Every,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirk {
    /// Its name in `docs/quirks.md` and in `doctor`.
    pub name: &'static str,
    /// Whose it is.
    pub driver: Driver,
    /// Versions it was seen in.
    pub seen: &'static str,
    /// What happens.
    pub what: &'static str,
    /// What pumice does.
    pub answer: &'static str,
    /// The test that shows it, or that the answer holds: `file::function`, from the root of the repository.
    pub test: &'static str,
    /// What it makes of `Limits::loop_turns`.
    pub loop_turns: Option<u64>,
    /// Whether it makes pipelines and submissions keep apart.
    pub pipelines_apart: bool,
}

impl Driver {
    /// The name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Driver::Lavapipe => "lavapipe",
            Driver::Nvidia => "NVIDIA",
            Driver::Every => "every driver",
        }
    }

    /// Whether it is a device's.
    pub fn is_of(self, s: &Snapshot) -> bool {
        match self {
            Driver::Lavapipe => s.kind == DeviceKind::Cpu && s.name.contains("llvmpipe"),
            Driver::Nvidia => s.vendor_id == NVIDIA,
            Driver::Every => true,
        }
    }
}

/// NVIDIA's number among PCI vendors.
const NVIDIA: u32 = 0x10de;

/// The quirks of a device.
pub fn of(s: &Snapshot) -> impl Iterator<Item = &'static Quirk> {
    QUIRKS.iter().filter(move |q| q.driver.is_of(s))
}

/// A row that changes nothing by itself.
const fn quirk(
    name: &'static str,
    driver: Driver,
    seen: &'static str,
    what: &'static str,
    answer: &'static str,
    test: &'static str,
) -> Quirk {
    Quirk { name, driver, seen, what, answer, test, loop_turns: None, pipelines_apart: false }
}

/// Every quirk we know.
pub const QUIRKS: &[Quirk] = &[
    Quirk {
        loop_turns: Some(LLVMPIPE_LOOP_TURNS),
        ..quirk(
            "loops end",
            Driver::Lavapipe,
            "Mesa 22.3, 25.0",
            "all loops of one invocation together make at most 65,535 trips, then they end without a word",
            "kernels declare their trip counts; selection, compiler and checker keep within `Limits::loop_turns`",
            "tests/tests/long_axes/on_device/beyond.rs::long_rows",
        )
    },
    quirk(
        "folds zeros",
        Driver::Lavapipe,
        "Mesa 22.3",
        "arithmetic with a literal zero is folded as if NaN, infinities and -0 did not exist: x * 0 is 0, x + 0 is x",
        "code for CPU drivers computes such results from the bits of x",
        "crates/vulkan/tests/device_codegen.rs::literals_are_not_folded_as_if_all_were_numbers",
    ),
    quirk(
        "widened compare wrong",
        Driver::Lavapipe,
        "Mesa 22.3",
        "an i32 that is widened and compared with a 64-bit literal below 2^31 is found above it, whatever it is",
        "code widens a signed integer by arithmetic on its word, not by a conversion",
        "crates/ir/src/ops/elementwise/cast.rs::widened",
    ),
    quirk(
        "first dispatch compiles",
        Driver::Lavapipe,
        "Mesa 22.3",
        "a pipeline's machine code is made at its first dispatch, not when the pipeline is made",
        "`prepare` dispatches every kernel with no groups; times are taken after a first run",
        "tests/tests/session_time.rs::timed_replays_do_what_untimed_ones_do",
    ),
    quirk(
        "hidden out of bounds",
        Driver::Lavapipe,
        "Mesa 22.3",
        "stores outside a buffer are dropped, loads give 0",
        "tests fill memory with poison and watch guard bands; the checker follows every span",
        "crates/vulkan/src/memory/tests.rs::a_touched_guard_is_found",
    ),
    quirk(
        "never out of memory",
        Driver::Lavapipe,
        "Mesa 22.3",
        "an allocation that cannot be kept is granted",
        "the compiler keeps within the heap that the device states; faults are injected at the function table",
        "tests/tests/faults.rs::every_call_runs_out_of_memory_once_under_validation",
    ),
    quirk(
        "any cache accepted",
        Driver::Lavapipe,
        "Mesa 22.3",
        "data of a foreign pipeline cache is accepted",
        "a file reaches the driver only with its hash, device, driver and kernels proved",
        "crates/vulkan/src/cache_file.rs::foreign_driver_data_is_refused_even_in_a_valid_file",
    ),
    quirk(
        "waiting takes its time",
        Driver::Lavapipe,
        "Mesa 22.3",
        "the host computes: a thread that polls takes time from the kernels, a thread that sleeps wakes late",
        "a wait polls only where levels are small",
        "crates/vulkan/src/wait_policy.rs::a_cpu_driver_is_asked_only_where_levels_are_small",
    ),
    quirk(
        "lane by lane",
        Driver::Lavapipe,
        "Mesa 22.3",
        "integer division and memory go one lane of a vector after the other",
        "kernels divide by a float reciprocal, move two words at once, and hand on by shuffles what all threads read",
        "crates/compile/src/select/attention.rs::the_form_follows_width_and_number_of_tiles",
    ),
    quirk(
        "slow float controls",
        Driver::Nvidia,
        "580.159.04",
        "attention that declares float controls is 5.8 times slower",
        "attention is built without them",
        "crates/plan/src/kernels/mod.rs::attention_is_built_without_float_controls",
    ),
    quirk(
        "rounding mode on matrix units",
        Driver::Nvidia,
        "580.159.04",
        "a kernel of matrix units that declares a rounding mode and holds a division beside a sine ends the process",
        "kernels of matrix units declare no rounding mode",
        "crates/vulkan/src/kernel_source.rs::kernels_of_matrix_units_declare_no_rounding_mode",
    ),
    quirk(
        "29 loads a process",
        Driver::Nvidia,
        "580.159.04",
        "the driver can be loaded about 29 times in a process, then no device is found",
        "an instance stays while devices come and go",
        "tests/tests/faults.rs::a_lost_device_does_not_take_its_instance_along",
    ),
    Quirk {
        pipelines_apart: true,
        ..quirk(
            "pipelines beside submissions",
            Driver::Nvidia,
            "580.159.04",
            "a submission while another thread makes a pipeline: now and then the driver waits 0.5 s, then the device runs for ever",
            "a submission waits until no pipeline is being made, and holds up new ones",
            "tests/tests/session_suite/threads.rs::threads_that_make_pipelines_and_run_do_not_hang",
        )
    },
    quirk(
        "unchecked out of bounds",
        Driver::Nvidia,
        "580.159.04",
        "accesses outside a buffer reach whatever lies there",
        "a plan runs only after the checker; the same guard bands",
        "crates/vulkan/src/memory/tests.rs::a_touched_guard_is_found",
    ),
    quirk(
        "fork hangs",
        Driver::Every,
        "Mesa 22.3, NVIDIA 580.159.04",
        "a child of `fork` that uses a device of its parent hangs",
        "every call looks at the process id and fails; what a child drops is leaked",
        "crates/vulkan/src/raw/on_device.rs::a_forked_child_gets_an_error_and_can_drop_everything",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package lies in the repository")
    }

    fn read(path: &str) -> String {
        std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn row(q: &Quirk) -> String {
        let (driver, test) = (q.driver.name(), q.test);
        format!("| {} | {driver} ({}) | {} | {} | `{test}` |", q.name, q.seen, q.what, q.answer)
    }

    /// The document has these rows, in this order, and no other.
    #[test]
    fn the_document_lists_what_the_code_knows() {
        let text = read("docs/quirks.md");
        let written: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).skip(1).collect();
        let known: Vec<String> = QUIRKS.iter().map(row).collect();
        assert_eq!(written, known, "write docs/quirks.md so:\n{}", known.join("\n"));
    }

    #[test]
    fn every_quirk_has_a_test_that_is_there() {
        for q in QUIRKS {
            let (file, function) = q.test.split_once("::").expect("file::function");
            let text = read(file);
            let defined = text.contains(&format!("fn {function}("));
            assert!(defined, "{}: {} is not there", q.name, q.test);
        }
    }

    #[test]
    fn a_device_has_the_quirks_of_its_driver() {
        let snapshot = |text: &str| serde_json::from_str::<Snapshot>(text).expect("a snapshot");
        let names = |s: &Snapshot| of(s).map(|q| q.name).collect::<Vec<_>>();
        let h200 = names(&snapshot(include_str!("../tests/snapshots/h200.json")));
        let lavapipe = names(&snapshot(include_str!("../tests/snapshots/lavapipe-25.0.json")));
        assert!(h200.contains(&"slow float controls") && !h200.contains(&"loops end"), "{h200:?}");
        assert!(
            lavapipe.contains(&"loops end") && !lavapipe.contains(&"slow float controls"),
            "{lavapipe:?}"
        );
    }
}
