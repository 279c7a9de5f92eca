//! MiniLM (S2): batch 1 and 32 of 128 tokens through one executable; the device's time of replays one after the other,
//! and what a run takes on the host beyond the device's time.

use crate::Case;
use crate::clock::{self, Inputs};
use crate::data;
use crate::rig::{self, Rig};
use crate::row::{Bar, Figures, Outcome, Row};
use pumice::embed::EmbedOptions;
use pumice::{Executable, Loaded, OptOptions, Options, RunOptions, Session, TensorView};
use pumice_import::Model;
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderFolder, EncoderOptions, SentenceOverrides, specialize};
use std::path::Path;

/// Seed of the weights where there is no model folder.
pub const SEED: u64 = 1;

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![Case::new("S2.minilm", measure)]
}

/// The folder's model, or the seeded one of the same shape, with the size of its vocabulary.
pub fn model(folder: Option<&Path>) -> Outcome<(Model, u64)> {
    let options = EncoderOptions::default();
    let Some(folder) = folder else {
        let offline = OfflineEncoder::new(SEED, &options)?;
        return Ok((offline.model, offline.config.vocab));
    };
    let folder = EncoderFolder::open(folder, &SentenceOverrides::default())?;
    Ok((folder.model(&options)?, folder.config.vocab))
}

/// Compilation as `Embedder` does it.
pub fn options(opt: OptOptions) -> Options {
    EmbedOptions::default().compile.opt(opt).specializations(specialize::encoder())
}

fn measure(rig: &Rig) -> Outcome<Vec<Row>> {
    let (model, vocab) = model(rig.args.model.as_deref())?;
    let exe = Loaded::new(
        &model,
        &rig.device,
        &options(OptOptions::default()).precision(rig.args.precision),
        |_, _| {},
    )?
    .exe;
    let plain = Loaded::new(
        &model,
        &rig.device,
        &options(OptOptions::none()).precision(rig.args.precision),
        |_, _| {},
    )?
    .exe;
    let mut rows = Vec::new();
    let tokens = rig.size(128, 16);
    for (batch, ratio) in [(1u64, 1.5), (rig.size(32, 4), 0.9)] {
        let bench = Batch {
            batch,
            tokens,
            ids: ids(batch * tokens, vocab),
            lengths: vec![tokens as i32; batch as usize],
        };
        rows.extend(bench.measure(rig, &exe, &plain, ratio)?);
    }
    Ok(rows)
}

/// Token numbers that are none of the specials.
fn ids(n: u64, vocab: u64) -> Vec<i32> {
    let low = if vocab > 2000 { 1000 } else { 5 };
    data::random(31, n as usize, low as f32, vocab as f32 - 1.0).iter().map(|&v| v as i32).collect()
}

/// One shape of input.
struct Batch {
    batch: u64,
    tokens: u64,
    ids: Vec<i32>,
    lengths: Vec<i32>,
}

impl Batch {
    fn inputs(&self) -> [(&'static str, TensorView<'_>); 2] {
        [
            ("ids", TensorView::i32(&self.ids, [self.batch, self.tokens])),
            ("lengths", TensorView::i32(&self.lengths, [self.batch])),
        ]
    }

    fn measure(&self, rig: &Rig, exe: &Executable, plain: &Executable, ratio: f64) -> Outcome<Vec<Row>> {
        let inputs = self.inputs();
        let name = format!("S2.minilm_b{}_s{}", self.batch, self.tokens);
        let mut session = exe.session()?;
        let unfused = self.figures(plain).map_or(0, |f| f.dispatches);
        let checked =
            format!("{} of {unfused} steps", compare(&mut session, &mut plain.session()?, &inputs)?);
        let pace = rig.gpu_pace();
        let times = clock::device(&mut session, &inputs, pace)?;
        let figures = self.figures(exe);
        if rig.args.profile {
            print!("{name}\n{}", session.profile(&inputs, &RunOptions::default())?);
        }
        let device = Row {
            figures,
            bar: Bar::Ratio(ratio),
            judged: rig.judges_gpu(),
            checked: checked.clone(),
            notes: rig::notes(times, rig.judges_gpu()),
            ..Row::new(name.clone(), times, "device")
        };
        let beyond = host_beyond(&mut session, &inputs, rig)?;
        let host = Row {
            bar: Bar::Us(60.0),
            judged: rig.judges_gpu(),
            checked,
            ..Row::new(format!("{name}_host_beyond"), beyond.0, "host")
        };
        Ok(vec![device, Row { notes: vec![beyond.1], ..host }])
    }

    fn figures(&self, exe: &Executable) -> Option<Figures> {
        let plan = exe.plan();
        let value = |id: pumice_types::SymbolId| {
            let (_, symbol) = plan.symbols.iter().nth(id.0 as usize)?;
            match symbol.name.as_str() {
                "batch" => Some(self.batch),
                "seq" => Some(self.tokens),
                _ => None,
            }
        };
        Some(Figures::of(exe, plan.run_for(0, value)?))
    }
}

/// The outputs of one run against those of the unfused graph.
fn compare(session: &mut Session, plain: &mut Session, inputs: &Inputs<'_>) -> Outcome<String> {
    let (got, want) = (session.run(inputs)?, plain.run(inputs)?);
    let want: Vec<f64> = want.at(0)?.to_vec::<f32>()?.iter().map(|&v| f64::from(v)).collect();
    let worst = data::worst(&got.at(0)?.to_vec::<f32>()?, &want, 1e-4)?;
    Ok(format!("every output against the unfused graph: {worst:.1e}"))
}

/// Wall time of a run whose inputs are given anew, less the device's time of a run that has its submission to itself;
/// and how that was got.
fn host_beyond(session: &mut Session, inputs: &Inputs<'_>, rig: &Rig) -> Outcome<(clock::Times, String)> {
    let pace = rig.gpu_pace();
    let options = RunOptions::default();
    let device = clock::device_once(session, inputs, pace)?;
    let host = clock::host(5 * pace.samples, pace.warm_s, || Ok(session.execute(inputs, &options)?))?;
    let less = |us: f64| us - device.median;
    let note = format!(
        "host {:.1} us, device {:.1} us, each the median of its own runs",
        host.median, device.median
    );
    let times = clock::Times { median: less(host.median), min: less(host.min), max: less(host.max), ..host };
    Ok((times, note))
}
