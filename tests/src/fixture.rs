//! A device under test with what suites do on it: compile, check, load, fill.

use crate::device;
use crate::op_suite::checked;
use pumice_compile::Options;
use pumice_cpu_ref::{Interpreter, RefEval, RefHostOps};
use pumice_import::Model;
use pumice_ir::Graph;
use pumice_plan::{CheckedPlan, Plan};
use pumice_runtime::{Device, Executable};
use pumice_types::{Bytes, Target};
use pumice_vulkan::{DeviceOptions, HostAccess, VulkanDevice};
use std::sync::Arc;
use std::time::Duration;

/// A device under test.
pub struct Fixture {
    /// The device.
    pub device: Arc<dyn Device>,
    /// The same, where it is a Vulkan device.
    pub vulkan: Option<Arc<VulkanDevice>>,
    /// What is compiled for: the device, or the device selecting as another.
    pub target: Target,
}

impl Fixture {
    /// The interpreter.
    pub fn interpreter() -> Fixture {
        Fixture {
            device: Arc::new(Interpreter::new(Target::lavapipe())),
            vulkan: None,
            target: Target::lavapipe(),
        }
    }

    /// The Vulkan device of [`device::pick`].
    pub fn vulkan() -> Fixture {
        Fixture::vulkan_with(&DeviceOptions::default())
    }

    /// The Vulkan device of [`device::pick`] with options.
    pub fn vulkan_with(options: &DeviceOptions) -> Fixture {
        let device = device::open(options);
        Fixture { device: device.clone(), vulkan: Some(device.clone()), target: device.target().clone() }
    }

    /// The Vulkan device of [`device::pick`] as a discrete card may be: memory that the host does not see and that is
    /// not coherent, and the kernels that an H200's figures and kind select.
    pub fn shadowed() -> Fixture {
        let fixture = Fixture::vulkan_with(&DeviceOptions::default().host_access(HostAccess::Shadowed));
        Fixture { target: fixture.target.selecting_as(&Target::h200()), ..fixture }
    }

    /// The Vulkan device of [`device::pick`], with every level of a program a submission of its own.
    pub fn by_levels() -> Fixture {
        Fixture::vulkan_with(&DeviceOptions::default().submission_bound(Duration::ZERO))
    }

    /// That no executable or session holds device memory any more, and that the device, once dropped, holds none.
    ///
    /// # Panics
    /// If one does.
    pub fn gives_everything_back(self) {
        let Some(ledger) = self.vulkan.as_ref().map(|v| v.memory().clone()) else { return };
        assert_eq!(ledger.live_bytes(), Bytes::ZERO, "bytes that nobody uses are alive");
        drop(self);
        assert_eq!((ledger.staging_bytes(), ledger.allocations()), (Bytes::ZERO, 0), "after the device");
    }

    /// Whether this is a Vulkan device: fast, and close to the evaluator instead of equal to it.
    pub fn is_vulkan(&self) -> bool {
        self.vulkan.is_some()
    }

    /// The checked plan of a graph for this device.
    ///
    /// # Panics
    /// If the graph does not compile or the checker finds a fault.
    pub fn plan(&self, graph: &Graph, options: &Options) -> Plan {
        let plan = pumice_compile::compile(graph, &self.target, options, &RefEval);
        let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
        checked(&plan).unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
        plan
    }

    /// A plan on the device.
    ///
    /// # Panics
    /// If it cannot be loaded.
    pub fn load(&self, plan: Plan) -> Executable {
        let plan = CheckedPlan::new(plan).unwrap_or_else(|e| panic!("{e}"));
        Executable::new(self.device.clone(), plan, Arc::new(RefHostOps)).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A graph compiled and loaded.
    pub fn executable(&self, graph: &Graph, options: &Options) -> Executable {
        self.load(self.plan(graph, options))
    }

    /// A model compiled, loaded, and filled with its weights.
    ///
    /// # Panics
    /// If one of these fails.
    pub fn model(&self, model: &Model, options: &Options) -> Executable {
        let exe = self.executable(&model.graph, options);
        for id in model.graph.params() {
            let name = &model.graph.value(id).name;
            let tensor = model.weights.load(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            exe.set_param_view(name, tensor.view()).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        exe
    }
}

/// Makes, of functions that take a [`Fixture`], one test on the interpreter each, one on the Vulkan device, one on the
/// Vulkan device with shadowed memory and the kernels of GPUs, and one where every level is a submission. The device
/// must have all its memory back afterwards.
#[macro_export]
macro_rules! on_every_device {
    ($($name:ident),* $(,)?) => {
        mod on_interpreter {$(
            #[test]
            fn $name() {
                super::$name(&$crate::Fixture::interpreter());
            }
        )*}
        mod on_device {$(
            #[test]
            fn $name() {
                let fixture = $crate::Fixture::vulkan();
                super::$name(&fixture);
                fixture.gives_everything_back();
            }
        )*
            mod shadowed {$(
                #[test]
                fn $name() {
                    let fixture = $crate::Fixture::shadowed();
                    super::super::$name(&fixture);
                    fixture.gives_everything_back();
                }
            )*}
            mod by_levels {$(
                #[test]
                fn $name() {
                    let fixture = $crate::Fixture::by_levels();
                    super::super::$name(&fixture);
                    fixture.gives_everything_back();
                }
            )*}
        }
    };
}
