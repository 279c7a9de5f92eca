//! Conversations of a loaded model: what is said again, forked or gone back to gives the same bits, whatever the number
//! of tokens of a submission; options of a request do what they say.

use pumice::generate::{
    Conversation, Event, FinishReason, GenerateOptions, Generated, Generator, Request, Sampler, SavedError,
    Token,
};
use pumice::{Device, DeviceKind, Error, Interrupt};
use pumice_import::fuzz::{Mutator, within_memory};
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const PROMPT: [u32; 7] = [72, 101, 108, 108, 111, 32, 119];

/// The small model, eight greedy tokens a submission on what says to be a GPU, one elsewhere.
fn generator(kind: DeviceKind) -> Generator {
    let device = Device::from_runtime(Device::cpu().shared(), kind);
    Generator::seeded(1, &device, &GenerateOptions::default().one_answer(true)).expect("opens")
}

fn begun(generator: &Generator) -> Conversation {
    let mut conversation = generator.conversation().expect("fits");
    conversation.push(&PROMPT).expect("tokens");
    conversation
}

fn all(conversation: &mut Conversation, request: &Request) -> Generated {
    conversation.generate(request, |_| ControlFlow::Continue(())).expect("answers")
}

/// So many tokens with all their log probabilities, whose bits say whether two ways are one.
fn told(conversation: &mut Conversation, tokens: usize) -> Vec<Token> {
    let tokens = all(conversation, &Request::default().tokens(tokens).log_probs(256)).tokens;
    assert!(!tokens.is_empty());
    tokens
}

#[test]
fn an_answer_is_the_same_whatever_a_submission_holds() {
    let one = all(&mut begun(&generator(DeviceKind::CpuDriver)), &Request::default().tokens(30));
    let eight = all(&mut begun(&generator(DeviceKind::Gpu)), &Request::default().tokens(30));
    assert_eq!((one.ids.len(), one.end), (30, FinishReason::Length));
    assert_eq!((eight.ids, eight.text), (one.ids.clone(), one.text));
    // Chosen on the host, by the logits.
    let tokens = told(&mut begun(&generator(DeviceKind::Gpu)), 30);
    assert_eq!(tokens.iter().map(|t| t.id).collect::<Vec<_>>(), one.ids);
    assert!(tokens.iter().all(|t| t.likeliest[0].id == t.id && t.log_prob == Some(t.likeliest[0].log_prob)));
}

/// An answer that is left in the middle of a submission goes on where it was left.
#[test]
fn a_conversation_goes_on_where_an_answer_was_left() {
    for kind in [DeviceKind::Gpu, DeviceKind::CpuDriver] {
        let generator = generator(kind);
        let whole = all(&mut begun(&generator), &Request::default().tokens(20)).ids;
        for left_after in [1, 2, 5, 9, 10] {
            let mut conversation = begun(&generator);
            let mut answer = conversation.answer(&Request::default().tokens(20)).expect("begins");
            let pieces: Vec<_> = answer.by_ref().take(left_after).collect();
            assert_eq!((pieces.len(), answer.end()), (left_after, None));
            drop(answer);
            assert_eq!(conversation.ids(), [&PROMPT, &whole[..left_after]].concat());
            let rest = all(&mut conversation, &Request::default().tokens(20 - left_after));
            assert_eq!(rest.ids, whole[left_after..], "{kind:?} {left_after}");
            assert_eq!(conversation.ids(), [&PROMPT, &whole[..]].concat());
        }
    }
}

#[test]
fn the_same_calls_after_going_back_give_the_same_bits() {
    let generator = generator(DeviceKind::Gpu);
    let mut conversation = begun(&generator);
    let first = told(&mut conversation, 9);
    conversation.rewind(PROMPT.len()).expect("there");
    assert_eq!(conversation.ids(), PROMPT);
    // The last token is read again, in a run of its own.
    let alone = told(&mut conversation, 9);
    assert_eq!(
        alone.iter().map(|t| t.id).collect::<Vec<_>>(),
        first.iter().map(|t| t.id).collect::<Vec<_>>()
    );
    conversation.rewind(0).expect("there");
    conversation.push(&PROMPT).expect("tokens");
    assert_eq!(told(&mut conversation, 9), first);
    conversation.rewind(3).expect("there");
    conversation.push(&PROMPT[3..]).expect("tokens");
    let again = told(&mut conversation, 9);
    conversation.rewind(3).expect("there");
    conversation.push(&PROMPT[3..]).expect("tokens");
    assert_eq!(told(&mut conversation, 9), again);
    assert!(conversation.rewind(conversation.len() + 1).is_err());
}

#[test]
fn a_fork_says_what_the_conversation_would_have_said() {
    let generator = generator(DeviceKind::Gpu);
    let mut conversation = begun(&generator);
    told(&mut conversation, 5);
    let mut fork = conversation.fork().expect("fits");
    // What the fork reads is nothing to the conversation.
    let mut other = conversation.fork().expect("fits");
    other.push(&[9, 9, 9, 9]).expect("tokens");
    let apart = told(&mut other, 8);
    let own = told(&mut conversation, 8);
    assert_eq!(told(&mut fork, 8), own);
    assert_ne!(apart, own);
    assert_eq!(fork.ids(), conversation.ids());
}

#[test]
fn only_tokens_that_are_new_are_read() {
    let generator = generator(DeviceKind::Gpu);
    let mut conversation = begun(&generator);
    let asked = Instant::now();
    let first = all(&mut conversation, &Request::default().tokens(6));
    let lasted = asked.elapsed();
    assert_eq!((first.prompt_kept, first.prompt_read), (0, PROMPT.len()));
    let times = [first.kernels_time, first.prompt_time, first.decode_time];
    assert!(times.iter().all(|time| !time.is_zero()), "{times:?}");
    assert!(times.iter().sum::<Duration>() <= lasted, "{times:?} of {lasted:?}");
    let own = conversation.ids();
    // All that there is, and three more: the last token of the answer is not read yet.
    let longer = [&own[..], &[1, 2, 3]].concat();
    conversation.set_ids(&longer).expect("tokens");
    let second = all(&mut conversation, &Request::default().tokens(2));
    assert_eq!((second.prompt_kept, second.prompt_read), (own.len() - 1, 4));
    // History that is written otherwise, from there on.
    let changed = [&own[..10], &[7, 7, 7]].concat();
    conversation.set_ids(&changed).expect("tokens");
    let third = all(&mut conversation, &Request::default().tokens(2));
    assert_eq!((third.prompt_kept, third.prompt_read), (10, 3));
    let mut fresh = generator.conversation().expect("fits");
    fresh.push(&changed).expect("tokens");
    assert_eq!(all(&mut fresh, &Request::default().tokens(2)).ids, third.ids);
}

/// A draw goes on from answer to answer, and begins anew with another sampler or after a reset.
#[test]
fn a_seed_gives_one_text() {
    let generator = generator(DeviceKind::CpuDriver);
    let warm = |seed| Sampler::default().temperature(1.5).top_k(50).seed(seed);
    let drawn = |seed| all(&mut begun(&generator), &Request::default().tokens(24).sampler(warm(seed))).ids;
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    let mut cut = begun(&generator);
    let request = Request::default().tokens(12).sampler(warm(1));
    let halves = [all(&mut cut, &request).ids, all(&mut cut, &request).ids].concat();
    assert_eq!(halves, drawn(1));
}

#[test]
fn texts_and_options_end_an_answer_or_change_it() {
    let generator = generator(DeviceKind::Gpu);
    let plain = all(&mut begun(&generator), &Request::default().tokens(40));
    // A text of several tokens from the middle of the answer ends it before that text.
    let letters: Vec<char> = plain.text.chars().collect();
    let stop: String = letters[letters.len() / 2..letters.len() / 2 + 3].iter().collect();
    let at = plain.text.find(&stop).expect("there");
    let stopped = all(&mut begun(&generator), &Request::default().tokens(40).stop([stop]));
    assert_eq!((stopped.end, stopped.text.as_str()), (FinishReason::StopText, &plain.text[..at]));
    assert!(stopped.ids.len() < plain.ids.len() && plain.ids.starts_with(&stopped.ids));
    // Nothing is held back for good.
    let unmet =
        all(&mut begun(&generator), &Request::default().tokens(40).stop([format!("{}!", plain.text)]));
    assert_eq!((unmet.end, unmet.text), (FinishReason::Length, plain.text.clone()));
    let empty = begun(&generator).generate(&Request::default().stop([""]), |_| ControlFlow::Continue(()));
    assert!(empty.expect_err("refused").to_string().contains("is empty"));
    let never = vec![(plain.ids[0], f32::NEG_INFINITY)];
    let other =
        all(&mut begun(&generator), &Request::default().tokens(9).sampler(Sampler::default().bias(never)));
    assert!(!other.ids.contains(&plain.ids[0]));
}

#[test]
fn the_end_of_the_context_is_a_reason() {
    let generator = generator(DeviceKind::Gpu);
    let mut conversation = begun(&generator);
    let answer = all(&mut conversation, &Request::default());
    assert_eq!((answer.end, answer.ids.len()), (FinishReason::Context, generator.context() - PROMPT.len()));
    assert_eq!(conversation.len(), generator.context());
    let full = all(&mut conversation, &Request::default());
    assert_eq!((full.end, full.ids.len()), (FinishReason::Context, 0));
    let error = conversation.push(&[1]).expect_err("no room");
    assert!(error.to_string().contains("the context holds"), "{error}");
    assert!(generator.has_longer_context(), "the small model's is what is asked for");
    // The end of what can be read, once more.
    conversation.rewind(generator.context() - 3).expect("there");
    assert_eq!(all(&mut conversation, &Request::default()).ids, answer.ids[answer.ids.len() - 3..]);
}

#[test]
fn whoever_listens_hears_how_far_a_prompt_is_read() {
    let generator = generator(DeviceKind::CpuDriver);
    let mut conversation = generator.conversation().expect("fits");
    let prompt = vec![7; generator.context() - 5];
    conversation.push(&prompt).expect("tokens");
    let (mut heard, mut text) = (Vec::new(), String::new());
    let answer = conversation.generate(&Request::default().tokens(3), |said| {
        match said {
            Event::Prompt { read, of } => heard.push((read, of)),
            Event::Text(piece) => text.push_str(piece),
        }
        ControlFlow::Continue(())
    });
    assert_eq!(answer.expect("answers").text, text);
    assert!(heard.len() > 1 && heard.windows(2).all(|w| w[0].0 < w[1].0), "{heard:?}");
    assert!(heard[0] == (0, prompt.len()) && heard.iter().all(|(_, of)| *of == prompt.len()), "{heard:?}");
}

/// What is saved and loaded goes on with the same bits, draws included.
#[test]
fn a_saved_conversation_goes_on_where_it_was() {
    let generator = generator(DeviceKind::Gpu);
    let warm = Sampler::default().temperature(1.3).bias(vec![(7, f32::NEG_INFINITY)]).seed(5);
    let request = Request::default().tokens(6).sampler(warm).log_probs(256);
    let mut conversation = begun(&generator);
    conversation.generate(&request, |_| ControlFlow::Continue(())).expect("answers");
    let mut file = Vec::new();
    conversation.save(&mut file).expect("saves");
    let own = all(&mut conversation, &request);
    // In another program, or beside the first.
    for generator in [&generator, &self::generator(DeviceKind::CpuDriver)] {
        let mut loaded = generator.load(&mut file.as_slice()).expect("loads");
        assert_eq!(all(&mut loaded, &request).tokens, own.tokens);
        assert_eq!(loaded.ids(), conversation.ids());
    }
    let mut empty = Vec::new();
    generator.conversation().expect("fits").save(&mut empty).expect("saves");
    assert!(generator.load(&mut empty.as_slice()).expect("loads").is_empty());
}

#[test]
fn what_is_no_saved_conversation_is_refused() {
    let generator = generator(DeviceKind::CpuDriver);
    let mut conversation = begun(&generator);
    told(&mut conversation, 3);
    let mut file = Vec::new();
    conversation.save(&mut file).expect("saves");
    let refused = |file: &[u8]| generator.load(&mut &*file).err().expect("refused").to_string();
    assert!(refused(b"GGUF and more that is long enough").contains("no saved conversation"));
    let mut version = file.clone();
    version[20] = 9;
    assert!(refused(&version).contains("form 9"));
    version[20] = 1;
    assert!(refused(&version).contains("form 1;"), "one without a sum");
    let mut other = file.clone();
    other[30] ^= 1;
    assert!(refused(&other).contains("another model"));
    let options =
        GenerateOptions::default().model(pumice::LanguageOptions::default().cache(pumice::CacheType::F32));
    let wide = Generator::seeded(1, &Device::cpu(), &options).expect("opens");
    assert!(
        wide.load(&mut file.as_slice())
            .err()
            .expect("refused")
            .to_string()
            .contains("caches of another type")
    );
    assert!(refused(&[&file[..], &[0]].concat()).contains("something follows"));
    // One bit of a row, as a disk would lose it, and of the sum itself.
    for at in [file.len() - 33, file.len() - 1000, file.len() - 1] {
        let mut flipped = file.clone();
        flipped[at] ^= 4;
        let error = generator.load(&mut flipped.as_slice()).err().expect("refused");
        assert!(matches!(error, Error::Saved(SavedError::Sum)), "{at}: {error}");
    }
    // Cut anywhere: an error.
    for end in (0..file.len()).step_by(7) {
        assert!(generator.load(&mut &file[..end]).is_err(), "{end}");
    }
}

/// A few bytes of anything are no damaged conversation, but none.
#[test]
fn a_short_file_is_no_saved_conversation() {
    let generator = generator(DeviceKind::CpuDriver);
    let refused = generator.load(&mut &b"short"[..]).err().expect("refused").to_string();
    assert!(refused.contains("no saved conversation"), "{refused}");
}

/// Tokens that cannot be leave those that there are: some of them were lost, and others stayed behind the gap.
#[test]
fn what_cannot_be_set_changes_nothing() {
    let generator = generator(DeviceKind::CpuDriver);
    let mut conversation = begun(&generator);
    all(&mut conversation, &Request::default().tokens(3));
    let (before, context) = (conversation.ids(), generator.context());
    let too_many = [&before[..4], &vec![1; context][..]].concat();
    assert!(conversation.set_ids(&too_many).is_err());
    assert_eq!(conversation.ids(), before);
    assert!(conversation.set_ids(&[before[0], u32::MAX]).is_err());
    assert_eq!(conversation.ids(), before);
    conversation.set_ids(&before[..4]).expect("there");
    assert_eq!(conversation.ids(), before[..4]);
}

/// Text that waited for the rest of a text to stop at is given when whoever listens has enough: its tokens are there.
#[test]
fn what_was_held_back_is_given_where_an_answer_is_left() {
    let generator = generator(DeviceKind::CpuDriver);
    let plain = all(&mut begun(&generator), &Request::default().tokens(9));
    let request = Request::default().tokens(9).stop([format!("{}!", plain.text)]);
    let mut pieces = 0;
    let mut heard = String::new();
    let left = begun(&generator).generate(&request, |heard_now| {
        if let Event::Text(text) = heard_now {
            heard.push_str(text);
            pieces += 1;
        }
        if pieces < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let left = left.expect("answers");
    assert_eq!((left.end, &left.ids[..]), (FinishReason::Interrupted, &plain.ids[..4]));
    assert!(!left.text.is_empty() && plain.text.starts_with(&left.text) && heard == left.text, "{left:?}");
}

/// What is in a file before its sum.
fn without_its_sum(mut file: Vec<u8>) -> Vec<u8> {
    file.truncate(file.len() - 32);
    file
}

/// Five hundred thousand damaged files (E10) are errors or conversations, never a panic, and take little memory.
#[test]
fn damaged_conversations_do_no_harm() {
    const RUNS: u32 = 500_000;
    let generator = generator(DeviceKind::CpuDriver);
    let warm = Sampler::default().temperature(1.3).bias(vec![(7, f32::NEG_INFINITY)]).seed(5);
    let mut conversation = begun(&generator);
    let saved = |conversation: &mut Conversation| {
        let mut file = Vec::new();
        conversation.save(&mut file).expect("saves");
        without_its_sum(file)
    };
    let first = saved(&mut conversation);
    all(&mut conversation, &Request::default().tokens(3).sampler(warm));
    let corpus = vec![first, saved(&mut conversation), saved(&mut generator.conversation().expect("fits"))];
    let words = ["\"read\":[", "\"unread\":", "4294967295", "-1", "1e999", "null", "\"draws\":null", "[[[["];
    let mut mutators = [Mutator::binary(15, corpus.clone(), &words), Mutator::new(16, corpus, &words)];
    let mut loaded = 0;
    within_memory(64 << 10, || {
        for run in 0..RUNS {
            let mut file = mutators[run as usize % 2].generate();
            // Mostly the right sum: without it no damaged row would be loaded.
            if run % 16 > 1 {
                let sum = Sha256::digest(&file);
                file.extend(sum);
            }
            let Ok(mut conversation) = generator.load(&mut file.as_slice()) else { continue };
            loaded += 1;
            if loaded % 64 == 0 {
                let _ = conversation.generate(&Request::default().tokens(1), |_| ControlFlow::Continue(()));
            }
        }
    });
    println!("{loaded} of {RUNS} loaded");
    assert!(loaded > 1_000);
}

/// Wherever an answer is ended from outside, the conversation has whole tokens and goes on as if nothing had happened.
#[test]
fn an_interrupted_answer_goes_on() {
    const TOKENS: usize = 24;
    const MOMENTS: u32 = 40;
    for kind in [DeviceKind::Gpu, DeviceKind::CpuDriver] {
        let generator = generator(kind);
        let begun_at = Instant::now();
        let whole =
            [&PROMPT, &all(&mut begun(&generator), &Request::default().tokens(TOKENS)).ids[..]].concat();
        let lasts = begun_at.elapsed();
        let mut ended = 0;
        for moment in 0..MOMENTS {
            let mut conversation = begun(&generator);
            let interrupt = Interrupt::default();
            let request = Request::default().tokens(TOKENS).interrupt(interrupt.clone());
            let answer = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(lasts * moment / MOMENTS);
                    interrupt.set();
                });
                all(&mut conversation, &request)
            });
            ended += u32::from(answer.end == FinishReason::Interrupted);
            let own = conversation.ids();
            assert_eq!(own, whole[..own.len()], "{kind:?}, moment {moment}");
            assert_eq!(answer.ids, own[PROMPT.len()..]);
            let rest = TOKENS + PROMPT.len() - own.len();
            all(&mut conversation, &Request::default().tokens(rest));
            assert_eq!(conversation.ids(), whole, "{kind:?}, moment {moment}");
        }
        assert!(ended > MOMENTS / 4, "{ended} of {MOMENTS}");
    }
}
