//! How the next token is chosen from logits: a value with a builder. What draws by it is [`Draws`](super::Draws).

use super::error::TextError;

/// How tokens are chosen. Its default takes the most probable token always.
///
/// What is not off happens in this order: penalties, bias, temperature, top-k, typical, top-p, min-p.
///
/// ```
/// use pumice_models::Sampler;
///
/// let sampler = Sampler::default().temperature(0.8).top_k(40).min_p(0.05).seed(7);
/// assert_eq!(sampler.check(), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampler {
    /// The logit of a token among the last [`repeat_last_n`](Sampler::repeat_last_n) is divided by it where it is above
    /// 0, else multiplied (Keskar et al. 2019); 1 is off, 1e-6 the least and 1e6 the most.
    pub repeat_penalty: f32,
    /// So many of the last tokens, of prompt and answer, count for penalties.
    pub repeat_last_n: usize,
    /// Is subtracted once from the logit of a token that is among them; 0 is off, -1e6 the least and 1e6 the most.
    pub presence_penalty: f32,
    /// Is subtracted as often as the token is among them; 0 is off, -1e6 the least and 1e6 the most.
    pub frequency_penalty: f32,
    /// Is added to the logit of a token; minus infinity is a token that is never chosen.
    pub bias: Vec<(u32, f32)>,
    /// Logits are divided by it; 0 takes the most probable token always.
    pub temperature: f32,
    /// Only so many of the most probable tokens are drawn from; 0 is all of them.
    pub top_k: usize,
    /// Only the fewest tokens are drawn from whose information is closest to what is expected, and whose probability
    /// together reaches it (Meister et al. 2022, locally typical sampling); 1 is all of them.
    pub typical: f32,
    /// Only the fewest most probable tokens are drawn from whose probability together reaches it (Holtzman et al.
    /// 2020); 1 is all of them.
    pub top_p: f32,
    /// Only tokens are drawn from with at least this share of the probability of the most probable one (Nguyen et al.
    /// 2024); 0 is all of them.
    pub min_p: f32,
    /// Where the random numbers begin.
    pub seed: u64,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            repeat_penalty: 1.0,
            repeat_last_n: 64,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            bias: Vec::new(),
            temperature: 0.0,
            top_k: 0,
            typical: 1.0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
        }
    }
}

/// Methods that set a field each.
macro_rules! setters {
    ($($(#[doc = $doc:expr])+ $field:ident: $ty:ty;)+) => {
        impl Sampler {
            $($(#[doc = $doc])+
            #[must_use]
            pub fn $field(mut self, value: $ty) -> Self {
                self.$field = value;
                self
            })+
        }
    };
}

setters! {
    /// Divides the logits of tokens that were there; 1 is off.
    repeat_penalty: f32;
    /// How many of the last tokens count for penalties.
    repeat_last_n: usize;
    /// Subtracts from the logits of tokens that were there; 0 is off.
    presence_penalty: f32;
    /// Subtracts from the logits of tokens as often as they were there; 0 is off.
    frequency_penalty: f32;
    /// Adds to the logits of these tokens.
    bias: Vec<(u32, f32)>;
    /// Divides the logits; 0 takes the most probable token always.
    temperature: f32;
    /// Draws from so many of the most probable tokens; 0 is off.
    top_k: usize;
    /// Draws from typical tokens of this probability together; 1 is off.
    typical: f32;
    /// Draws from the most probable tokens of this probability together; 1 is off.
    top_p: f32;
    /// Draws from tokens with this share of the largest probability; 0 is off.
    min_p: f32;
    /// Where the random numbers begin.
    seed: u64;
}

impl Sampler {
    /// Finds an option out of its range.
    ///
    /// # Errors
    /// [`TextError::Sampling`], with the option's name and its range.
    pub fn check(&self) -> Result<(), TextError> {
        let wrong = |option, value, range| Err(TextError::Sampling { option, value, range });
        let is_share = |x: f32| x > 0.0 && x <= 1.0;
        const SHARE: &str = "above 0 and at most 1 (off)";
        if !self.temperature.is_finite() || self.temperature < 0.0 {
            return wrong(
                "temperature",
                self.temperature,
                "0 (the most probable token) or a number above it",
            );
        }
        if !is_share(self.typical) {
            return wrong("typical", self.typical, SHARE);
        }
        if !is_share(self.top_p) {
            return wrong("top_p", self.top_p, SHARE);
        }
        if !(self.min_p >= 0.0 && self.min_p <= 1.0) {
            return wrong("min_p", self.min_p, "from 0 (off) to 1");
        }
        // Beyond these a logit could become infinite, and the model would be blamed.
        if !(1e-6..=1e6).contains(&self.repeat_penalty) {
            return wrong("repeat_penalty", self.repeat_penalty, "from 0.000001 to 1000000; 1 is off");
        }
        let penalties =
            [("presence_penalty", self.presence_penalty), ("frequency_penalty", self.frequency_penalty)];
        if let Some((option, value)) = penalties.into_iter().find(|(_, value)| !(-1e6..=1e6).contains(value))
        {
            return wrong(option, value, "from -1000000 to 1000000; 0 is off");
        }
        match self.bias.iter().find(|(_, bias)| bias.is_nan() || *bias == f32::INFINITY) {
            Some((_, bias)) => wrong("bias", *bias, "a number or minus infinity (never)"),
            None => Ok(()),
        }
    }

    /// Whether logits are taken as they are: no penalties, no bias.
    pub fn is_of_raw_logits(&self) -> bool {
        !self.has_penalties() && self.bias.is_empty()
    }

    /// Whether the most probable token is taken always.
    pub fn is_greedy(&self) -> bool {
        self.temperature == 0.0
    }

    pub(super) fn has_penalties(&self) -> bool {
        let is_on =
            self.repeat_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0;
        is_on && self.repeat_last_n > 0
    }
}
