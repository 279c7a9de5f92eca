//! ResNet-50 for images of 224 x 224 (He et al., 2015, in the form with strides in the 3 x 3 convolutions), as a graph
//! over params: what convolutions, pools and batch norms are measured and counted with.

use pumice::ops::batch_norm_training::BatchNormTraining;
use pumice::ops::conv::Conv;
use pumice::ops::max_pool::MaxPool;
use pumice::{BuildErrors, Graph, GraphBuilder, Value, f32, i32};

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
    /// `x` \[batch, 3, 224, 224\], an input or, with `resident`, a state; `y` \[batch, 1000\], or in training a loss.
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
    let mut net = Net { g: &g, weights: Vec::new(), training: false };
    g.output("y", net.logits(x, batch));
    let weights = net.weights;
    Ok(ResNet { graph: g.build()?, weights })
}

/// ResNet-50 in training: batch norms take the statistics of the batch and move running ones, which are states; outputs
/// `loss`, over the input `target`, and `weight`.
///
/// # Errors
/// None; a mistake of the builder would be one.
pub fn resnet50_training(batch: u64) -> Result<ResNet, BuildErrors> {
    let g = GraphBuilder::new("resnet50_training");
    let (x, target) = (g.input("x", f32([batch, 3, 224, 224])), g.input("target", i32([batch])));
    let mut net = Net { g: &g, weights: Vec::new(), training: true };
    let (loss, weight) = g.softmax_cross_entropy(net.logits(x, batch), target, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    let weights = net.weights;
    Ok(ResNet { graph: g.build()?, weights })
}

struct Net<'g> {
    g: &'g GraphBuilder,
    weights: Vec<Weight>,
    training: bool,
}

impl Net<'_> {
    /// \[batch, 1000\].
    fn logits(&mut self, x: Value, batch: u64) -> Value {
        let g = self.g;
        let stem = g.relu(self.conv("stem", x, [3, WIDTH], 7, 2));
        let pool =
            MaxPool { kernel: vec![3, 3], strides: vec![2, 2], pads: vec![1; 4], ..MaxPool::default() };
        let mut v = g.max_pool(stem, pool);
        let mut channels = WIDTH;
        for (stage, blocks) in (0u64..).zip(BLOCKS) {
            for block in 0..blocks {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                v = self.block(&format!("{stage}.{block}"), v, channels, WIDTH << stage, stride);
                channels = EXPANSION * (WIDTH << stage);
            }
        }
        let mean = g.reshape(g.global_average_pool(v), &[batch as i64, channels as i64]);
        let (w, b) = (
            self.param("fc.w", &[channels, CLASSES], (-0.04, 0.04)),
            self.param("fc.b", &[CLASSES], (-0.1, 0.1)),
        );
        g.add(g.matmul(mean, w), b)
    }

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
        let (g, training) = (self.g, self.training);
        let mut of_channels = |what: &str, range| self.param(&format!("{name}.{what}"), &[to], range);
        let (gamma, beta) = (of_channels("gamma", (0.5, 1.5)), of_channels("beta", (-0.1, 0.1)));
        if training {
            let running = ["mean", "variance"].map(|what| g.state(&format!("{name}.{what}"), f32([to])));
            let op = BatchNormTraining { unbiased_running: true, ..BatchNormTraining::default() };
            return g.batch_norm_training(y, gamma, beta, running[0], running[1], op);
        }
        let (mean, variance) = (of_channels("mean", (-0.1, 0.1)), of_channels("variance", (0.5, 1.5)));
        g.batch_norm(y, gamma, beta, mean, variance, 1e-5)
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
