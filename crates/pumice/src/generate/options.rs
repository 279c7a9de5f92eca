//! Choices for a [`Generator`](super::Generator), and what a plan that was made before says of them.

use super::chat::ChatSettings;
use crate::device::Device;
use crate::model::PlanSource;
use pumice_compile::Options;
use pumice_models::{CacheType, LanguageOptions, specialize};
use pumice_plan::CheckedPlan;

/// Choices for a [`Generator`](super::Generator).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// How much context is planned for, and how it is kept.
    pub model: LanguageOptions,
    /// Compilation. Without specializations, the decoder's own suggestions are used.
    pub compile: Options,
    /// A plan of the model that was made before: nothing is compiled then, and context and caches are the plan's.
    pub plan: Option<CheckedPlan>,
    /// Whether the program ends after one answer. Otherwise, on a GPU, a thread makes the kernels that later prompts
    /// may need once the first answer is there.
    pub one_answer: bool,
    /// What chat templates get.
    pub chat: ChatSettings,
}

impl GenerateOptions {
    /// How much context is planned for, and how it is kept.
    #[must_use]
    pub fn model(mut self, model: LanguageOptions) -> Self {
        self.model = model;
        self
    }

    /// Compilation.
    #[must_use]
    pub fn compile(mut self, compile: Options) -> Self {
        self.compile = compile;
        self
    }

    /// A plan of the model that was made before.
    #[must_use]
    pub fn plan(mut self, plan: impl Into<Option<CheckedPlan>>) -> Self {
        self.plan = plan.into();
        self
    }

    /// Whether the program ends after one answer.
    #[must_use]
    pub fn one_answer(mut self, one: bool) -> Self {
        self.one_answer = one;
        self
    }

    /// What chat templates get.
    #[must_use]
    pub fn chat(mut self, chat: ChatSettings) -> Self {
        self.chat = chat;
        self
    }

    pub(super) fn plan_source(&self) -> PlanSource<'_> {
        PlanSource { plan: self.plan.as_ref(), compile: &self.compile, suggested: specialize::decoder }
    }

    /// The model's choices; with a plan, its caches and, where nobody chose them, its context and tokens of a run;
    /// otherwise what suits the device.
    pub(crate) fn model_options(&self, device: &Device) -> LanguageOptions {
        let model = self.model.clone();
        let Some(plan) = &self.plan else { return model.suited_to(device.target()) };
        let (context, cache) = (model.context.or_else(|| planned_context(plan)), planned_cache(plan));
        let planned = planned_new(plan).map(|new| context.map_or(new, |context| new.min(context)));
        let (new, cache) = (model.max_new.or(planned), cache.unwrap_or(model.cache));
        model.context(context).max_new(new).cache(cache)
    }
}

/// Tokens that one run of a decoder's plan takes.
fn planned_new(plan: &CheckedPlan) -> Option<u64> {
    let new = plan.symbols.find("t")?;
    plan.symbols.get(new).map(|symbol| symbol.max)
}

/// Tokens that the caches of a decoder's plan hold: `history` has a row more.
fn planned_context(plan: &CheckedPlan) -> Option<u64> {
    let history = plan.states.iter().find(|s| s.name == "history")?;
    history.shape.get(1)?.checked_sub(1)
}

/// How the caches of a decoder's plan keep keys and values.
fn planned_cache(plan: &CheckedPlan) -> Option<CacheType> {
    let cache = plan.states.iter().find(|s| s.name == "layer.0.k_cache")?;
    CacheType::ALL.into_iter().map(|(_, cache)| cache).find(|kind| kind.dtype() == cache.dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_models::decoder::{DecoderConfig, decoder_graph};
    use pumice_types::Target;

    #[test]
    fn a_plan_says_what_a_run_takes() {
        let config = DecoderConfig { max_new: 8, ..DecoderConfig::tiny() };
        let graph = decoder_graph("decoder", &config).expect("sound");
        let plan = crate::plan(&graph, &Target::lavapipe(), &Options::default()).expect("compiles");
        let of = |options: &GenerateOptions| options.model_options(&Device::cpu());
        let planned = of(&GenerateOptions::default().plan(plan.clone()));
        assert_eq!((planned.max_new, planned.context), (Some(8), Some(config.capacity)));
        let chosen = GenerateOptions::default().model(LanguageOptions::default().max_new(4));
        assert_eq!(of(&chosen.clone().plan(plan)).max_new, Some(4));
        assert_eq!(of(&chosen).max_new, Some(4));
    }
}
