//! Gradients of a program against slopes of its loss along drawn directions.

use super::loss::Differentiated;
use super::place::{Direction, Place};
use crate::draws::Draws;
use pumice_cpu_ref::differences::{STEP, slopes};
use pumice_ir::Graph;

/// Directions that are judged.
const DIRECTIONS: usize = 2;
/// How often each is drawn.
const TRIES: usize = 20;
/// Elements of a direction that moves few, which meets fewer kinks.
const FEW: usize = 16;
/// Steps of the draws of a direction: what meets a kink is drawn again, and moves less.
const STEPS: [f64; 4] = [STEP, STEP / 20.0, STEP / 400.0, STEP / 400.0];
/// Of Σ|g·d|.
const CLOSE: f64 = 1e-6;

/// How the gradients of a program were judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// They are what differences say, along so many directions.
    Right {
        /// At least 1.
        directions: usize,
    },
    /// Every direction meets a kink.
    Kinks,
}

/// Holds the gradients of a program against slopes along directions that follow from a seed.
///
/// # Errors
/// What differs.
pub fn judge(program: &Differentiated, seed: u64) -> Result<Judged, String> {
    let graph = program.before.graph.as_ref().map_err(Clone::clone)?;
    let with_gradients = program.sample.graph.as_ref().map_err(Clone::clone)?;
    let ground =
        Ground { place: Place::of(&program.sample, with_gradients)?, graph, wanted: &program.wanted };
    let at = ground.loss(None)?;
    let said = ground.place.evaluate(with_gradients, None, false)?.outputs;
    let gradients = said[said.len() - program.wanted.len()..].iter().map(|a| a.to_f64()).collect::<Vec<_>>();
    let mut draws = Draws(seed ^ 0x6772_6164);
    let mut judged = 0;
    for _ in 0..DIRECTIONS {
        for k in 0..TRIES {
            let direction = ground.direction(&mut draws, k % 2 == 1);
            let step = STEPS[k / 2 % STEPS.len()];
            let slope = slopes(&at, step, |by| ground.loss(Some((&direction, by))))?[0];
            let Some(slope) = slope else { continue };
            let (said, size) = ground.along(&gradients, &direction);
            if (said - slope.value).abs() > CLOSE * size + slope.noise {
                let leaves = ground.leaf_by_leaf(&at, &gradients, &direction, step)?;
                return Err(format!(
                    "the gradient says {said:e}, differences {slope:?}, of sizes {size:e};{leaves}"
                ));
            }
            judged += 1;
            break;
        }
    }
    Ok(if judged == 0 { Judged::Kinks } else { Judged::Right { directions: judged } })
}

/// A loss and where it is judged.
struct Ground<'a> {
    place: Place,
    graph: &'a Graph,
    wanted: &'a [String],
}

impl Ground<'_> {
    fn loss(&self, moved: Option<(&Direction, f64)>) -> Result<Vec<f64>, String> {
        let outputs = self.place.evaluate(self.graph, moved, false)?.outputs;
        Ok(outputs.last().map_or_else(Vec::new, |loss| loss.to_f64()))
    }

    /// Normal numbers, of few elements or of all.
    fn direction(&self, draws: &mut Draws, few: bool) -> Direction {
        let count: usize = self.wanted.iter().map(|name| self.place.elements(name)).sum();
        let keep = |draws: &mut Draws| !few || draws.below(count.div_ceil(FEW)) == 0;
        let mut element = || if keep(draws) { normal(draws) } else { 0.0 };
        let mut leaf = |name: &String| (0..self.place.elements(name)).map(|_| element()).collect();
        self.wanted.iter().map(|name| (name.clone(), leaf(name))).collect()
    }

    /// What gradient and differences say of each leaf alone.
    fn leaf_by_leaf(
        &self,
        at: &[f64],
        gradients: &[Vec<f64>],
        direction: &Direction,
        step: f64,
    ) -> Result<String, String> {
        let mut text = String::new();
        for name in self.wanted {
            let zeros = |d: &Vec<f64>| vec![0.0; d.len()];
            let alone =
                |(n, d): (&String, &Vec<f64>)| (n.clone(), if n == name { d.clone() } else { zeros(d) });
            let alone: Direction = direction.iter().map(alone).collect();
            let slope = slopes(at, step, |by| self.loss(Some((&alone, by))))?[0].map(|s| s.value);
            let (said, _) = self.along(gradients, &alone);
            text.push_str(&format!(" by {name} {said:e}, {slope:?}"));
        }
        Ok(text)
    }

    /// Σ g·d and Σ |g·d|.
    fn along(&self, gradients: &[Vec<f64>], direction: &Direction) -> (f64, f64) {
        let pairs = self.wanted.iter().zip(gradients).flat_map(|(name, g)| g.iter().zip(&direction[name]));
        // What is not moved has no part, whatever its gradient is.
        let terms = pairs.filter(|(_, d)| **d != 0.0).map(|(g, d)| g * d);
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    }
}

/// About normal: the sum of twelve uniform numbers less 6.
fn normal(draws: &mut Draws) -> f64 {
    (0..12).map(|_| (draws.bits() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
}
