//! The device under measurement, and the common way of a case: compile, fill, run once, check, time.

use crate::Args;
use crate::clock::{self, Pace, Times};
use crate::row::{Bar, Figures, Outcome, Rate, Row};
use pumice::{Device, DeviceKind, Executable, Graph, OptOptions, Options, Outputs, Session, Table};
use pumice_vulkan::{DeviceOptions, Pick, Snapshot, VulkanDevice, snapshot};
use std::path::Path;
use std::sync::Arc;

/// The device, and how it is used.
pub struct Rig {
    /// The device.
    pub device: Device,
    vulkan: Arc<VulkanDevice>,
    /// The arguments.
    pub args: Args,
    /// Whether sizes are small and nothing is judged.
    pub quick: bool,
    /// How long things are measured.
    pub pace: Pace,
}

/// A case whose operands are states and params, all of them on the device.
pub struct Spec<'a> {
    /// Its name.
    pub name: String,
    /// What is computed. Outputs are small: only what is checked.
    pub graph: Graph,
    /// Without it no pass runs that a plan does not need.
    pub fused: bool,
    /// Values of states and params by name.
    pub fill: Vec<(&'a str, &'a [f32])>,
    /// Units of work in one run.
    pub per: u32,
    /// What a unit of work is.
    pub rate: Rate,
    /// The demand.
    pub bar: Bar,
    /// Looks at the outputs of one run; says what it compared.
    pub check: &'a dyn Fn(&Outputs) -> Outcome<String>,
}

impl Rig {
    /// Opens the device that the arguments name.
    pub fn open(args: &Args) -> Outcome<Rig> {
        let (vulkan, mut device) = open_device(args.device.as_deref(), args.cache.as_deref())?;
        if let Some(file) = &args.table {
            device = device.with_table(Arc::new(Table::from_json(&std::fs::read_to_string(file)?)?));
        }
        let quick = args.quick || cfg!(debug_assertions) && !args.full;
        let pace = if quick { Pace::QUICK } else { Pace::FULL };
        Ok(Rig { device, vulkan, args: args.clone(), quick, pace })
    }

    /// Says what is measured otherwise than asked. Once: a program that starts itself again has not said it yet.
    pub fn announce(&self) {
        if self.quick && !self.args.quick {
            eprintln!("bench: a debug build; sizes and samples are those of --quick");
        }
        if self.is_cpu_driver() && !self.quick {
            eprintln!("bench: the device is a CPU driver; S1 and S2 run with small sizes and are not judged");
        }
    }

    /// Whether the device is a Vulkan driver that runs on the CPU.
    pub fn is_cpu_driver(&self) -> bool {
        self.device.kind() == DeviceKind::CpuDriver
    }

    /// What the device says of itself.
    pub fn snapshot(&self) -> &Snapshot {
        self.vulkan.snapshot()
    }

    /// Whether the GPU cases have the sizes and the device that their bars are for.
    pub fn judges_gpu(&self) -> bool {
        !self.quick && !self.is_cpu_driver()
    }

    /// The size of a GPU case: the full one on a GPU, the small one elsewhere.
    pub fn size<T>(&self, full: T, small: T) -> T {
        size(self.judges_gpu(), full, small)
    }

    /// Samples and warm-up of a GPU case.
    pub fn gpu_pace(&self) -> Pace {
        self.size(Pace::FULL, Pace::QUICK)
    }

    /// By what share a term of a product may be off: each of its factors by half a unit of what it is rounded to.
    pub fn rounded(&self) -> f64 {
        if self.args.precision.is_exact() { 0.0 } else { 2f64.powi(-10) }
    }

    /// A graph compiled, loaded and filled.
    pub fn load(
        &self,
        graph: &Graph,
        fused: bool,
        fill: &[(&str, &[f32])],
    ) -> Outcome<(Executable, Session)> {
        let opt = if fused { OptOptions::default() } else { OptOptions::none() };
        let exe = pumice::compile(
            graph,
            &self.device,
            &Options::default().opt(opt).precision(self.args.precision),
        )?;
        let is_param = |name: &str| exe.plan().params.iter().any(|p| p.name == name);
        let mut session = exe.session()?;
        for (name, values) in fill {
            match is_param(name) {
                true => exe.set_param(name, values)?,
                false => session.state(name)?.write_f32(values)?,
            }
        }
        Ok((exe, session))
    }

    /// Compiles, runs, checks and times a case by the device's clock.
    pub fn measure(&self, spec: &Spec<'_>) -> Outcome<Row> {
        self.measure_stored(spec, &[])
    }

    /// The same with the bytes of params that are no floats.
    pub fn measure_stored(&self, spec: &Spec<'_>, stored: &[(&str, &[u8])]) -> Outcome<Row> {
        let (exe, mut session) = self.load(&spec.graph, spec.fused, &spec.fill)?;
        for (name, bytes) in stored {
            exe.set_param_bytes(name, bytes)?;
        }
        let checked = (spec.check)(&session.run(&[])?)?;
        let times = clock::device(&mut session, &[], self.gpu_pace())?;
        Ok(Row {
            per: spec.per,
            rate: spec.rate,
            figures: Some(Figures::of(&exe, 0)),
            bar: spec.bar.clone(),
            judged: self.judges_gpu(),
            checked,
            notes: notes(times, self.judges_gpu()),
            ..Row::new(spec.name.clone(), times.over(f64::from(spec.per)), "device")
        })
    }
}

/// One of two.
pub fn size<T>(is_full: bool, full: T, small: T) -> T {
    if is_full { full } else { small }
}

/// What a reader should know of samples.
pub fn notes(times: Times, matters: bool) -> Vec<String> {
    let drift = "the first and the last quarter of the samples differ by more than 3 %";
    if times.steady || !matters { Vec::new() } else { vec![drift.to_owned()] }
}

/// A Vulkan device by a part of its name, else the best.
pub fn open_device(name: Option<&str>, cache: Option<&Path>) -> Outcome<(Arc<VulkanDevice>, Device)> {
    let pick = name.map_or(Pick::Best, |name| Pick::Name(name.to_owned()));
    let options = DeviceOptions::default().cache_dir(cache.map(Path::to_owned));
    let vulkan = Arc::new(VulkanDevice::open(&pick, &options)?);
    let kind = match vulkan.snapshot().kind {
        snapshot::DeviceKind::Cpu => DeviceKind::CpuDriver,
        _ => DeviceKind::Gpu,
    };
    let device = Device::from_runtime(vulkan.clone(), kind);
    Ok((vulkan, device))
}
