//! Which kernels a generator makes, and when: those that a prompt and its answer meet before the first token, the
//! others on a GPU once the first answer is there. Ten kernels were compiled in the middle of an answer.

use super::{Interrupts, run};
use pumice::generate::{Event, FinishReason, GenerateOptions, Generator, Request};
use pumice::{
    CheckedPlan, Device, DeviceError, DeviceKind, DeviceSession, FillWeights, HostOps, LoadedPlan, Span,
    StepId, Target,
};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The runs whose kernels were asked for, in order; one list a call.
type Asked = Arc<Mutex<Vec<Vec<usize>>>>;

/// The interpreter, with what is prepared noted.
struct Noting {
    inner: Arc<dyn pumice::parts::runtime::Device>,
    asked: Asked,
}

impl pumice::parts::runtime::Device for Noting {
    fn name(&self) -> String {
        "noting".to_owned()
    }

    fn target(&self) -> &Target {
        self.inner.target()
    }

    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn LoadedPlan>, DeviceError> {
        let inner = self.inner.load(plan, host)?;
        Ok(Arc::new(NotingPlan { inner, asked: self.asked.clone() }))
    }
}

struct NotingPlan {
    inner: Arc<dyn LoadedPlan>,
    asked: Asked,
}

impl LoadedPlan for NotingPlan {
    fn write_weights(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.inner.write_weights(span, bytes)
    }

    fn stream(&self, stream: usize, fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        self.inner.stream(stream, fill)
    }

    fn read_weights(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read_weights(span, bytes)
    }

    fn run_load(&self, steps: &[StepId]) -> Result<(), DeviceError> {
        self.inner.run_load(steps)
    }

    fn session(self: Arc<Self>) -> Result<Box<dyn DeviceSession>, DeviceError> {
        self.inner.clone().session()
    }

    fn prepare(&self, runs: &[usize]) -> Result<(), DeviceError> {
        self.asked.lock().expect("whole").push(runs.to_vec());
        self.inner.prepare(runs)
    }
}

fn generator(kind: DeviceKind, one_answer: bool) -> (Generator, Asked) {
    let asked = Asked::default();
    let noting = Noting { inner: Device::cpu().shared(), asked: asked.clone() };
    let device = Device::from_runtime(Arc::new(noting), kind);
    let options = GenerateOptions::default().one_answer(one_answer);
    (Generator::seeded(1, &device, &options).expect("opens"), asked)
}

fn greedy(tokens: usize) -> Request {
    Request::default().tokens(tokens)
}

/// The run that takes so many new tokens.
fn run_of(generator: &Generator, new: u64) -> usize {
    let plan = generator.executable().plan();
    let symbol = plan.symbols.find("t");
    plan.run_for(0, |id| (Some(id) == symbol).then_some(new)).expect("a run")
}

#[test]
fn what_an_answer_meets_is_ready_before_its_first_token() {
    let (mut generator, asked) = generator(DeviceKind::CpuDriver, false);
    let runs = [1, 9, 20].map(|new| run_of(&generator, new));
    assert_eq!(runs.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "ranges of their own");
    let mut at_first_token = None;
    let mut answer = |prompt: &[u32], tokens| {
        let before = asked.lock().expect("whole").len();
        let heard = |_: Event<'_>| {
            at_first_token.get_or_insert_with(|| asked.lock().expect("whole")[before..].to_vec());
            ControlFlow::Continue(())
        };
        generator.generate(prompt, &greedy(tokens), heard).expect("answers");
        at_first_token.take().expect("heard")
    };
    let sorted = |mut runs: Vec<usize>| {
        runs.sort();
        vec![runs]
    };
    assert_eq!(answer(&[7; 9], 2), sorted(vec![runs[0], runs[1]]));
    // One token after the prompt is the prompt's own run.
    assert_eq!(answer(&[7; 20], 1), vec![vec![runs[2]]]);
    assert_eq!(answer(&[7], 3), vec![vec![runs[0]]]);
    // Whole pieces and the rest of a prompt in several runs.
    let most = generator_most(&asked);
    assert_eq!(answer(&vec![7; most + 9], 2), sorted(vec![runs[0], runs[1], runs[2]]));
}

/// Tokens of the seeded model's prompts in one run.
fn generator_most(_: &Asked) -> usize {
    pumice::parts::models::decoder::DecoderConfig::tiny().max_new as usize
}

#[test]
fn the_others_follow_the_first_answer_on_a_gpu_alone() {
    let all_asked = |kind, one_answer| {
        let (mut generator, asked) = generator(kind, one_answer);
        let count = generator.executable().plan().runs.len();
        generator.generate(&[7; 9], &greedy(2), |_| ControlFlow::Continue(())).expect("answers");
        let begin = std::time::Instant::now();
        let ready = |asked: &Asked| (0..count).all(|run| asked.lock().expect("whole").contains(&vec![run]));
        while !ready(&asked) && begin.elapsed().as_millis() < 300 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(generator);
        let there = ready(&asked);
        let after = asked.lock().expect("whole").len();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(asked.lock().expect("whole").len(), after, "the thread has ended");
        there
    };
    assert!(all_asked(DeviceKind::Gpu, false));
    assert!(!all_asked(DeviceKind::Gpu, true), "there is no later answer");
    assert!(!all_asked(DeviceKind::CpuDriver, false));
    assert!(!all_asked(DeviceKind::Interpreter, false));
}

/// Ctrl-C during a prompt of many pieces waited for the last of them, 32 s on lavapipe.
#[test]
fn a_prompt_is_not_read_on_after_an_interruption() {
    let (mut generator, _) = generator(DeviceKind::CpuDriver, true);
    let most = generator_most(&Asked::default());
    let prompt = vec![7; most + 5];
    let (mut asked, stop_at) = (0, 2);
    let answer = generator.generate(&prompt, &greedy(4), |heard| {
        assert_eq!(heard, Event::Prompt { read: asked * most, of: prompt.len() });
        asked += 1;
        if asked == stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let answer = answer.expect("no error");
    assert_eq!((answer.end, answer.prompt_read, answer.ids.len()), (FinishReason::Interrupted, most, 0));
    // The next text begins anew.
    let again = generator.generate(&prompt, &greedy(1), |_| ControlFlow::Continue(())).expect("answers");
    assert_eq!((again.prompt_read, again.ids.len()), (prompt.len(), 1));
}

#[test]
fn an_interrupted_prompt_says_how_far_it_was_read() {
    let words = ["generate", "--seeded", "--device", "cpu", "--greedy", "--prompt", "Hello"];
    let stop = Interrupts::default();
    stop.stop.set();
    let said = run(&words, &stop).expect("an interruption is no error").log;
    assert!(said.contains("interrupted after 0 of 5 tokens of the prompt"), "{said}");
}
