//! What a generator refuses: numbers that are no tokens, and logits that are no numbers.

use pumice::generate::{GenerateOptions, Generated, Generator, Request, Sampler};
use pumice::{Device, Error, Executable};
use pumice_models::ModelError;
use std::ops::ControlFlow;

fn generator() -> Generator {
    Generator::seeded(1, &Device::cpu(), &GenerateOptions::default()).expect("opens")
}

fn answer(generator: &mut Generator, prompt: &[u32], temperature: f32) -> Result<Generated, Error> {
    let request = Request::default().tokens(6).sampler(Sampler::default().temperature(temperature));
    generator.generate(prompt, &request, |_| ControlFlow::Continue(()))
}

/// Ids from 2^31 on became negative, and the graph took each for the token chosen last.
#[test]
fn a_number_that_is_no_token_is_refused() {
    let mut generator = generator();
    for (prompt, at) in [(vec![1u32, 2, u32::MAX], 2), (vec![1 << 31], 0), (vec![3, 256, 4], 1)] {
        let error = answer(&mut generator, &prompt, 0.0).expect_err("refused");
        let Error::Model(ModelError::PromptToken { position, id, count }) = &error else { panic!("{error}") };
        assert_eq!((*position, *id, *count), (at, prompt[at], 256), "{error}");
        assert!(error.to_string().contains(&prompt[at].to_string()), "{error}");
    }
    assert_eq!(answer(&mut generator, &[1, 255], 0.0).expect("runs").ids.len(), 6);
}

/// The same weights, but for one number.
fn planted(exe: &Executable, param: &str, at: usize, value: f32) -> Vec<f32> {
    let mut values = exe.param(param).expect("kept").to_vec::<f32>().expect("f32");
    let before = values.clone();
    values[at] = value;
    exe.set_param(param, &values).expect("set");
    before
}

/// The error names the place of the token that was to be chosen, and nothing is taken for it.
fn check_refused(error: &Error, position: usize) {
    let Error::Model(ModelError::Logits { position: at, .. }) = error else { panic!("{error}") };
    assert_eq!(*at, position, "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("token {position}")) && text.contains("NaN"), "{text}");
}

/// A NaN in the output matrix makes one logit NaN at once; one in the token table waits for its token.
#[test]
fn logits_that_are_no_numbers_are_refused_with_their_position() {
    for temperature in [0.0, 0.7] {
        let mut generator = generator();
        let exe = generator.executable().clone();
        let names: Vec<String> = exe.params().iter().map(|p| p.name.to_string()).collect();
        let output = names.iter().find(|n| n.contains("lm_head") || n.contains("output"));
        let output = output.unwrap_or_else(|| panic!("{names:?}")).clone();
        let before = planted(&exe, &output, 7, f32::NAN);
        let error = answer(&mut generator, &[5, 6, 7], temperature).expect_err("refused");
        check_refused(&error, 3);
        exe.set_param(&output, &before).expect("set");
        let sound = answer(&mut generator, &[5, 6, 7], 0.0).expect("runs");
        assert_eq!(sound.ids.len(), 6);
    }
}

/// The first tokens are chosen by numbers; the row of the token table that the second one reads is NaN.
#[test]
fn a_nan_in_the_middle_of_an_answer_is_found_where_it_begins() {
    let mut generator = generator();
    let exe = generator.executable().clone();
    let sound = answer(&mut generator, &[5, 6, 7], 0.0).expect("runs");
    let prompt = [5, 6, 7];
    let fresh =
        sound.ids.iter().position(|id| !prompt.contains(id)).expect("another token than the prompt's");
    let names: Vec<String> = exe.params().iter().map(|p| p.name.to_string()).collect();
    let table = names.iter().find(|n| n.contains("embed")).unwrap_or_else(|| panic!("{names:?}"));
    let width = exe.params().iter().find(|p| *p.name == *table).expect("there").shape[1].max;
    planted(&exe, table, sound.ids[fresh] as usize * width as usize, f32::NAN);
    let error = answer(&mut generator, &prompt, 0.0).expect_err("refused");
    check_refused(&error, prompt.len() + fresh + 1);
}

/// What only files have was passed over without a word.
#[test]
fn the_seeded_model_refuses_what_files_have() {
    use pumice::generate::{LanguageOptions, QUANTIZATIONS};
    let refused = |model: LanguageOptions| {
        let options = GenerateOptions::default().model(model);
        Generator::seeded(1, &Device::cpu(), &options).err().expect("refused").to_string()
    };
    let option = LanguageOptions::default;
    assert!(refused(option().quantize(QUANTIZATIONS[0])).contains("has no files"));
    assert!(refused(option().ignored_keys(["x"])).contains("has no files"));
    assert!(refused(option().context(0)).contains("option `context`"));
    assert!(refused(option().context(8).max_new(9)).contains("max_new"));
}
