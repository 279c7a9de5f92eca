//! Sessions on a watched device: synchronization validation over the descriptor form, and memory filled with NaNs
//! between guard bands. What the tests themselves expect must hold there too; nobody may report anything.
//!
//! That the layer sees hazards at all is shown by the positive control of `pumice-vulkan`'s `device_validation`.

use crate::*;
use pumice_plan::CheckedPlan;
use pumice_runtime::{Device, DeviceError, HostOps, Loaded};
use pumice_tests::Fixture;
use pumice_tests::op_suite::PlainTwins;
use pumice_types::Target;
use pumice_vulkan::{Addressing, DeviceOptions, HostAccess, Poison, Validation};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A test of this suite, with a name for messages.
type Named = (&'static str, fn(&Fixture));

/// What crosses replays, host steps, forks and specializations; many levels or little data each.
const SESSIONS: [Named; 16] = [
    ("swap", feeds::two_states_swap),
    ("turn", feeds::three_states_turn_and_one_reads_what_it_writes),
    ("prefix", feeds::a_prefix_as_long_as_a_symbol),
    ("rows", feeds::rows_where_scalars_say),
    ("forks", forks::forks_diverge),
    ("hosts", host_steps::everywhere),
    ("host and states", host_steps::with_states_scalars_and_feeds),
    ("interrupted", interrupted::a_host_step_fails),
    ("merged", merged::in_every_specialization),
    ("outputs", outputs::any_value_may_be_an_output),
    ("derived", params::what_is_computed_from_params_alone_follows),
    ("attention", poison::attention_over_caches),
    ("everything", reference::a_session_is_what_the_evaluator_says),
    ("steps", replays::several_steps_are_several_runs),
    ("advance", replays::scalars_advance_between_replays),
    ("specialized", symbols::specializations_take_turns),
];

/// A device as plans for kernels with descriptor forms see it: what CPUs get, without 64-bit integers.
struct Plain {
    device: Arc<dyn Device>,
    target: Target,
}

impl Device for Plain {
    fn name(&self) -> String {
        self.device.name()
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError> {
        self.device.load(plan, host)
    }

    fn prepare(&self, plans: &[CheckedPlan]) -> Result<(), DeviceError> {
        self.device.prepare(plans)
    }
}

/// The device that kernels with descriptors run on.
fn plain(options: &DeviceOptions) -> Fixture {
    let fixture = Fixture::vulkan_with(options);
    let target = PlainTwins::target(fixture.device.target());
    Fixture { device: Arc::new(Plain { device: fixture.device, target: target.clone() }), target, ..fixture }
}

fn all(fixture: Fixture) {
    let log = fixture.vulkan.as_ref().expect("a Vulkan device").messages().clone();
    for (name, session) in SESSIONS {
        session(&fixture);
        assert_eq!(log.take(), [], "{name}");
        let live = fixture.vulkan.as_ref().map(|v| v.live_bytes());
        assert_eq!(live, Some(pumice_types::Bytes::ZERO), "{name}");
    }
    drop(fixture);
    assert_eq!(log.take(), [], "closing the device");
}

mod on_device {
    use super::*;

    #[test]
    fn poison_is_not_read_and_guards_stay() {
        for word in [0x7fc0_dead, 0xff80_0000] {
            all(Fixture::vulkan_with(&DeviceOptions::default().poison(Some(Poison(word)))));
        }
    }

    /// The process of a watched test that cannot be watched went on for ever, with every other test of it: the watched
    /// one fails at once and says why, the others end.
    #[test]
    fn without_the_layer_a_watched_test_fails_and_the_others_go_on() {
        const LIMIT: Duration = Duration::from_secs(300);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_layers");
        fs::create_dir_all(&folder).expect("a folder");
        let log = folder.join("log");
        let tests = [
            "watched::on_device::with_validation::nothing_to_report_in_the_address_form",
            "status::on_device::states_that_are_full",
        ];
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "--test-threads", "2"])
            .args(tests)
            .env("VK_LAYER_PATH", &folder)
            .stdout(fs::File::create(&log).expect("a file"))
            .spawn()
            .expect("starts");
        let begin = Instant::now();
        let ended = loop {
            match child.try_wait().expect("a child") {
                Some(status) => break status,
                None if begin.elapsed() > LIMIT => {
                    child.kill().expect("ended");
                    panic!("it hangs: {}", fs::read_to_string(&log).expect("text"));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let said = fs::read_to_string(&log).expect("text");
        assert!(!ended.success() && said.contains("1 passed; 1 failed"), "{said}");
        assert!(said.contains("the Khronos validation layer is not installed"), "{said}");
    }

    mod with_validation {
        use super::*;

        #[test]
        fn nothing_to_report_in_the_descriptor_form() {
            let (validation, addressing) = (Validation::Synchronization, Addressing::Descriptor);
            let kernels = Arc::new(PlainTwins);
            all(plain(
                &DeviceOptions::default().validation(validation).addressing(addressing).kernels(kernels),
            ));
        }

        #[test]
        fn nothing_to_report_in_the_address_form() {
            let validation = Validation::Synchronization;
            all(Fixture::vulkan_with(&DeviceOptions::default().validation(validation)));
        }

        /// What the layer says of flushes, invalidations and staging, poison in between.
        #[test]
        fn nothing_to_report_with_shadowed_memory() {
            let options = DeviceOptions::default().host_access(HostAccess::Shadowed);
            all(Fixture::vulkan_with(
                &options.validation(Validation::Synchronization).poison(Poison(0x7fc0_dead)),
            ));
        }
    }
}
