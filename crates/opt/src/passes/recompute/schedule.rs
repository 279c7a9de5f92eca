//! What is alive when: nodes as steps in levels, as early as their operands allow, and the bytes of their values.
//!
//! In: a graph. Out: levels, the level where most bytes are alive, and the same after a step is repeated. Views are no
//! steps: who reads one reads what it shows. Leaves, states, outputs and what is known when loading take no room here.

use super::choice::Choice;
use crate::pipeline::Room;
use crate::rewrite::{Facts, cost};
use pumice_ir::{Graph, Node, NodeId, ValueId};
use pumice_types::{DimExpr, SymbolTable, When};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a word of the arena.
const WORD: u64 = 4;

/// A step's number.
pub type StepNo = usize;
/// A stored value's number.
pub type StoredNo = usize;

/// A node that makes values.
#[derive(Clone)]
pub struct Step {
    /// The node, or the one that it repeats.
    pub node: NodeId,
    /// The operand positions of the node and what is read there.
    pub reads: Vec<(usize, StoredNo)>,
    /// Of these values those that it reads through a view.
    pub viewed: Vec<StoredNo>,
    /// What it waits for besides.
    pub waits: Vec<StoredNo>,
    /// Its results.
    pub results: Vec<StoredNo>,
    /// Microseconds.
    pub time: f64,
    /// Whether its first result may lie where an operand does.
    pub elementwise: bool,
    /// Instructions of an element, where elementwise nodes are all that it is.
    pub instructions: Option<usize>,
    /// Whether it may be repeated.
    pub repeatable: bool,
    /// Whether it runs whatever is taken: in no branch and in no turn of a loop.
    pub always: bool,
    /// Whether it may read something else: it always runs, and is no end or beginning of branches and loops.
    pub plain: bool,
    /// For a repeated step, what its operands wait for.
    pub after: Option<StoredNo>,
    /// The step that repeats it.
    pub again: Option<StepNo>,
}

/// Bytes that a step makes.
#[derive(Clone, Copy)]
pub struct Stored {
    /// How many; 0 where they are in no scratch.
    pub bytes: u64,
    /// Who makes them.
    pub step: StepNo,
    /// Whether a run makes them: what is known when loading has no barrier.
    pub of_run: bool,
    /// Its extents, as a number that values of the same extents have.
    pub space: usize,
}

/// The steps of a graph.
pub struct Schedule {
    pub steps: Vec<Step>,
    pub stored: Vec<Stored>,
    /// By step.
    pub levels: Vec<u32>,
    /// By stored value, the steps that read it.
    pub readers: Vec<Vec<StepNo>>,
    /// By value of the graph, the stored value that it shows.
    pub shown: Vec<StoredNo>,
}

/// A level and the bytes that are alive there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    pub level: u32,
    pub bytes: u64,
}

/// What reading the graph needs to know.
struct Reading<'g> {
    graph: &'g Graph,
    facts: Facts,
    symbols: &'g SymbolTable,
    room: &'g Room<'g>,
    /// By value of the graph, the stored value that it shows.
    shown: Vec<StoredNo>,
    /// By value, what its readers wait for.
    waits: Vec<Vec<StoredNo>>,
    /// Numbers of extents.
    spaces: BTreeMap<&'g [DimExpr], usize>,
}

impl Schedule {
    /// Of a graph.
    pub fn of(graph: &Graph, symbols: &SymbolTable, room: &Room<'_>) -> Schedule {
        let (facts, count) = (Facts::new(graph), graph.value_count());
        let (shown, waits) = (vec![usize::MAX; count], vec![Vec::new(); count]);
        let spaces = BTreeMap::new();
        let mut reading = Reading { graph, facts, symbols, room, shown, waits, spaces };
        let mut schedule = Schedule {
            steps: Vec::with_capacity(graph.nodes().len()),
            stored: Vec::with_capacity(count),
            levels: Vec::new(),
            readers: Vec::new(),
            shown: Vec::new(),
        };
        for (id, node) in graph.nodes() {
            schedule.add(&mut reading, id, node);
        }
        schedule.shown = reading.shown;
        schedule.read_again();
        schedule
    }

    /// Adds a node: a step, or the names of what it shows.
    fn add(&mut self, reading: &mut Reading<'_>, id: NodeId, node: &Node) {
        let step = self.steps.len();
        let mut results = Vec::new();
        for (place, &v) in node.outputs.iter().enumerate() {
            match node.op.shown_operand(place).and_then(|i| node.input(i)) {
                Some(x) => reading.show(node, v, x),
                None => {
                    reading.shown[v.index()] = self.stored.len();
                    results.push(self.stored.len());
                    let (bytes, of_run, space) = (reading.bytes(id, v), reading.of_run(id), reading.space(v));
                    self.stored.push(Stored { bytes, step, of_run, space });
                }
            }
        }
        if !results.is_empty() {
            let step = self.step(reading, (id, node), results);
            self.steps.push(step);
        }
    }

    fn step(&self, reading: &Reading<'_>, (id, node): (NodeId, &Node), results: Vec<StoredNo>) -> Step {
        let operands = node.inputs.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?)));
        let reads: Vec<(usize, StoredNo)> = operands.map(|(i, v)| (i, reading.shown[v.index()])).collect();
        let views = node.operands().filter(|v| reading.is_view(*v));
        let viewed = views.map(|v| reading.shown[v.index()]).collect();
        let waits = node.operands().flat_map(|v| &reading.waits[v.index()]).copied();
        let waits: BTreeSet<StoredNo> = waits.collect();
        let time = reading.room.times.get(graph_name(reading.graph, id)).copied();
        // The step of a draw is a scalar, which a barrier may hold back as well.
        let barred = node.op.stream().is_some() || self.reads_of_run(&reads);
        let always = reading.facts.when(id) == When::ALWAYS;
        Step {
            node: id,
            always,
            plain: always && !steers(node),
            elementwise: node.op.is_elementwise() || node.op.body().is_some(),
            instructions: cost::instructions(reading.graph, id),
            repeatable: time.is_some() && barred && reading.is_repeatable(id, node),
            time: time.unwrap_or(0.0),
            reads,
            viewed,
            waits: waits.into_iter().collect(),
            results,
            after: None,
            again: None,
        }
    }

    /// Whether something is read that a barrier can be put before.
    fn reads_of_run(&self, reads: &[(usize, StoredNo)]) -> bool {
        reads.iter().any(|&(_, v)| self.stored[v].of_run)
    }

    /// Everything that a step needs before it runs.
    pub fn needs(&self, step: StepNo) -> impl Iterator<Item = StoredNo> + '_ {
        let step = &self.steps[step];
        step.reads.iter().map(|(_, v)| *v).chain(step.waits.iter().copied()).chain(step.after)
    }

    /// Levels and readers from the steps as they are now; false, and nothing new, where they wait for each other.
    pub fn read_again(&mut self) -> bool {
        let mut users: Vec<Vec<StepNo>> = vec![Vec::new(); self.stored.len()];
        for step in 0..self.steps.len() {
            self.needs(step).for_each(|v| users[v].push(step));
        }
        let Some(levels) = self.as_early_as_can_be(&users) else { return false };
        // Who only waits reads nothing.
        for (v, users) in users.iter_mut().enumerate() {
            users.retain(|&s| self.steps[s].reads.iter().any(|r| r.1 == v));
            users.dedup();
        }
        (self.levels, self.readers) = (levels, users);
        true
    }

    /// The level of each step, by who needs each value; none where steps wait for each other.
    fn as_early_as_can_be(&self, users: &[Vec<StepNo>]) -> Option<Vec<u32>> {
        let mut waiting: Vec<usize> = (0..self.steps.len()).map(|step| self.needs(step).count()).collect();
        let mut levels = vec![0u32; self.steps.len()];
        let mut ready: Vec<StepNo> = (0..self.steps.len()).filter(|&s| waiting[s] == 0).collect();
        let mut done = 0;
        while let Some(step) = ready.pop() {
            done += 1;
            for &user in self.steps[step].results.iter().flat_map(|&v| &users[v]) {
                levels[user] = levels[user].max(levels[step] + 1);
                waiting[user] -= 1;
                if waiting[user] == 0 {
                    ready.push(user);
                }
            }
        }
        (done == self.steps.len()).then_some(levels)
    }

    /// The level that makes a value.
    pub fn made(&self, v: StoredNo) -> u32 {
        self.levels[self.stored[v].step]
    }

    /// The last level that reads a value.
    pub fn last(&self, v: StoredNo) -> u32 {
        self.readers[v].iter().map(|&s| self.levels[s]).max().unwrap_or_else(|| self.made(v))
    }

    /// How many bytes are alive in each level.
    pub fn alive(&self) -> Vec<Peak> {
        let levels = self.levels.iter().max().map_or(0, |l| *l as usize + 1);
        let mut change = vec![0i128; levels + 1];
        for (v, stored) in self.stored.iter().enumerate().filter(|(_, s)| s.bytes > 0) {
            // In the level that makes such a value, its bytes are the operand's.
            let from = self.made(v) + u32::from(self.lies_over_an_operand(v));
            let end = (self.last(v) + 1).max(from);
            change[from as usize] += i128::from(stored.bytes);
            change[end as usize] -= i128::from(stored.bytes);
        }
        let alive = change.iter().take(levels).scan(0i128, |sum, c| {
            *sum += c;
            Some(*sum)
        });
        let peak = |(level, bytes)| Peak { level, bytes: u64::try_from(bytes).unwrap_or(0) };
        (0..).zip(alive).map(peak).collect()
    }

    /// Whether a value may lie where an operand of its step does, which nobody reads later.
    fn lies_over_an_operand(&self, v: StoredNo) -> bool {
        let (level, step) = (self.made(v), &self.steps[self.stored[v].step]);
        let dies =
            |u: StoredNo| self.readers[u].iter().all(|&s| self.levels[s] < level || s == self.stored[v].step);
        let mut alike =
            step.reads.iter().map(|r| r.1).filter(|&u| self.stored[u].bytes == self.stored[v].bytes);
        step.elementwise && step.results.first() == Some(&v) && alike.any(dies)
    }

    /// Repeats the steps of a choice, the one that is wanted last; false where that cannot be.
    pub fn repeat(&mut self, choice: &Choice) -> bool {
        let before = (self.steps.clone(), self.stored.len());
        for &step in &choice.steps {
            let inside = choice.inside && Some(&step) == choice.steps.last();
            self.repeat_step(step, choice.after, inside);
        }
        for &(reader, v) in &choice.readers {
            let again = self.again(v);
            self.steps[reader].reads.iter_mut().filter(|r| r.1 == v).for_each(|r| r.1 = again);
        }
        if self.read_again() {
            return true;
        }
        self.steps = before.0;
        self.stored.truncate(before.1);
        false
    }

    /// The step that a choice wants is not repeated: steps would wait for each other.
    pub fn refuse(&mut self, choice: &Choice) {
        if let Some(&wanted) = choice.steps.last() {
            self.steps[wanted].repeatable = false;
        }
    }

    /// The repeated form of a value, where there is one.
    fn again(&self, v: StoredNo) -> StoredNo {
        let step = &self.steps[self.stored[v].step];
        let place = step.results.iter().position(|&r| r == v);
        let again = step.again.and_then(|s| self.steps[s].results.get(place?).copied());
        again.unwrap_or(v)
    }

    /// Adds a step that repeats another, on what is there then; one that is there already comes early enough. The
    /// results of one `inside` its reader take no room.
    fn repeat_step(&mut self, step: StepNo, after: StoredNo, inside: bool) {
        if let Some(again) = self.steps[step].again {
            // Who reads it besides finds it stored.
            for (first, result) in self.steps[step].results.iter().zip(&self.steps[again].results) {
                self.stored[*result].bytes = self.stored[*first].bytes;
            }
            self.move_before(step, after);
            return;
        }
        let number = self.steps.len();
        let mut again = self.steps[step].clone();
        let from = self.made(after);
        for read in 0..again.reads.len() {
            let v = again.reads[read].1;
            // What is dead by then is read from where it is repeated.
            let dead = self.stored[v].bytes > 0 && self.last(v) <= from;
            if dead && self.steps[self.stored[v].step].again.is_some() {
                again.reads[read].1 = self.again(v);
            }
        }
        for result in &mut again.results {
            let stored = self.stored[*result];
            *result = self.stored.len();
            let bytes = if inside { 0 } else { stored.bytes };
            self.stored.push(Stored { step: number, bytes, ..stored });
        }
        again.after = Some(after);
        again.repeatable = false;
        self.steps.push(again);
        self.steps[step].again = Some(number);
    }

    /// Lets the repeated form of a step come as soon as `after` is there, if it came later.
    fn move_before(&mut self, step: StepNo, after: StoredNo) {
        let mut open = vec![step];
        while let Some(step) = open.pop() {
            let Some(again) = self.steps[step].again else { continue };
            let later = self.steps[again].after.is_some_and(|own| self.made(own) > self.made(after));
            if later {
                self.steps[again].after = Some(after);
                let reads = self.steps[step].reads.iter().map(|r| self.stored[r.1].step);
                open.extend(reads);
            }
        }
    }
}

fn graph_name(graph: &Graph, id: NodeId) -> &str {
    &graph.value(graph.node(id).output()).name
}

impl Reading<'_> {
    /// A result that is bytes of an operand. Who reads it waits for every other operand of the node.
    fn show(&mut self, node: &Node, v: ValueId, x: ValueId) {
        self.shown[v.index()] = self.shown[x.index()];
        let mut waits = self.waits[x.index()].clone();
        for other in node.operands().filter(|other| *other != x) {
            waits.push(self.shown[other.index()]);
            waits.extend_from_slice(&self.waits[other.index()]);
        }
        // Views of views name the same ones again.
        waits.sort_unstable();
        waits.dedup();
        self.waits[v.index()] = waits;
    }

    fn is_view(&self, v: ValueId) -> bool {
        let (id, place) = self.graph.value(v).def;
        self.graph.node(id).op.shown_operand(place.into()).is_some()
    }

    fn space(&mut self, v: ValueId) -> usize {
        let next = self.spaces.len();
        *self.spaces.entry(&self.graph.ty(v).shape).or_insert(next)
    }

    fn of_run(&self, id: NodeId) -> bool {
        !self.facts.is_load_time(id) && !self.facts.is_in_frame(id)
    }

    /// Bytes that a result takes of the scratch.
    fn bytes(&self, id: NodeId, v: ValueId) -> u64 {
        let node = self.graph.node(id);
        let written = |user: &NodeId| self.graph.node(*user).op.whole_state().is_some();
        let in_state = !self.facts.users(v).is_empty() && self.facts.users(v).iter().all(written);
        if node.op.is_leaf()
            || !self.of_run(id)
            || self.facts.is_output(v)
            || self.facts.shows_state(v)
            || in_state
        {
            return 0;
        }
        let ty = self.graph.ty(v);
        let elements = ty.shape.iter().fold(1u64, |n, d| n.saturating_mul(d.upper(self.symbols)));
        let words = if ty.dtype().arena_bytes() == 8 { 2 } else { 1 };
        elements.saturating_mul(WORD * words)
    }

    fn is_repeatable(&self, id: NodeId, node: &Node) -> bool {
        let op = &node.op;
        let stays = op.is_leaf() || steers(node) || op.state_operand().is_some() || op.user_name().is_some();
        !stays && self.of_run(id) && self.facts.when(id) == When::ALWAYS
    }
}

/// Whether a node finds an extent, or begins or ends branches or a loop.
fn steers(node: &Node) -> bool {
    let op = &node.op;
    op.branches().is_some() || op.loops().is_some() || op.carries().is_some() || op.finds().is_some()
}
