//! Groups of trained params that are treated unlike the others.

/// Params by their names, and what is different for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub(crate) patterns: Vec<String>,
    pub(crate) weight_decay: Option<f64>,
    pub(crate) rate: f64,
    pub(crate) frozen: bool,
    pub(crate) trained: bool,
}

impl Group {
    /// Params whose names are of one of these patterns, in which `*` stands for any characters; a pattern that is the
    /// name of a param, stars included, is of that param alone. A param is in one group at most, and every pattern has
    /// a param.
    pub fn matching<S: Into<String>>(patterns: impl IntoIterator<Item = S>) -> Group {
        let patterns = patterns.into_iter().map(Into::into).collect();
        Group { patterns, weight_decay: None, rate: 1.0, frozen: false, trained: false }
    }

    /// Their weight decay, instead of the optimizer's.
    #[must_use]
    pub fn weight_decay(self, decay: f64) -> Group {
        Group { weight_decay: Some(decay), ..self }
    }

    /// Their learning rate, as a multiple of the schedule's.
    #[must_use]
    pub fn rate(self, factor: f64) -> Group {
        Group { rate: factor, ..self }
    }

    /// They are not trained.
    #[must_use]
    pub fn frozen(self) -> Group {
        Group { frozen: true, ..self }
    }

    /// They are to be trained even where a param like them would be frozen without a word: one in blocks, or of
    /// integers, is then a mistake.
    #[must_use]
    pub fn trained(self) -> Group {
        Group { trained: true, ..self }
    }
}
