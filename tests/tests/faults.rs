//! A9: every Vulkan call that returns a result code, while the perceptron is compiled, loaded and run, fails once: a
//! typed error, no panic, no leak that the validation layer reports, and the next device works.

mod on_device {
    use pumice_compile::Options;
    use pumice_cpu_ref::{RefEval, RefHostOps};
    use pumice_plan::CheckedPlan;
    use pumice_runtime::{DeviceError, Executable, RuntimeError};
    use pumice_tests::{device, graphs};
    use pumice_types::TensorView;
    use pumice_vulkan::raw::InstanceError;
    use pumice_vulkan::{
        Call, DeviceOptions, FaultPlan, FaultResult, HostAccess, Instance, InstanceOptions, Message,
        MessageLog, OpenError, Validation, VulkanDevice,
    };
    use std::fs;
    use std::path::{Path, PathBuf};
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

    /// What every life finds in the folder of the pipeline cache.
    enum Cache {
        None,
        /// An empty folder.
        Cold(PathBuf),
        /// A folder with copies of the files of another.
        Warm {
            from: PathBuf,
            to: PathBuf,
        },
    }

    impl Cache {
        fn folder(&self) -> Option<PathBuf> {
            let to = match self {
                Cache::None => return None,
                Cache::Cold(to) | Cache::Warm { to, .. } => to,
            };
            let _ = fs::remove_dir_all(to);
            fs::create_dir_all(to).expect("a folder");
            if let Cache::Warm { from, .. } = self {
                for file in fs::read_dir(from).expect("a folder") {
                    let file = file.expect("an entry");
                    fs::copy(file.path(), to.join(file.file_name())).expect("copied");
                }
            }
            Some(to.clone())
        }
    }

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults").join(name)
    }

    type Life = (Result<(u64, Vec<f32>), Failure>, Option<Arc<MessageLog>>);

    /// Opens a device, compiles and runs the perceptron for two batches, and lets go of everything.
    fn life(validation: Validation, faults: FaultPlan, cache: &Cache) -> Life {
        life_with(HostAccess::Offered, validation, faults, cache)
    }

    fn life_with(host: HostAccess, validation: Validation, faults: FaultPlan, cache: &Cache) -> Life {
        let instance = match Instance::new(&InstanceOptions { validation, faults }) {
            Ok(instance) => Arc::new(instance),
            Err(e) => return (Err(Failure::Open(e.into())), None),
        };
        let log = instance.messages().clone();
        // One thread that asks nothing twice: the order of calls is the same in every life.
        let poll = Some(Duration::ZERO);
        let cache_dir = cache.folder();
        let options = DeviceOptions::default().pipeline_threads(Some(1)).poll(poll).cache_dir(cache_dir);
        let options = options.host_access(host);
        let device = match VulkanDevice::open_on(instance, &device::pick(), &options) {
            Ok(device) => Arc::new(device),
            Err(e) => return (Err(Failure::Open(e)), Some(log)),
        };
        let result = work(&device).map_err(Failure::Run);
        let (attempts, memory) = (device.calls().attempts(), device.memory().clone());
        assert_eq!(memory.live_bytes().0, 0, "{faults:?}: {result:?}");
        drop(device);
        assert_eq!((memory.staging_bytes().0, memory.allocations()), (0, 0), "{faults:?}: {result:?}");
        (result.map(|values| (attempts, values)), Some(log))
    }

    fn work(device: &Arc<VulkanDevice>) -> Result<Vec<f32>, RuntimeError> {
        let graph = graphs::perceptron();
        let target = pumice_runtime::Device::target(device.as_ref()).clone();
        let plan = pumice_compile::compile(&graph, &target, &Options::default(), &RefEval).expect("compiles");
        let exe = Executable::new(device.clone(), CheckedPlan::new(plan)?, Arc::new(RefHostOps))?;
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

    fn sweep(validation: Validation, result: FaultResult, cache: &Cache) {
        sweep_with(HostAccess::Offered, validation, result, cache);
    }

    fn sweep_with(host: HostAccess, validation: Validation, result: FaultResult, cache: &Cache) {
        let life = |validation, faults, cache| life_with(host, validation, faults, cache);
        let _kept = device::keep_driver();
        let (calls, expected) =
            life(validation, FaultPlan::default(), cache).0.expect("works without a fault");
        assert!(calls > 50, "{calls} calls");
        for n in 1..=calls {
            let (outcome, log) = life(validation, FaultPlan { fail_nth: n, result }, cache);
            let failure = outcome.expect_err("a fault must be an error");
            assert!(failure.is_of_the_device(), "call {n} of {calls}: {failure:?}");
            let messages: Vec<Message> = log.map(|l| l.take()).unwrap_or_default();
            assert_eq!(messages, [], "call {n} of {calls}: {failure:?}");
        }
        let again = life(validation, FaultPlan::default(), cache).0.expect("the next device works");
        assert_eq!(again, (calls, expected));
        println!("{calls} calls failed once each");
    }

    #[test]
    fn every_call_loses_the_device_once() {
        sweep(Validation::Off, FaultResult::DeviceLost, &Cache::None);
    }

    /// Flushes, invalidations and the copies through staging among them.
    #[test]
    fn every_call_fails_once_with_shadowed_memory() {
        sweep_with(HostAccess::Shadowed, Validation::Off, FaultResult::OutOfHostMemory, &Cache::None);
    }

    /// Some drivers return no error when the device is lost: the timeline's counter reads its maximum.
    #[test]
    fn a_counter_at_its_maximum_is_a_lost_device() {
        let _kept = device::keep_driver();
        let whole = life(Validation::Off, FaultPlan::default(), &Cache::None).0;
        let (calls, _) = whole.expect("works without a fault");
        // Nothing waits after the last run: what it left is read from mapped memory.
        for fail_nth in (calls / 2..calls - 8).step_by(5) {
            let faults = FaultPlan { fail_nth, result: FaultResult::CounterAtMaximum };
            let failure = life(Validation::Off, faults, &Cache::None).0.expect_err("it is lost");
            assert!(
                matches!(&failure, Failure::Run(RuntimeError::Device(DeviceError::Lost(_)))),
                "call {fail_nth} of {calls}: {failure:?}"
            );
        }
    }

    /// A device that hung was waited for without end, by runs and by destructors.
    #[test]
    fn a_device_that_hangs_is_given_up() {
        let _kept = device::keep_driver();
        let whole = life(Validation::Off, FaultPlan::default(), &Cache::None).0;
        let (calls, _) = whole.expect("works without a fault");
        let mut named = 0;
        // Nothing waits after the last run: what it left is read from mapped memory.
        for fail_nth in (calls / 2..calls - 8).step_by(5) {
            let faults = FaultPlan { fail_nth, result: FaultResult::TimelineStands };
            let instance = Instance::new(&InstanceOptions { validation: Validation::Off, faults });
            let options = DeviceOptions::default().pipeline_threads(Some(1)).poll(Some(Duration::ZERO));
            let open = VulkanDevice::open_on(Arc::new(instance.expect("one")), &device::pick(), &options);
            let device = Arc::new(open.expect("opens"));
            let log = Arc::clone(device.calls());
            let failure = work(&device).expect_err("it hangs");
            let RuntimeError::Device(DeviceError::Stalled { plan, levels, waited }) = failure else {
                panic!("call {fail_nth} of {calls}: {failure:?}");
            };
            assert!(waited >= Duration::from_secs(10));
            named += u32::from(levels.is_some() && !plan.is_empty());
            let again = work(&device).expect_err("it counts as lost");
            assert!(matches!(again, RuntimeError::Device(DeviceError::Lost(_))), "{again:?}");
            let waits = log.count(Call::WaitSemaphores);
            drop(device);
            assert_eq!((log.count(Call::WaitSemaphores), log.count(Call::QueueWaitIdle)), (waits, 0));
        }
        assert!(named > 0, "a submission of a run says which levels it has");
    }

    /// The next device may be of the same instance: what keeps the driver loaded.
    #[test]
    fn a_lost_device_does_not_take_its_instance_along() {
        let _kept = device::keep_driver();
        let (calls, _) =
            life(Validation::Off, FaultPlan::default(), &Cache::None).0.expect("works without a fault");
        let faults = FaultPlan { fail_nth: calls - 2, result: FaultResult::DeviceLost };
        let instance = Instance::new(&InstanceOptions { validation: Validation::Off, faults });
        let instance = Arc::new(instance.expect("an instance"));
        let options = DeviceOptions::default().pipeline_threads(Some(1)).poll(Some(Duration::ZERO));
        let open = || VulkanDevice::open_on(instance.clone(), &device::pick(), &options).expect("opens");
        let first = Arc::new(open());
        let lost = work(&first).expect_err("lost");
        assert!(matches!(lost, RuntimeError::Device(DeviceError::Lost(_))), "{lost:?}");
        let again = work(&first).expect_err("it stays lost");
        assert!(matches!(again, RuntimeError::Device(DeviceError::Lost(_))), "{again:?}");
        work(&Arc::new(open())).expect("another device of the instance works");
    }

    /// The pipeline cache is made anew and written.
    #[test]
    fn every_call_fails_once_while_a_cache_is_written() {
        sweep(Validation::Off, FaultResult::OutOfDeviceMemory, &Cache::Cold(folder("cold")));
    }

    /// The pipeline cache is read from the file of an earlier life.
    #[test]
    fn every_call_fails_once_while_a_cache_is_read() {
        let from = folder("earlier");
        let _kept = device::keep_driver();
        let first = life(Validation::Off, FaultPlan::default(), &Cache::Cold(from.clone()));
        first.0.expect("works without a fault");
        assert_eq!(fs::read_dir(&from).expect("a folder").count(), 1, "one file was written");
        sweep(Validation::Off, FaultResult::OutOfDeviceMemory, &Cache::Warm { from, to: folder("warm") });
    }

    mod with_validation {
        use super::*;

        #[test]
        fn every_call_runs_out_of_memory_once_under_validation() {
            sweep(Validation::Core, FaultResult::OutOfDeviceMemory, &Cache::None);
        }
    }
}
