//! What a replay waits for where another ends.
//!
//! Lists of a segment follow each other within a submission, and themselves where it is replayed. Whatever else ran
//! before was closed for everything ([`Gpu::close`](crate::gpu::Gpu::close)). So the barrier at the head of a list
//! names what the steps of its segment do and no more: on an H200 a barrier from kernels to kernels takes 2.2 us, one
//! that also names copies and grids 5 us (2026-11-28).

use crate::raw::Masks;
use pumice_plan::{Access, Barrier, Frame, Program, RegionKind, Span, Step, StepKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// The barrier at the head of the lists of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seam {
    from: Masks,
    to: Masks,
}

impl Seam {
    /// Of the segment that has these levels.
    pub(crate) fn of(program: &Program, levels: Range<u32>, frame: Option<&Frame>) -> Seam {
        let steps = || by_level(program, &levels).flatten();
        let transfer = steps().any(|s| matches!(s.kind, StepKind::Copy | StepKind::Fill(_)));
        let from = Masks { shader: true, transfer, ..Masks::default() };
        let written: BTreeSet<u32> = steps().flat_map(|s| words_written(s, frame)).collect();
        let indirect = !written.is_empty() && reads_grids_of_the_last(program, &levels, frame, &written);
        Seam { from, to: Masks { indirect, ..from } }
    }

    /// What the list that begins with this level waits for: the seam stands in the place of the level's own barrier.
    pub(crate) fn at(self, first: Option<&Barrier>) -> (Masks, Masks) {
        let indirect = self.to.indirect || first.is_some_and(|barrier| barrier.to_indirect);
        (self.from, Masks { indirect, ..self.to })
    }
}

fn by_level<'p>(
    program: &'p Program,
    levels: &Range<u32>,
) -> impl Iterator<Item = impl Iterator<Item = &'p Step>> {
    let levels = program.levels.get(levels.start as usize..levels.end as usize).unwrap_or(&[]);
    levels.iter().map(|level| program.steps_of(level).map(|(_, step)| step))
}

/// Whether a grid is words that only the replay before has written.
fn reads_grids_of_the_last(
    program: &Program,
    levels: &Range<u32>,
    frame: Option<&Frame>,
    written: &BTreeSet<u32>,
) -> bool {
    let mut by_this: BTreeSet<u32> = BTreeSet::new();
    for level in by_level(program, levels) {
        let mut of_level = Vec::new();
        for step in level {
            let grids = step.uses.iter().filter(|u| u.access == Access::IndirectRead);
            if grids.flat_map(|u| words(u.span)).any(|w| written.contains(&w) && !by_this.contains(&w)) {
                return true;
            }
            of_level.extend(words_written(step, frame));
        }
        by_this.extend(of_level);
    }
    false
}

fn words(span: Span) -> Range<u32> {
    let word = |bytes: u64| u32::try_from(bytes / 4).unwrap_or(u32::MAX);
    word(span.offset.0)..word(span.end().0.next_multiple_of(4))
}

/// Words of the frame that a step writes: the advance has all of it at hand and writes what its instructions name.
fn words_written(step: &Step, frame: Option<&Frame>) -> Vec<u32> {
    if let (StepKind::Advance { .. }, Some(frame)) = (&step.kind, frame) {
        return frame.advanced_words().collect();
    }
    let writes = step.uses.iter().filter(|u| u.access.writes() && u.span.region == RegionKind::Frame);
    writes.flat_map(|u| words(u.span)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_plan::{Cost, Level, Meaning, Storage, Use, VersionId, View};
    use pumice_types::{Bytes, DType, When};
    use std::sync::Arc;

    /// A step that touches words of the frame from one on.
    fn step(kind: StepKind, access: Access, word: u64) -> Step {
        let span = Span::new(RegionKind::Frame, Bytes(4 * word), Bytes(12));
        let view = Arc::new(View::dense(DType::U32, Storage::Arena, &[3u64.into()]));
        Step {
            kind,
            uses: vec![Use { span, access, content: VersionId(0), view }],
            origin: "step".into(),
            reason: String::new(),
            meaning: Meaning::none(),
            cost: Cost::default(),
            when: When::ALWAYS,
        }
    }

    /// Of one step a level.
    fn seam(steps: Vec<Step>) -> Seam {
        let levels = 0..steps.len() as u32;
        let level = |i| Level { steps: i..i + 1, barrier: None, reason: None };
        let program = Program { levels: levels.clone().map(level).collect(), steps, ..Program::default() };
        Seam::of(&program, levels, None)
    }

    #[test]
    fn kernels_alone_wait_for_kernels() {
        let reads = |word| step(StepKind::Host, Access::IndirectRead, word);
        let shader = Masks { shader: true, ..Masks::default() };
        assert_eq!(seam(vec![reads(0), reads(8)]), Seam { from: shader, to: shader });
    }

    #[test]
    fn copies_are_waited_for_and_wait() {
        let both = Masks { shader: true, transfer: true, ..Masks::default() };
        let copy = step(StepKind::Copy, Access::ShaderRead, 0);
        assert_eq!(seam(vec![copy]), Seam { from: both, to: both });
    }

    /// Words that this replay writes before it reads them have a barrier of their own.
    #[test]
    fn grids_are_waited_for_where_only_the_replay_before_wrote_them() {
        let reads = || step(StepKind::Host, Access::IndirectRead, 4);
        let writes = |word| step(StepKind::Host, Access::ShaderWrite, word);
        let waits = |steps| seam(steps).at(None).1.indirect;
        assert!(!waits(vec![writes(4), reads()]));
        assert!(waits(vec![reads(), writes(4)]));
        assert!(waits(vec![reads(), writes(2)]), "a part of them");
        assert!(waits(vec![writes(3), reads(), writes(6)]), "a part of them is older");
        assert!(!waits(vec![reads(), writes(7)]));
        let barrier = Barrier {
            from_shader_write: true,
            from_shader_read: false,
            from_transfer: false,
            to_shader: true,
            to_transfer: false,
            to_indirect: true,
        };
        assert!(
            seam(vec![reads()]).at(Some(&barrier)).1.indirect,
            "a list begins where grids are waited for"
        );
    }
}
