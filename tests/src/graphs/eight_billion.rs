//! The graph of a Llama of eight billion weights, without the weights: plans of its size can be made and measured
//! anywhere.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::Graph;
use pumice_models::decoder::{DecoderConfig, DecoderWeights, Plain, WeightRole, decoder_graph_of};
use pumice_plan::Plan;
use pumice_types::{DType, Encoding, Scheme, Target};

/// The ends of all ranges of new tokens but the last: four plans in one.
pub const RANGES: [u64; 3] = [1, 16, 128];

/// Matrices as Q8_0, norms as f32.
struct Stored;

impl DecoderWeights for Stored {
    fn name(&self, role: WeightRole) -> String {
        Plain.name(role)
    }

    fn encoding(&self, role: WeightRole) -> Encoding {
        match role {
            WeightRole::Norm | WeightRole::AttentionNorm(_) | WeightRole::FeedNorm(_) => DType::F32.into(),
            _ => Scheme::Q8_0.into(),
        }
    }
}

/// 32 layers, 4096 wide, 32 heads over 8, a context of 8,192 tokens.
///
/// # Panics
/// If the graph is refused: a defect.
pub fn graph() -> Graph {
    let config = DecoderConfig {
        vocab: 128_256,
        hidden: 4096,
        layers: 32,
        heads: 32,
        kv_heads: 8,
        head_width: 128,
        intermediate: 14_336,
        capacity: 8192,
        max_new: 512,
        theta: 500_000.0,
        rotated: 128,
        interleaved: true,
        tied: false,
        norm_eps: 1e-5,
        cache: DType::F16,
        end_of_sequence: Vec::new(),
    };
    decoder_graph_of("eight_billion", &config, &Stored).expect("a sound graph")
}

/// Its plans for an H200.
///
/// # Panics
/// If it does not compile: a defect.
pub fn plan(graph: &Graph) -> Plan {
    let options = Options::default().specializations(vec![("t".to_owned(), RANGES.to_vec())]);
    compile(graph, &Target::h200(), &options, &RefEval).expect("it compiles")
}
