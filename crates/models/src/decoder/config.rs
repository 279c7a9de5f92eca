//! A decoder as data: what every layer is made of. Families of models differ in nothing else.

use crate::config::Activation;
use crate::error::ModelError;
use pumice_ir::FloatRange;
use pumice_types::DType;

/// The shape of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    /// Rows of the token table and of the output matrix.
    pub vocab: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// The layers, the first one first.
    pub layers: Vec<Layer>,
    /// By what rows of the token table are multiplied.
    pub embedding_scale: f32,
    /// Rows of a table of positions that is added to the tokens' rows, where there is one.
    pub positions: Option<u64>,
    /// The norm after the last layer.
    pub norm: Norm,
    /// Whether the token table is the output matrix.
    pub tied: bool,
    /// Whether something is added after the output matrix.
    pub output_bias: bool,
    /// By what logits are multiplied.
    pub logit_scale: f32,
    /// c·tanh(logits/c) with this c, where it is not 0.
    pub logit_softcap: f32,
    /// Tokens that the caches hold.
    pub capacity: u64,
    /// The most tokens that one run may bring; at most `capacity`.
    pub max_new: u64,
    /// Dtype of the caches: f32, f16 or bf16.
    pub cache: DType,
    /// Tokens after which later replays of a submission do nothing, each below `vocab`.
    pub end_of_sequence: Vec<u32>,
}

/// One layer: x + attention, then x + feed-forward part; or both of one x, which are added at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// How tokens see each other.
    pub attention: SelfAttention,
    /// What follows.
    pub feed: FeedForward,
    /// The norm before attention.
    pub before_attention: Option<Norm>,
    /// The norm of what attention adds.
    pub after_attention: Option<Norm>,
    /// The norm before the feed-forward part. Where both parts read one x and this one has no norm, they read one norm.
    pub before_feed: Option<Norm>,
    /// The norm of what the feed-forward part adds.
    pub after_feed: Option<Norm>,
    /// Whether both parts read the same x.
    pub parallel: bool,
    /// By what each part is multiplied before it is added.
    pub residual_scale: f32,
}

/// A norm over the last axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// Its formula.
    pub kind: NormKind,
    /// ε.
    pub eps: f32,
    /// Whether something is added at the end.
    pub bias: bool,
    /// Whether the file holds the weight less 1.
    pub less_one: bool,
}

/// The formula of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// x/√(mean x² + ε).
    Rms,
    /// (x − mean)/√(variance + ε).
    Layer,
}

impl Norm {
    /// x/√(mean x² + ε)·w.
    pub fn rms(eps: f32) -> Norm {
        Norm { kind: NormKind::Rms, eps, bias: false, less_one: false }
    }

    /// (x − mean)/√(variance + ε)·w, with `bias` + b.
    pub fn layer(eps: f32, bias: bool) -> Norm {
        Norm { kind: NormKind::Layer, eps, bias, less_one: false }
    }
}

/// Attention of a layer: causal, keys and values in a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfAttention {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads; they divide `heads`.
    pub kv_heads: u64,
    /// Width of a head.
    pub width: u64,
    /// Factor of the products; 1/√width if not given.
    pub scale: Option<f32>,
    /// c·tanh(product/c) with this c, where it is not 0.
    pub softcap: f32,
    /// How many keys a query sees, itself and those before it; all where not given.
    pub window: Option<u64>,
    /// Whether something is added to queries, keys and values.
    pub bias: bool,
    /// Whether something is added to the result.
    pub output_bias: bool,
    /// Whether queries, keys and values are rows of one matrix, in this order.
    pub fused: bool,
    /// The norms of queries and keys.
    pub query_key_norm: Option<QueryKeyNorm>,
    /// How positions are written into queries and keys; not at all where not given.
    pub rotary: Option<Rotation>,
    /// Factor of queries by position.
    pub growth: Option<Growth>,
}

/// The norms of queries and keys, before they rotate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryKeyNorm {
    /// Which.
    pub norm: Norm,
    /// What one norm is over, and has weights for.
    pub over: NormOver,
}

/// What one norm of queries or keys is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormOver {
    /// A head, by the weights of all heads alike: \[width\].
    Head,
    /// A head, by weights of its own: \[heads, width\].
    OwnHead,
    /// All heads together: \[heads·width\].
    All,
}

/// Queries at position p are multiplied by 1 + beta·ln(1 + ⌊p/original⌋) (Llama 4, Ministral 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// How fast.
    pub beta: f32,
    /// Positions of the first step.
    pub original: u64,
}

/// Rotary positions (Su et al. 2021).
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    /// Base of the angles.
    pub theta: f32,
    /// Elements of a head that rotate; even.
    pub rotated: u64,
    /// Whether neighbours rotate as pairs, or the halves of what rotates.
    pub interleaved: bool,
    /// Factor of every angle.
    pub freq_scale: f32,
    /// Each pair's angle is divided by one of these.
    pub factors: Factors,
    /// Factor of cosines and sines.
    pub magnitude: f32,
}

impl Rotation {
    /// Of that base, with nothing for long contexts.
    pub fn new(theta: f32, rotated: u64, interleaved: bool) -> Rotation {
        Rotation { theta, rotated, interleaved, freq_scale: 1.0, factors: Factors::None, magnitude: 1.0 }
    }
}

/// Factors of rotary angles.
#[derive(Clone, Debug, PartialEq)]
pub enum Factors {
    /// None.
    None,
    /// These, one for each pair.
    Given(Vec<f32>),
    /// A tensor of the file, the same for all layers: f32 \[rotated/2\].
    Stored(RotaryFactors),
}

/// Which tensor of the file factors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RotaryFactors {
    /// The only one.
    Only,
    /// Those of short contexts.
    Short,
    /// Those of long contexts.
    Long,
}

/// The feed-forward part of a layer: D·(act(G·x)·(U·x)), or D·act(U·x) without a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedForward {
    /// Its width.
    pub width: u64,
    /// Whether there is a gate.
    pub gated: bool,
    /// act.
    pub activation: Activation,
    /// Whether something is added after each matrix.
    pub bias: bool,
    /// Whether gate and U are rows of one matrix, the gate first.
    pub fused: bool,
}

impl DecoderConfig {
    /// Two layers, four heads over two, 64 wide: small enough for every test.
    pub fn tiny() -> DecoderConfig {
        let layer = Layer::llama((4, 2, 16), Rotation::new(10_000.0, 16, false), 128, 1e-5);
        DecoderConfig {
            vocab: 256,
            hidden: 64,
            layers: vec![layer; 2],
            embedding_scale: 1.0,
            positions: None,
            norm: Norm::rms(1e-5),
            tied: false,
            output_bias: false,
            logit_scale: 1.0,
            logit_softcap: 0.0,
            capacity: 128,
            max_new: 64,
            cache: DType::F32,
            end_of_sequence: Vec::new(),
        }
    }

    /// That the numbers belong together.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        if self.layers.is_empty() {
            return Err(wrong("layers", "must be one at least"));
        }
        self.layers.iter().try_for_each(Layer::check)?;
        self.norm.check()?;
        if self.max_new == 0 || self.max_new > self.capacity {
            return Err(wrong("max_new", "must be from 1 to capacity"));
        }
        if self.end_of_sequence.iter().any(|&end| u64::from(end) >= self.vocab || end > i32::MAX as u32) {
            return Err(wrong("ends", "must be tokens of the vocabulary"));
        }
        if self.capacity > 1 << 24 {
            return Err(wrong("capacity", "must be at most 2^24"));
        }
        if self.positions.is_some_and(|rows| rows < self.capacity) {
            return Err(wrong("capacity", "must be at most the rows of the table of positions"));
        }
        expect_not_negative("logit_softcap", self.logit_softcap)
    }
}

impl Layer {
    /// A layer of Llama (Touvron et al. 2023): heads, key and value heads and their width, rotation, width of the
    /// feed-forward part, ε of the norms.
    pub fn llama((heads, kv_heads, width): (u64, u64, u64), rotary: Rotation, feed: u64, eps: f32) -> Layer {
        let attention = SelfAttention {
            heads,
            kv_heads,
            width,
            scale: None,
            softcap: 0.0,
            window: None,
            bias: false,
            output_bias: false,
            fused: false,
            query_key_norm: None,
            rotary: Some(rotary),
            growth: None,
        };
        let activation = Activation::Silu;
        Layer {
            attention,
            feed: FeedForward { width: feed, gated: true, activation, bias: false, fused: false },
            before_attention: Some(Norm::rms(eps)),
            after_attention: None,
            before_feed: Some(Norm::rms(eps)),
            after_feed: None,
            parallel: false,
            residual_scale: 1.0,
        }
    }

    fn check(&self) -> Result<(), ModelError> {
        let SelfAttention { heads, kv_heads, width, softcap, ref rotary, query_key_norm, .. } =
            self.attention;
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(wrong("kv_heads", "must divide heads"));
        }
        expect_not_negative("softcap", softcap)?;
        rotary.as_ref().map_or(Ok(()), |rotary| rotary.check(width))?;
        let norms = [self.before_attention, self.after_attention, self.before_feed, self.after_feed];
        let of_heads = query_key_norm.map(|norm| norm.norm);
        norms.into_iter().chain([of_heads]).flatten().try_for_each(|norm| norm.check())
    }
}

impl Norm {
    fn check(&self) -> Result<(), ModelError> {
        expect_not_negative("norm_eps", self.eps)
    }
}

impl Rotation {
    fn check(&self, width: u64) -> Result<(), ModelError> {
        if !self.rotated.is_multiple_of(2) || self.rotated > width {
            return Err(wrong(
                "rotated",
                "must be even, because angles turn pairs, and at most a head's width",
            ));
        }
        if !FloatRange::POSITIVE.holds(f64::from(self.theta)) {
            return Err(wrong("theta", "must be finite and positive"));
        }
        match &self.factors {
            Factors::Given(factors) if factors.len() as u64 != self.rotated / 2 => {
                Err(wrong("factors", "must be one for each pair"))
            }
            _ => Ok(()),
        }
    }
}

fn expect_not_negative(option: &'static str, number: f32) -> Result<(), ModelError> {
    let holds = FloatRange::NOT_NEGATIVE.holds(f64::from(number));
    if holds { Ok(()) } else { Err(wrong(option, "must be finite and not negative")) }
}

fn wrong(option: &'static str, problem: &str) -> ModelError {
    ModelError::Option { option, problem: problem.to_owned() }
}
