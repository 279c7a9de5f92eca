//! What the parameters are called: one name per role and family, and the prefix that a file may put before all.
//!
//! The graph's parameters have the family's own names without a prefix. A file of a model with a head puts the encoder
//! under `bert.`, `roberta.` or `distilbert.`; some old files call a norm's scale and shift `gamma` and `beta`.

use crate::config::Family;
use indexmap::IndexMap;
use pumice_import::{ImportError, TransformedWeights, WeightSource};

/// The table that every encoder has; the prefix is what stands before it.
const WORDS: &str = "embeddings.word_embeddings.weight";

/// Names of one layer's parts; each has a `weight` and a `bias`.
#[derive(Clone, Debug)]
pub struct LayerNames {
    /// Queries.
    pub query: String,
    /// Keys.
    pub key: String,
    /// Values.
    pub value: String,
    /// The matrix after the heads.
    pub attention_output: String,
    /// The norm after attention.
    pub attention_norm: String,
    /// The widening matrix.
    pub feed_in: String,
    /// The narrowing matrix.
    pub feed_out: String,
    /// The norm after the feed-forward part.
    pub output_norm: String,
}

impl LayerNames {
    /// The names of layer `i` in a family.
    pub fn of(family: Family, i: u64) -> LayerNames {
        let (base, parts) = match family {
            Family::Bert | Family::Roberta => (
                format!("encoder.layer.{i}"),
                [
                    "attention.self.query",
                    "attention.self.key",
                    "attention.self.value",
                    "attention.output.dense",
                    "attention.output.LayerNorm",
                    "intermediate.dense",
                    "output.dense",
                    "output.LayerNorm",
                ],
            ),
            Family::DistilBert => (
                format!("transformer.layer.{i}"),
                [
                    "attention.q_lin",
                    "attention.k_lin",
                    "attention.v_lin",
                    "attention.out_lin",
                    "sa_layer_norm",
                    "ffn.lin1",
                    "ffn.lin2",
                    "output_layer_norm",
                ],
            ),
        };
        let [query, key, value, attention_output, attention_norm, feed_in, feed_out, output_norm] =
            parts.map(|part| format!("{base}.{part}"));
        LayerNames { query, key, value, attention_output, attention_norm, feed_in, feed_out, output_norm }
    }
}

/// A file's names for the graph's parameters.
pub struct FileNames<'a> {
    weights: &'a dyn WeightSource,
    prefix: String,
}

impl FileNames<'_> {
    /// Finds the prefix that a file uses.
    pub fn of(weights: &dyn WeightSource) -> Result<FileNames<'_>, ImportError> {
        let names = weights.names();
        let known = ["", "bert.", "roberta.", "distilbert."];
        let known = known.into_iter().find(|p| names.contains(&format!("{p}{WORDS}").as_str()));
        let other = || names.iter().find_map(|n| n.strip_suffix(WORDS));
        match known.or_else(other) {
            Some(prefix) => Ok(FileNames { weights, prefix: prefix.to_owned() }),
            // Describing it makes the error that names the file and the nearest tensor.
            None => weights.describe(WORDS).map(|_| FileNames { weights, prefix: String::new() }),
        }
    }

    /// How many layers of a family the file has: one more than the last.
    pub fn layers(&self, family: Family) -> u64 {
        let first = LayerNames::of(family, 0).query;
        let base = first.split("0.").next().unwrap_or_default();
        let layer = |name: &str| {
            let rest = name.strip_prefix(self.prefix.as_str())?.strip_prefix(base)?;
            rest.split('.').next()?.parse::<u64>().ok()
        };
        self.weights.names().into_iter().filter_map(layer).max().map_or(0, |last| last.saturating_add(1))
    }

    /// The file's name for a parameter, whether it is there or not.
    pub fn resolve(&self, parameter: &str) -> String {
        let name = format!("{}{parameter}", self.prefix);
        let old = [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")];
        for (new, old) in old {
            if let Some(stem) = name.strip_suffix(new) {
                let old = format!("{stem}{old}");
                if !self.weights.contains(&name) && self.weights.contains(&old) {
                    return old;
                }
            }
        }
        name
    }
}

/// The weights under the parameters' names.
pub fn renamed(
    weights: Box<dyn WeightSource>,
    parameters: impl Iterator<Item = String>,
) -> Result<TransformedWeights, ImportError> {
    let map: IndexMap<String, String> = {
        let names = FileNames::of(weights.as_ref())?;
        parameters.map(|p| (names.resolve(&p), p)).map(|(file, p)| (p, file)).collect()
    };
    Ok(TransformedWeights::renamed(weights, map))
}
