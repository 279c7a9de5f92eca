//! ResNet-50 for images of 224 x 224 (He et al., 2015, in the form with strides in the 3 x 3 convolutions), as a graph
//! over params: what convolutions, pools and batch norms are measured and counted with.

use pumice::ops::conv::Conv;
use pumice::ops::max_pool::MaxPool;
use pumice::{BuildErrors, Graph, GraphBuilder, Value, f32};

/// Blocks of each stage.
const BLOCKS: [u64; 4] = [3, 4, 6, 3];
/// Channels inside the blocks of the first stage; a stage doubles them.
const WIDTH: u64 = 64;
/// Channels of a block's result for each channel inside.
const EXPANSION: u64 = 4;
/// Classes.
const CLASSES: u64 = 1000;

/// A param with its extents, and the range from which seeded weights are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Its name in the graph.
    pub name: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// The smallest and the largest number.
    pub range: (f32, f32),
}

/// The graph, and what its params are.
pub struct ResNet {
    /// `x` \[batch, 3, 224, 224\], an input or, with `resident`, a state; `y` \[batch, 1000\].
    pub graph: Graph,
    /// The params.
    pub weights: Vec<Weight>,
}

/// ResNet-50 for a batch.
///
/// # Errors
/// None; a mistake of the builder would be one.
pub fn resnet50(batch: u64, resident: bool) -> Result<ResNet, BuildErrors> {
    let g = GraphBuilder::new("resnet50");
    let shape = [batch, 3, 224, 224];
    let x = if resident { g.state_read(g.state("x", f32(shape))) } else { g.input("x", f32(shape)) };
    let mut net = Net { g: &g, weights: Vec::new() };
    let stem = net.conv("stem", x, [3, WIDTH], 7, 2);
    let stem = g.relu(stem);
    let pool = MaxPool { kernel: vec![3, 3], strides: vec![2, 2], pads: vec![1; 4], ..MaxPool::default() };
    let mut v = g.max_pool(stem, pool);
    let mut channels = WIDTH;
    for (stage, blocks) in (0u64..).zip(BLOCKS) {
        for block in 0..blocks {
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            v = net.block(&format!("{stage}.{block}"), v, channels, WIDTH << stage, stride);
            channels = EXPANSION * (WIDTH << stage);
        }
    }
    let mean = g.reshape(g.global_average_pool(v), &[batch as i64, channels as i64]);
    let (w, b) =
        (net.param("fc.w", &[channels, CLASSES], (-0.04, 0.04)), net.param("fc.b", &[CLASSES], (-0.1, 0.1)));
    g.output("y", g.add(g.matmul(mean, w), b));
    let weights = net.weights;
    Ok(ResNet { graph: g.build()?, weights })
}

struct Net<'g> {
    g: &'g GraphBuilder,
    weights: Vec<Weight>,
}

impl Net<'_> {
    fn param(&mut self, name: &str, shape: &[u64], range: (f32, f32)) -> Value {
        self.weights.push(Weight { name: name.to_owned(), shape: shape.to_vec(), range });
        self.g.param(name, f32(shape.iter().copied()))
    }

    /// A square convolution that keeps extents but for its stride, and the batch norm after it.
    fn conv(&mut self, name: &str, x: Value, [from, to]: [u64; 2], kernel: u64, stride: u64) -> Value {
        let bound = (3.0 / (from * kernel * kernel) as f32).sqrt();
        let w = self.param(&format!("{name}.w"), &[to, from, kernel, kernel], (-bound, bound));
        let op = Conv { strides: vec![stride; 2], pads: vec![kernel / 2; 4], ..Conv::default() };
        let y = self.g.conv(x, w, None, op);
        let mut of_channels = |what: &str, range| self.param(&format!("{name}.{what}"), &[to], range);
        let (gamma, beta) = (of_channels("gamma", (0.5, 1.5)), of_channels("beta", (-0.1, 0.1)));
        let (mean, variance) = (of_channels("mean", (-0.1, 0.1)), of_channels("variance", (0.5, 1.5)));
        self.g.batch_norm(y, gamma, beta, mean, variance, 1e-5)
    }

    fn block(&mut self, name: &str, x: Value, from: u64, width: u64, stride: u64) -> Value {
        let to = EXPANSION * width;
        let v = self.conv(&format!("{name}.1"), x, [from, width], 1, 1);
        let v = self.conv(&format!("{name}.2"), self.g.relu(v), [width, width], 3, stride);
        let v = self.conv(&format!("{name}.3"), self.g.relu(v), [width, to], 1, 1);
        let shortcut = match (from == to, stride) {
            (true, 1) => x,
            _ => self.conv(&format!("{name}.shortcut"), x, [from, to], 1, stride),
        };
        self.g.relu(self.g.add(v, shortcut))
    }
}
