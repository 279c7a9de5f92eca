//! What a trainer takes of the host (G16): compiling and checking a step, and a step by the wall, its batch taken and
//! uploaded, beside the same step by the device's clock.

use crate::Case;
use crate::clock::{Times, host};
use crate::data;
use crate::rig::Rig;
use crate::row::{Bar, Outcome, Row};
use crate::training::Training;
use pumice::train::{Batch, TrainOptions, Trainer, step_graphs};
use pumice::{Graph, Options, Tensor};
use pumice_compile::compile;
use pumice_cpu_ref::RefEval;
use pumice_ir::Op;
use pumice_plan::CheckedPlan;
use pumice_types::{DType, Target};
use std::time::Instant;

/// Rounds of compiling and checking.
const ROUNDS: usize = 9;
/// Batches that come one after the other.
const BATCHES: u64 = 4;

/// A network's step by the wall.
pub fn by_the_wall(name: String, make: impl Fn() -> Outcome<Training> + 'static) -> Case {
    Case::new(name.clone(), move |rig| {
        let (training, of_device) = (make()?, format!("{name}.device"));
        let graphs = step_graphs(&training.graph, &training.recipe)?;
        let options = Options::default().precision(rig.args.precision);
        let (device, _) = training.row(rig, &graphs, (&of_device, &options), Bar::None)?;
        let wall = Row {
            bar: Bar::TimesOf(of_device, 1.05),
            judged: rig.judges_gpu(),
            ..Row::new(format!("{name}.wall"), wall(&training, rig, options)?, "host")
        };
        Ok(vec![device, wall])
    })
}

/// A network's step compiled and checked.
pub fn planned(name: String, make: impl Fn() -> Outcome<Training> + 'static) -> Case {
    Case::new(name.clone(), move |rig| {
        let training = make()?;
        let graphs = step_graphs(&training.graph, &training.recipe)?;
        plans(&graphs.step, &Options::default().precision(rig.args.precision), rig, &name)
    })
}

/// Compiling and checking, as for an H200: that needs no device.
fn plans(step: &Graph, options: &Options, rig: &Rig, name: &str) -> Outcome<Vec<Row>> {
    let (mut compiled, mut checked) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let plan = compile(step, &Target::h200(), options, &RefEval)?;
        compiled.push(begin.elapsed().as_secs_f64() * 1e6);
        let begin = Instant::now();
        CheckedPlan::new(plan)?;
        checked.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    let row = |what: &str, samples: &[f64], most: f64| Row {
        bar: Bar::Us(most),
        judged: !rig.args.quick,
        ..Row::new(format!("{name}.{what}"), Times::of(samples), "host")
    };
    Ok(vec![row("compile", &compiled, 500_000.0), row("check", &checked, 150_000.0)])
}

/// Updates by a trainer, each of a batch of its own.
fn wall(training: &Training, rig: &Rig, options: Options) -> Outcome<Times> {
    let options = TrainOptions::default().compile(options);
    let mut trainer = Trainer::new(&training.graph, &training.recipe, &rig.device, &options)?;
    for (seed, param) in (7..).zip(trainer.trained().to_vec()) {
        let count = param.shape.iter().product::<u64>() as usize;
        let (low, high) = (training.values)(&param.name);
        trainer.set(&param.name, Tensor::new(&data::random(seed, count, low, high), &param.shape)?.view())?;
    }
    let batches = (0..BATCHES).map(|seed| batch(training, seed)).collect::<Outcome<Vec<Batch>>>()?;
    let mut next = batches.iter().cycle();
    let pace = rig.gpu_pace();
    host(3 * pace.samples, pace.warm_s, || {
        let report = trainer.update(next.next().map_or(&[], std::slice::from_ref))?;
        if report.made { Ok(()) } else { Err("an update was not made".into()) }
    })
}

/// Drawn inputs, at the largest extents.
fn batch(training: &Training, seed: u64) -> Outcome<Batch> {
    let graph = &training.graph;
    let inputs = graph.nodes().filter(|(_, node)| matches!(node.op, Op::Input(_)));
    inputs.map(|(_, node)| node.output()).try_fold(Batch::new(), |batch, v| {
        let (name, ty) = (graph.value(v).name.to_string(), graph.ty(v));
        let shape: Vec<u64> = ty.shape.iter().map(|extent| extent.upper(graph.symbols())).collect();
        let drawn = |low, high| data::random(29 + seed, shape.iter().product::<u64>() as usize, low, high);
        let tensor = if ty.dtype() == DType::F32 {
            Tensor::new(&drawn(-1.0, 1.0), &shape)?
        } else {
            let (low, high) = (training.integers)(&name);
            Tensor::new(&drawn(low, high).iter().map(|&v| v as i32).collect::<Vec<_>>(), &shape)?
        };
        Ok(batch.with(name, tensor))
    })
}
