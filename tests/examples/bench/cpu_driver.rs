//! A Vulkan driver on the CPU (S3): wall time of a run on two pinned CPUs, in alternation with another compiler where a
//! program for it is given. The work is that of rlx-vulkan's bench: a host input of one element, a result of one
//! element, weights and operands resident.

use crate::Case;
use crate::chain;
use crate::clock::{self, Inputs, Times};
use crate::data;
use crate::pin;
use crate::rig::Rig;
use crate::row::{Bar, Figures, Outcome, Reference, Row};
use pumice::{Executable, GraphBuilder, Outputs, Session, TensorView, f32};
use std::path::Path;
use std::process::Command;

/// How often pumice and the other program take turns.
const TURNS: usize = 3;
/// Dependent matmuls in one run.
const PRODUCTS: u32 = 8;
const ONE: [f32; 1] = [1.0];

/// The cases: one, because they take turns together.
pub fn cases() -> Vec<Case> {
    vec![Case::new("S3.cpu_driver", measure)]
}

/// An executable that is ready to be timed.
struct Ready {
    name: String,
    /// What the other program calls it.
    theirs: String,
    exe: Executable,
    session: Session,
    inputs: Vec<(&'static str, Vec<f32>)>,
    per: u32,
    least: f64,
    checked: String,
}

fn measure(rig: &Rig) -> Outcome<Vec<Row>> {
    let mut cases = vec![add(rig, if rig.quick { 1 << 20 } else { 1 << 24 })?];
    cases.push(dependent(rig, true)?);
    cases.push(dependent(rig, false)?);
    for n in if rig.quick { vec![64] } else { vec![256, 1024] } {
        cases.push(products(rig, n)?);
    }
    let mut ours: Vec<Vec<Times>> = vec![Vec::new(); cases.len()];
    let mut theirs: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    for _ in 0..if rig.quick { 1 } else { TURNS } {
        for (case, times) in cases.iter_mut().zip(&mut ours) {
            times.push(case.time(rig)?);
        }
        if let Some(program) = &rig.args.rlx {
            let said = run_other(program, if rig.quick { "1" } else { "1024" })?;
            for (case, times) in cases.iter().zip(&mut theirs) {
                times.extend(said.iter().find(|(name, _)| *name == case.theirs).map(|(_, us)| us));
            }
        }
    }
    let turns = ours.iter().zip(&theirs);
    Ok(cases.into_iter().zip(turns).map(|(case, (ours, theirs))| case.row(rig, ours, theirs)).collect())
}

impl Ready {
    fn time(&mut self, rig: &Rig) -> Outcome<Times> {
        let views = self.inputs.iter().map(|(name, values)| {
            let view = TensorView::f32(values, [values.len() as u64]);
            (*name, view)
        });
        let inputs: Vec<_> = views.collect();
        let session = &mut self.session;
        let pace = rig.pace;
        let times = clock::host(pace.samples, pace.warm_s, || {
            session.run(&inputs)?;
            Ok(())
        })?;
        Ok(times.over(f64::from(self.per)))
    }

    /// The median of the turns' medians against that of the other program's.
    fn row(self, rig: &Rig, ours: &[Times], theirs: &[f64]) -> Row {
        let medians: Vec<f64> = ours.iter().map(|t| t.median).collect();
        let all = Times::of(&medians);
        let extreme = |pick: fn(f64, f64) -> f64, of: fn(&Times) -> f64| ours.iter().map(of).reduce(pick);
        let times = Times {
            min: extreme(f64::min, |t| t.min).unwrap_or(f64::NAN),
            max: extreme(f64::max, |t| t.max).unwrap_or(f64::NAN),
            samples: ours.iter().map(|t| t.samples).sum(),
            ..all
        };
        let from = format!("rlx-vulkan, same CPUs, {} turns in alternation, median", theirs.len());
        let reference = (!theirs.is_empty()).then(|| Reference { us: Times::of(theirs).median, from });
        let round = |values: &[f64]| values.iter().map(|v| format!("{v:.1}")).collect::<Vec<_>>().join(" / ");
        let mut notes = Vec::new();
        if !theirs.is_empty() {
            notes.push(format!("turns: pumice {} us, the other {} us", round(&medians), round(theirs)));
        }
        if pin::cpus() != 2 {
            notes.push(format!("on {} CPUs instead of two", pin::cpus()));
        }
        Row {
            per: self.per,
            figures: Some(Figures::of(&self.exe, 0)),
            reference,
            bar: Bar::Ratio(self.least),
            judged: !rig.quick && pin::cpus() == 2,
            checked: self.checked,
            notes,
            ..Row::new(self.name, times, "host")
        }
    }
}

/// x + x of `n` elements, of which one is read.
fn add(rig: &Rig, n: u64) -> Outcome<Ready> {
    let x = data::random(41, n as usize, -1.0, 1.0);
    let g = GraphBuilder::new("add");
    let v = g.state_read(g.state("x", f32([n])));
    let last = n as i64 - 1;
    let picked = g.slice(g.add(v, v), &[last], &[last + 1], &[0], &[1]);
    g.output("y", g.add(picked, g.input("z", f32([1]))));
    let (exe, mut session) = rig.load(&g.build()?, true, &[("x", &x)])?;
    let got = one(&session.run(&z())?)?;
    let want = f64::from(2.0 * x[last as usize]) + 1.0;
    let worst = data::worst(&[got], &[want], 1e-6)?;
    Ok(Ready {
        name: format!("S3.add_{}Mi", n >> 20),
        theirs: format!("add {n} elems"),
        exe,
        session,
        inputs: vec![("z", ONE.to_vec())],
        per: 1,
        least: 3.0,
        checked: format!("the last element against f32: {worst:.1e}"),
    })
}

fn dependent(rig: &Rig, fused: bool) -> Outcome<Ready> {
    let ops = 2000;
    let (x, w) = chain::numbers();
    let graph = chain::graph(ops, |g| g.input("x", f32([chain::WIDTH as u64])))?;
    let (exe, mut session) = rig.load(&graph, fused, &[("w", &w)])?;
    let outputs = session.run(&[("x", TensorView::f32(&x, [chain::WIDTH as u64]))])?;
    Ok(Ready {
        name: format!("S3.chain_{ops}_{}", chain::word(fused)),
        theirs: format!("chain {ops} tiny ops"),
        checked: chain::check(&outputs, ops)?,
        exe,
        session,
        inputs: vec![("x", x)],
        per: 1,
        least: if fused { 3.0 } else { 1.5 },
    })
}

/// Eight matmuls one after the other, of which one element is read.
fn products(rig: &Rig, n: u64) -> Outcome<Ready> {
    let scale = (3.0 / n as f32).sqrt();
    let a = data::random(42, (n * n) as usize, -1.0, 1.0);
    let b = data::random(43, (n * n) as usize, -scale, scale);
    let g = GraphBuilder::new("products");
    let w = g.param("b", f32([n, n]));
    let mut c = g.state_read(g.state("a", f32([n, n])));
    for _ in 0..PRODUCTS {
        c = g.matmul(c, w);
    }
    let corner = g.reshape(g.slice(c, &[0, 0], &[1, 1], &[0, 1], &[1, 1]), &[1]);
    g.output("y", g.add(corner, g.input("z", f32([1]))));
    let (exe, mut session) = rig.load(&g.build()?, true, &[("a", &a), ("b", &b)])?;
    let mut want: Vec<f64> = a[..n as usize].iter().map(|&v| f64::from(v)).collect();
    for _ in 0..PRODUCTS {
        want = data::row_times(&want, &b, n as usize);
    }
    let worst = data::worst(&[one(&session.run(&z())?)?], &[want[0] + 1.0], 1e-4)?;
    Ok(Ready {
        name: format!("S3.gemm_{n}"),
        theirs: format!("gemm_f32_{n}"),
        exe,
        session,
        inputs: vec![("z", ONE.to_vec())],
        per: PRODUCTS,
        least: 3.0,
        checked: format!("one element against f64: {worst:.1e}"),
    })
}

fn z() -> Box<Inputs<'static>> {
    Box::new([("z", TensorView::f32(&ONE, [1]))])
}

fn one(outputs: &Outputs) -> Outcome<f32> {
    let values = outputs.get("y")?.to_vec::<f32>()?;
    values.first().copied().ok_or_else(|| "an output without elements".into())
}

/// Runs the other program with the largest matrix as its argument and reads its lines `name: TIME ms…`; times in
/// microseconds.
fn run_other(program: &Path, largest: &str) -> Outcome<Vec<(String, f64)>> {
    let out =
        Command::new(program).arg(largest).output().map_err(|e| format!("{}: {e}", program.display()))?;
    if !out.status.success() {
        return Err(format!("{} ended with {}", program.display(), out.status).into());
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = |line: &str| {
        let (name, rest) = line.split_once(": ")?;
        let (ms, unit) = rest.split_once(' ')?;
        unit.starts_with("ms").then_some(())?;
        Some((name.to_owned(), 1e3 * ms.parse::<f64>().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}
