//! Threads side by side for one result: a power of two that follows from the number of elements; and the row kernels of
//! norms and softmax, which keep a row in registers where it fits.

use super::rule::{Reader, RowReader, Rule};
use pumice_plan::kernels::norm::LayerNorm;
use pumice_types::EncodingClass;

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["rows"];
/// Measures of `rows`: elements of a row.
const MEASURES: &[&str] = &["n"];

/// Threads for so many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    per_lane: u64,
    least: u64,
    most: u64,
}

impl Lanes {
    /// The names of the figures.
    pub const FIGURES: [&str; 3] = ["per_lane", "least_lanes", "most_lanes"];

    /// From the figures of that name.
    ///
    /// # Errors
    /// Numbers of threads that are no powers of two, or that do not ascend; more than `limit`.
    pub fn of([per_lane, least, most]: [u64; 3], limit: u64, row: &RowReader<'_>) -> Result<Lanes, String> {
        let powers = least.is_power_of_two() && most.is_power_of_two();
        if !powers || least > most || most > limit || per_lane == 0 {
            let what = format!("lanes are powers of two up to {limit}, for one element each at least");
            return Err(row.mistake(what));
        }
        Ok(Lanes { per_lane, least, most })
    }

    /// Threads for `n` elements.
    pub fn of_elements(self, n: u64) -> u32 {
        let wanted = n.div_ceil(self.per_lane).checked_next_power_of_two().unwrap_or(self.most);
        wanted.clamp(self.least, self.most) as u32
    }
}

/// The variants of a row kernel that keep a row in registers, with the quads of elements a lane keeps.
const KEEPING: [(&str, u64); 5] = [
    (LayerNorm::fast1, 1),
    (LayerNorm::fast2, 2),
    (LayerNorm::fast4, 4),
    (LayerNorm::fast8, 8),
    (LayerNorm::fast16, 16),
];

#[derive(Clone, Copy, Debug)]
struct Row {
    lanes: Lanes,
    /// At most so many quads of elements are kept by a lane.
    kept_quads: u64,
}

/// Rules of norms and softmax over rows.
#[derive(Clone, Debug)]
pub struct RowRules(Vec<Rule<Row>>);

impl RowRules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<RowRules, String> {
        let rules = reader.some_rules("rows", MEASURES, |row| {
            let [a, b, c, kept_quads] =
                row.counts(["per_lane", "least_lanes", "most_lanes", "kept_quads"])?;
            match row.take() {
                "row" => Ok(Row { lanes: Lanes::of([a, b, c], 256, row)?, kept_quads }),
                _ => Err(row.mistake("the one rule is `row`")),
            }
        });
        Ok(RowRules(rules?))
    }

    /// The variant and the `lanes` for rows of at most `n` elements, of norms and of softmax.
    pub fn choose(&self, n: u64) -> (&'static str, u32) {
        let rule = self.0.iter().find(|r| r.holds(&[n], EncodingClass::F32));
        let Some(row) = rule.map(|r| r.take) else { return (LayerNorm::plain, 256) };
        let lanes = row.lanes.of_elements(n);
        let quads = n.div_ceil(4 * u64::from(lanes));
        let fits = |kept: &&(&str, u64)| quads <= kept.1 && kept.1 <= row.kept_quads;
        (KEEPING.iter().find(fits).map_or(LayerNorm::plain, |kept| kept.0), lanes)
    }
}
