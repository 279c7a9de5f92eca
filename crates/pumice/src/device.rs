//! The device a program runs on: a GPU, a CPU Vulkan driver, or the interpreter.

use crate::error::Error;
#[cfg(feature = "vulkan")]
use crate::matrix_test;
use pumice_cpu_ref::interp::Interpreter;
use pumice_cpu_ref::{CustomOps, RefHostOps};
use pumice_plan::CheckedPlan;
use pumice_runtime::{HostOps, RuntimeError};
use pumice_types::{Bytes, Table, Target};
#[cfg(feature = "vulkan")]
use pumice_vulkan::snapshot::DeviceKind as VulkanKind;
#[cfg(feature = "vulkan")]
use pumice_vulkan::{DeviceOptions, Pick, VulkanDevice};
use std::fmt;
#[cfg(feature = "vulkan")]
use std::path::PathBuf;
use std::sync::Arc;

/// What kind of thing a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A GPU with a Vulkan driver.
    Gpu,
    /// A Vulkan driver that runs on the CPU (lavapipe).
    CpuDriver,
    /// pumice's own interpreter: exact, slow, always there.
    Interpreter,
}

/// What becomes of a device's matrix units (`VK_KHR_cooperative_matrix`) in products whose factors are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixUnits {
    /// It has none, or none that kernels can use.
    Absent,
    /// The device's table has no rows for them: on some cards they are slower, and nobody measured this one.
    Unmeasured,
    /// What they made was right, in each precision a product and an attention, where the table has rows for these: they
    /// are used.
    Used,
    /// What they made was wrong: plain kernels, which round by themselves, are used, with every table.
    Wrong,
    /// They could not be tested: the table cannot be compiled with or takes no kernel of theirs for what is tested, or
    /// memory is short. Plain kernels are used; [`Device::with_table`] tests again.
    Untested,
}

impl fmt::Display for MatrixUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MatrixUnits::Absent => "none",
            MatrixUnits::Unmeasured => "not used: the table of this device has no rows for them",
            MatrixUnits::Used => "tested and used in products that round their factors",
            MatrixUnits::Wrong => {
                "not used: what they computed was wrong, so plain kernels round and multiply"
            }
            MatrixUnits::Untested => {
                "not used: they could not be tested with this table, so plain kernels round and multiply"
            }
        })
    }
}

/// An open device. Cheap to clone; clones are the same device.
#[derive(Clone)]
pub struct Device {
    inner: Arc<dyn pumice_runtime::Device>,
    host: Arc<dyn HostOps>,
    custom: CustomOps,
    kind: DeviceKind,
    target: Target,
    matrix_units: MatrixUnits,
    /// Where it is remembered that the units are right.
    #[cfg(feature = "vulkan")]
    units_file: Option<PathBuf>,
    /// Name of the file that holds a table for this device in a cache folder.
    #[cfg(feature = "cli")]
    table_file: Option<String>,
}

/// A device with the reason it was taken and what would give a better one.
#[derive(Clone)]
pub struct DeviceChoice {
    /// The device.
    pub device: Device,
    /// Why this one, in one sentence.
    pub why: String,
    /// How to get a faster one; none for a GPU.
    pub better: Option<String>,
}

impl Device {
    /// The best device there is: a GPU, else a CPU Vulkan driver, else the interpreter.
    #[cfg(feature = "vulkan")]
    pub fn best() -> Device {
        Device::choose(&DeviceOptions::default()).device
    }

    /// The best device there is: without the feature `vulkan`, the interpreter.
    #[cfg(not(feature = "vulkan"))]
    pub fn best() -> Device {
        Device::cpu()
    }

    /// As [`Device::best`], saying why and what would be better.
    ///
    /// What will run is not known here, so a CPU driver is always taken before the interpreter. Once its kernels are
    /// compiled, lavapipe was 6 to 39 times faster on two CPUs; compiling takes 0.1 to 1 s a kernel, the first time
    /// that the driver meets it. For small graphs the interpreter is faster, and for one of a few thousand elements
    /// that runs once it is done before the first kernel is there: [`Device::cpu`].
    #[cfg(feature = "vulkan")]
    pub fn choose(options: &DeviceOptions) -> DeviceChoice {
        match Device::open(&Pick::Best, options) {
            Ok(device) if device.kind == DeviceKind::Gpu => DeviceChoice {
                why: "the best usable GPU: discrete first, then by memory".into(),
                better: None,
                device,
            },
            Ok(device) => DeviceChoice {
                why: "no GPU with a Vulkan driver was found, so a Vulkan driver on the CPU is used; it compiles a \
                      model's kernels before the first run, which takes seconds in every process"
                    .into(),
                better: Some(
                    "install your GPU's Vulkan driver; `pumice doctor` says what is missing. For a small graph that \
                     runs once the interpreter (`cpu`), which compiles nothing, is done sooner"
                        .into(),
                ),
                device,
            },
            Err(error) => DeviceChoice {
                device: Device::cpu(),
                why: format!(
                    "no Vulkan device can be opened ({error}), so the interpreter is used; it is slow"
                ),
                better: Some(
                    "install a Vulkan driver: your GPU's, or lavapipe (Debian, Ubuntu: mesa-vulkan-drivers)"
                        .into(),
                ),
            },
        }
    }

    /// Opens a Vulkan device.
    ///
    /// # Errors
    /// [`Error::Open`] with what is missing; `pumice doctor` says how to get it.
    #[cfg(feature = "vulkan")]
    pub fn open(pick: &Pick, options: &DeviceOptions) -> Result<Device, Error> {
        let vulkan = VulkanDevice::open(pick, options)?;
        let kind = match vulkan.snapshot().kind {
            VulkanKind::Cpu => DeviceKind::CpuDriver,
            _ => DeviceKind::Gpu,
        };
        let units_file =
            options.cache_dir.as_ref().map(|folder| folder.join(vulkan.cache_file_name("units")));
        #[cfg(feature = "cli")]
        let table_file = Some(vulkan.cache_file_name(crate::cli::kept_table::ENDING));
        let device = Device::of(Arc::new(vulkan), kind);
        #[cfg(feature = "cli")]
        let device = Device { table_file, ..device };
        Ok(Device { units_file, ..device }.with_tested_units())
    }

    /// The same device, without its matrix units where these are not right or not tested; what has passed is
    /// remembered.
    #[cfg(feature = "vulkan")]
    fn with_tested_units(mut self) -> Device {
        let matrices = &self.inner.target().features.matrices;
        self.target.features.matrices.clone_from(matrices);
        self.matrix_units = matrix_test::units(&self, self.units_file.as_deref());
        if matches!(self.matrix_units, MatrixUnits::Wrong | MatrixUnits::Untested) {
            self.target.features.matrices.clear();
        }
        self
    }

    /// Name of the file in which `pumice tune` keeps its table for this device, in a cache folder; none where no driver
    /// says which device it is.
    #[cfg(feature = "cli")]
    pub(crate) fn table_file(&self) -> Option<&str> {
        self.table_file.as_deref()
    }

    /// The interpreter: plans of plain kernels, run on the CPU by what their steps mean. Slow. It takes as much memory
    /// as the machine has; a single tensor has at most 2 GiB.
    pub fn cpu() -> Device {
        Device::from_runtime(Arc::new(Interpreter::of_machine()), DeviceKind::Interpreter)
    }

    /// Any device of the runtime, such as one with options of its own.
    pub fn from_runtime(inner: Arc<dyn pumice_runtime::Device>, kind: DeviceKind) -> Device {
        let device = Device::of(inner, kind);
        #[cfg(feature = "vulkan")]
        let device = device.with_tested_units();
        device
    }

    fn of(inner: Arc<dyn pumice_runtime::Device>, kind: DeviceKind) -> Device {
        let target = inner.target().clone();
        Device {
            inner,
            host: Arc::new(RefHostOps),
            custom: CustomOps::new(),
            kind,
            target,
            matrix_units: MatrixUnits::Absent,
            #[cfg(feature = "vulkan")]
            units_file: None,
            #[cfg(feature = "cli")]
            table_file: None,
        }
    }

    /// The same device with ops of yours: graphs that are compiled for it, and plans that are loaded on it, may have
    /// them. Every host step is run by [`CustomOps`] from then on.
    #[must_use]
    pub fn with_custom_ops(self, custom: CustomOps) -> Device {
        Device { host: Arc::new(custom.clone()), custom, ..self }
    }

    /// The ops of users that it has.
    pub fn custom_ops(&self) -> &CustomOps {
        &self.custom
    }

    /// Replaces what runs host steps. `host` must prepare every host step of a plan; delegate to
    /// [`RefHostOps`], or to the [`CustomOps`] that the device was given before, for those that it does not handle
    /// itself.
    pub fn with_host_ops(self, host: Arc<dyn HostOps>) -> Device {
        Device { host, ..self }
    }

    /// The same device, compiled for with another selection table, such as one that `pumice tune` wrote on it.
    /// [`compile`](crate::compile) refuses a table that names what does not exist. Matrix units are tested where the
    /// table has other rows for them.
    #[must_use]
    pub fn with_table(self, table: Arc<Table>) -> Device {
        #[cfg(feature = "vulkan")]
        let tests_again = match self.matrix_units {
            MatrixUnits::Wrong => false,
            MatrixUnits::Used => !matrix_test::have_same_rows(&self.target.table, &table),
            MatrixUnits::Absent | MatrixUnits::Unmeasured | MatrixUnits::Untested => true,
        };
        let device = Device { target: self.target.with_table(table), ..self };
        #[cfg(feature = "vulkan")]
        let device = if tests_again { device.with_tested_units() } else { device };
        device
    }

    /// The name people know it by.
    pub fn name(&self) -> String {
        self.inner.name()
    }

    /// What kind of thing it is.
    pub fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// What becomes of its matrix units.
    pub fn matrix_units(&self) -> MatrixUnits {
        self.matrix_units
    }

    /// What to compile for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Bytes that programs can take on it now, by what its driver says is free, or by what it has less what pumice
    /// holds; none where the device does not know, as the interpreter does not.
    pub fn free_memory(&self) -> Option<Bytes> {
        self.inner.free_memory().map(|free| free.min(self.target.limits.memory))
    }

    /// Makes the kernels of plans on every processor, without loading them: what the driver keeps of kernels makes
    /// later runs start sooner, in other processes too where it keeps them on disk. A program that installs plan files
    /// calls it once, with all of them: kernels that plans share are made once.
    ///
    /// # Errors
    /// [`Error::Runtime`] where the device lacks what a plan needs, refuses a kernel, or fails.
    pub fn prepare(&self, plans: &[CheckedPlan]) -> Result<(), Error> {
        Ok(self.inner.prepare(plans).map_err(RuntimeError::from)?)
    }

    /// The runtime's view of it.
    pub fn shared(&self) -> Arc<dyn pumice_runtime::Device> {
        self.inner.clone()
    }

    /// What runs its host steps.
    pub fn host_ops(&self) -> Arc<dyn HostOps> {
        self.host.clone()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name()).field("kind", &self.kind).finish()
    }
}
