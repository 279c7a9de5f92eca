//! What must hold of tokens before they are used: those of a prompt are of the vocabulary, those that the device chose
//! were chosen by numbers.
//!
//! The device takes the largest logit, and the first NaN where there is one. So the chosen token's own logit says
//! whether there was any. Of several tokens of one submission only the last one's logits are there. What made an
//! earlier one NaN most often stays (a weight, keys and values of that token). Where it does not, all logits were NaN
//! and token 0 was chosen: then the submission's steps are made again, one by one.

use super::conversation::Conversation;
use super::reading::tensor;
use crate::error::Error;
use pumice_models::{ModelError, TextError};
use pumice_types::TensorView;

impl Conversation {
    /// That every number is a token. The graph has a number of its own, -1, for the token chosen last.
    pub(super) fn check_ids(&self, prompt: &[u32]) -> Result<(), Error> {
        let count = self.model.vocab();
        match prompt.iter().position(|&id| u64::from(id) >= count) {
            Some(position) => Err(ModelError::PromptToken { position, id: prompt[position], count }.into()),
            None => Ok(()),
        }
    }

    /// That the tokens of the last submission, the first of which is at `position`, were chosen by numbers.
    pub(super) fn check_chosen(&mut self, position: usize, ids: &[u32]) -> Result<(), Error> {
        let Some(&last) = ids.last() else { return Ok(()) };
        let is_number = !self.logit(last)?.is_nan();
        match ids.len() {
            1 if is_number => Ok(()),
            1 => Err(not_a_number(position, last)),
            _ if is_number && !ids.contains(&0) => Ok(()),
            _ => self.step_by_step(position, ids),
        }
    }

    /// The steps of a submission once more, up to one whose token was not chosen by a number.
    fn step_by_step(&mut self, position: usize, ids: &[u32]) -> Result<(), Error> {
        self.rows = None;
        let before = position as u64 - 1;
        let given = self.session.state("history")?.read_range(1, before..before + 1)?;
        let mut given = given.to_vec::<i32>().map_err(tensor)?;
        self.session.set_scalar("position", position as i64 - 1)?;
        for (step, &id) in ids.iter().enumerate() {
            let inputs = [("ids", TensorView::i32(&given, [1, 1]))];
            self.session.execute(&inputs, &pumice_runtime::RunOptions::default())?;
            if self.logit(id)?.is_nan() {
                return Err(not_a_number(position + step, id));
            }
            given = vec![id as i32];
        }
        Ok(())
    }

    /// The logit of a token in the last step.
    fn logit(&mut self, id: u32) -> Result<f32, Error> {
        let one = self.session.output_range("logits", 1, u64::from(id)..u64::from(id) + 1)?;
        Ok(one.to_vec::<f32>().map_err(tensor)?.first().copied().unwrap_or(f32::NAN))
    }
}

fn not_a_number(position: usize, token: u32) -> Error {
    let source = TextError::Logit { token: token as usize, value: f32::NAN };
    ModelError::Logits { position, source }.into()
}

/// An error of sampling, with the place of the token that was to be chosen.
pub(super) fn at(position: usize, error: ModelError) -> Error {
    match error {
        ModelError::Language(source) => ModelError::Logits { position, source }.into(),
        error => error.into(),
    }
}
