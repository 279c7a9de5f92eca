//! A9: every Vulkan call that returns a result code, while the perceptron is compiled, loaded and run, fails once: a
//! typed error, no panic, no leak that the validation layer reports, and the next device works.

mod on_device {
    use pumice_compile::Options;
    use pumice_cpu_ref::{RefEval, RefHostOps};
    use pumice_runtime::{DeviceError, Executable, RuntimeError};
    use pumice_tests::{device, graphs};
    use pumice_types::TensorView;
    use pumice_vulkan::raw::InstanceError;
    use pumice_vulkan::{
        DeviceOptions, FaultPlan, FaultResult, Instance, InstanceOptions, Message, MessageLog, OpenError,
        Validation, VulkanDevice,
    };
    use std::sync::Arc;
    use std::time::Duration;

    #[derive(Debug)]
    enum Failure {
        Open(OpenError),
        Run(RuntimeError),
    }

    impl Failure {
        /// Whether it says what failed by type, and is no complaint about something else.
        fn is_of_the_device(&self) -> bool {
            match self {
                Failure::Open(OpenError::Instance(InstanceError::Call(_))) => true,
                Failure::Open(OpenError::Device(e)) | Failure::Run(RuntimeError::Device(e)) => matches!(
                    e,
                    DeviceError::Call { .. } | DeviceError::OutOfMemory { .. } | DeviceError::Lost(_)
                ),
                _ => false,
            }
        }
    }

    type Life = (Result<(u64, Vec<f32>), Failure>, Option<Arc<MessageLog>>);

    /// Opens a device, compiles and runs the perceptron for two batches, and lets go of everything.
    fn life(validation: Validation, faults: FaultPlan) -> Life {
        let instance = match Instance::new(&InstanceOptions { validation, faults }) {
            Ok(instance) => Arc::new(instance),
            Err(e) => return (Err(Failure::Open(e.into())), None),
        };
        let log = instance.messages().clone();
        // One thread that asks nothing twice: the order of calls is the same in every life.
        let poll = Some(Duration::ZERO);
        let options = DeviceOptions { pipeline_threads: Some(1), poll, ..DeviceOptions::default() };
        let device = match VulkanDevice::open_on(instance, &device::pick(), &options) {
            Ok(device) => Arc::new(device),
            Err(e) => return (Err(Failure::Open(e)), Some(log)),
        };
        let result = work(&device).map_err(Failure::Run);
        let attempts = device.calls().attempts();
        drop(device);
        (result.map(|values| (attempts, values)), Some(log))
    }

    fn work(device: &Arc<VulkanDevice>) -> Result<Vec<f32>, RuntimeError> {
        let graph = graphs::perceptron();
        let target = pumice_runtime::Device::target(device.as_ref()).clone();
        let plan = pumice_compile::compile(&graph, &target, &Options::default(), &RefEval).expect("compiles");
        let exe = Executable::new(device.clone(), plan, Arc::new(RefHostOps))?;
        let values = |n: usize| (0..n).map(|i| (i * 29 % 17) as f32 / 16.0 - 0.5).collect::<Vec<f32>>();
        for (name, n) in [("w1", 16 * 12), ("b1", 16), ("w2", 5 * 16), ("b2", 5)] {
            exe.set_param(name, &values(n))?;
        }
        let mut session = exe.session()?;
        let mut all = Vec::new();
        for batch in [3u64, 8] {
            let x = values(batch as usize * 12);
            let out = session.run(&[("x", TensorView::f32(&x, [batch, 12]))])?;
            all.extend(out.at(0)?.to_vec::<f32>().expect("f32"));
        }
        Ok(all)
    }

    fn sweep(validation: Validation, result: FaultResult) {
        let _kept = device::keep_driver();
        let (calls, expected) = life(validation, FaultPlan::default()).0.expect("works without a fault");
        assert!(calls > 50, "{calls} calls");
        for n in 1..=calls {
            let (outcome, log) = life(validation, FaultPlan { fail_nth: n, result });
            let failure = outcome.expect_err("a fault must be an error");
            assert!(failure.is_of_the_device(), "call {n} of {calls}: {failure:?}");
            let messages: Vec<Message> = log.map(|l| l.take()).unwrap_or_default();
            assert_eq!(messages, [], "call {n} of {calls}: {failure:?}");
        }
        let again = life(validation, FaultPlan::default()).0.expect("the next device works");
        assert_eq!(again, (calls, expected));
        println!("{calls} calls failed once each");
    }

    #[test]
    fn every_call_runs_out_of_memory_once_under_validation() {
        sweep(Validation::Core, FaultResult::OutOfDeviceMemory);
    }

    #[test]
    fn every_call_loses_the_device_once() {
        sweep(Validation::Off, FaultResult::DeviceLost);
    }
}
