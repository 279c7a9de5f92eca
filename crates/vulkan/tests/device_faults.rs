//! Every Vulkan call that returns a result code, from making the instance to reading the output, fails once: a typed
//! error, no panic, no leak, and the next device works.

mod common;

use common::*;
use pumice_plan::RegionKind;
use pumice_runtime::device::DeviceError;
use pumice_vulkan::raw::InstanceError;
use pumice_vulkan::{
    Addressing, DeviceOptions, FaultPlan, FaultResult, Instance, InstanceOptions, Message, MessageLog,
    OpenError, Validation, VulkanDevice,
};
use std::sync::Arc;
use std::time::Duration;

/// What failed, where it may.
#[derive(Debug)]
enum Failure {
    Open(#[allow(dead_code)] OpenError),
    Device(#[allow(dead_code)] DeviceError),
}

/// One life of a device. Gives the number of attempts and the layer's messages, which may exist on failure as well.
fn life(
    validation: Validation,
    addressing: Addressing,
    faults: FaultPlan,
    poll: Duration,
) -> (Result<u64, Failure>, Option<Arc<MessageLog>>) {
    let instance = match Instance::new(&InstanceOptions { validation, faults }) {
        Ok(instance) => Arc::new(instance),
        Err(error) => return (Err(Failure::Open(error.into())), None),
    };
    let log = instance.messages().clone();
    // One thread: the order of calls is the same in every life, but for how often the device is asked for its time.
    let options = DeviceOptions::default().addressing(addressing).pipeline_threads(Some(1)).poll(Some(poll));
    let device = match VulkanDevice::open_on(instance, &pick(), &options) {
        Ok(device) => device,
        Err(error) => return (Err(Failure::Open(error)), Some(log)),
    };
    let result = work(&device).map_err(Failure::Device);
    let (attempts, memory) = (device.calls().attempts(), device.memory().clone());
    assert_eq!(memory.live_bytes().0, 0, "{faults:?}: {result:?}");
    drop(device);
    assert_eq!((memory.staging_bytes().0, memory.allocations()), (0, 0), "{faults:?}: {result:?}");
    (result.map(|()| attempts), Some(log))
}

fn work(device: &VulkanDevice) -> Result<(), DeviceError> {
    let loaded = load(device)?;
    loaded.prepare(&[0, 1])?;
    let mut s = session(&loaded, 0, 0)?;
    s.run(0, &bindings(0), 2)?;
    assert_eq!(read_floats(s.as_mut(), span(RegionKind::IoOut, 0))?, expected_y(2));
    s.run(1, &bindings(0), 1)?;
    s.run_profiled(0, &bindings(0))?;
    let states = span(RegionKind::States, 0);
    s.fork(&[states])?.read(states, &mut [0u8; 4 * N])
}

fn sweep(validation: Validation, addressing: Addressing, result: FaultResult, stride: usize) {
    // NVIDIA's driver cannot be loaded more than about 29 times in a process (see `Instance`); this keeps it loaded.
    let _kept = Instance::new(&InstanceOptions::default());
    let (whole, _) = life(validation, addressing, FaultPlan::default(), Duration::ZERO);
    let calls = whole.expect("without a fault everything works");
    assert!(calls > 50, "{calls} calls");
    for n in (1..=calls).step_by(stride) {
        let (outcome, log) = life(validation, addressing, FaultPlan { fail_nth: n, result }, Duration::ZERO);
        let failure = outcome.expect_err("a fault must be an error");
        let said = match &failure {
            Failure::Open(OpenError::Instance(InstanceError::Call(_))) => true,
            Failure::Open(OpenError::Device(e)) | Failure::Device(e) => {
                matches!(e, DeviceError::Call { .. } | DeviceError::OutOfMemory { .. } | DeviceError::Lost(_))
            }
            Failure::Open(_) => false,
        };
        assert!(said, "call {n} of {calls}: {failure:?}");
        let messages: Vec<Message> = log.map(|l| l.take()).unwrap_or_default();
        assert_eq!(messages, [], "call {n} of {calls}: {failure:?}");
    }
    let (again, _) = life(validation, addressing, FaultPlan::default(), Duration::ZERO);
    assert_eq!(again.expect("the next device works"), calls);
}

#[test]
fn every_call_loses_the_device_once() {
    sweep(Validation::Off, Addressing::Address, FaultResult::DeviceLost, 1);
}

/// Waits that ask again and again before they sleep, as on GPUs: the first question fails.
#[test]
fn asking_for_the_time_fails_once() {
    let _kept = Instance::new(&InstanceOptions::default());
    let poll = Duration::from_secs(1);
    let fails = |n| {
        let faults = FaultPlan { fail_nth: n, result: FaultResult::DeviceLost };
        life(Validation::Off, Addressing::Address, faults, poll).0.err().map(|e| format!("{e:?}"))
    };
    let asked = |failure: &String| failure.contains("vkGetSemaphoreCounterValue");
    assert!((1..200).map_while(fails).any(|failure| asked(&failure)), "no wait asked for the time");
    let (whole, _) = life(Validation::Off, Addressing::Address, FaultPlan::default(), poll);
    whole.expect("without a fault everything works");
}

mod with_validation {
    use super::*;

    #[test]
    fn every_call_runs_out_of_memory_once_under_validation() {
        sweep(Validation::Core, Addressing::Address, FaultResult::OutOfDeviceMemory, 1);
    }

    #[test]
    fn every_fifth_call_of_the_descriptor_form_fails_once() {
        sweep(Validation::Core, Addressing::Descriptor, FaultResult::OutOfHostMemory, 5);
    }
}
