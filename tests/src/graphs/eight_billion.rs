//! The graph of a Llama of eight billion weights, without the weights: plans of its size can be made and measured
//! anywhere.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::Graph;
use pumice_models::decoder::{
    DecoderConfig, DecoderWeights, Layer, Part, Plain, Rotation, WeightRole, decoder_graph_of,
};
use pumice_plan::Plan;
use pumice_types::{DType, Encoding, Scheme, Target};

/// The ends of all ranges of new tokens but the last: four plans in one.
pub const RANGES: [u64; 3] = [1, 16, 128];

/// Matrices as Q8_0, norms as f32.
struct Stored;

impl DecoderWeights for Stored {
    fn name(&self, role: WeightRole, part: Part) -> String {
        Plain.name(role, part)
    }

    fn encoding(&self, name: &str) -> Encoding {
        if name.ends_with("norm.weight") { DType::F32.into() } else { Scheme::Q8_0.into() }
    }
}

/// 32 layers, 4096 wide, 32 heads over 8, a context of 8,192 tokens.
///
/// # Panics
/// If the graph is refused: a defect.
pub fn graph() -> Graph {
    let layer = Layer::llama((32, 8, 128), Rotation::new(500_000.0, 128, true), 14_336, 1e-5);
    let config = DecoderConfig {
        vocab: 128_256,
        hidden: 4096,
        layers: vec![layer; 32],
        capacity: 8192,
        max_new: 512,
        cache: DType::F16,
        ..DecoderConfig::tiny()
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
