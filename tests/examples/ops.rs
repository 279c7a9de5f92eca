//! Runs the op suite on a Vulkan device and prints a line per failure: `ops [op-name-part] [descriptor]`.

use pumice_plan::{Meaning, Plan, Use};
use pumice_runtime::{HostOps, HostStep};
use pumice_tests::op_suite::{Outcome, Runner, cases, run_all};
use std::sync::Arc;

struct NoHost;

impl HostOps for NoHost {
    fn prepare(&self, _: &Plan, _: &Meaning, _: &[Use]) -> Result<Box<dyn HostStep>, String> {
        Err("no host ops here".into())
    }
}

fn main() {
    let only = std::env::args().nth(1);
    let device = pumice_vulkan::VulkanDevice::open(&Default::default(), &Default::default()).expect("a device");
    let runner = Runner {
        device: Arc::new(device),
        host: Arc::new(NoHost),
        max_elements: 1 << 22,
        options: Default::default(),
    };
    let cases = cases(only.as_deref());
    let summary = run_all(&runner, &cases, |case, outcome| match outcome {
        None => eprintln!("{}", case.name()),
        Some(Outcome::Failed(why)) => {
            println!("FAILED {}: {}", case.name(), why.chars().take(300).collect::<String>());
        }
        Some(_) => {}
    });
    for (name, why) in &summary.excluded {
        println!("excluded {name}: {why}");
    }
    println!("{} passed, {} failed, {} excluded", summary.passed, summary.failed.len(), summary.excluded.len());
}
