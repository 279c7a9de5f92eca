//! Plans as files: what is saved is loaded, and everything else is refused by name.

use pumice_plan::file::{FORMAT_VERSION, seal, steering};
use pumice_plan::{CheckedPlan, Fingerprint, KernelDecl, Kernels, Plan, PlanFileError, PlanForm, StepKind};

use crate::plans;

/// Bytes before the body, the checksum among them.
const HEADER: usize = 52;
const FORMS: [PlanForm; 2] = [PlanForm::Explain, PlanForm::Run];

fn file(form: PlanForm) -> Vec<u8> {
    plans::everything().to_bytes(form).expect("saved")
}

#[test]
fn what_is_saved_is_loaded_and_saved_again_the_same() {
    let plan = plans::everything();
    for (form, expected) in FORMS.into_iter().zip([plan.clone(), plan.clone().into_run_form()]) {
        let mut bytes = Vec::new();
        plan.save(&mut bytes, form).expect("a vector takes everything");
        let loaded = Plan::load(&bytes).expect("as it was saved");
        assert_eq!(loaded, expected);
        assert_eq!(loaded.to_bytes(form).expect("saved again"), bytes);
        let report = CheckedPlan::new(loaded).expect("sound").report().clone();
        assert_eq!(report, *CheckedPlan::new(plan.clone()).expect("sound").report());
    }
    assert!(file(PlanForm::Run).len() < file(PlanForm::Explain).len());
}

/// The run form keeps meanings of host steps, and names of steps that report.
#[test]
fn the_run_form_keeps_what_running_needs() {
    let run = plans::everything().into_run_form();
    let steps = || run.programs().flat_map(|p| &p.steps);
    assert!(
        steps().filter(|s| s.is_host()).all(|s| !s.meaning.graph.text.is_empty() && !s.origin.is_empty())
    );
    assert!(steps().filter(|s| s.is_host()).count() > 0);
    assert!(steps().filter(|s| !s.is_host()).all(|s| s.meaning.graph.text.is_empty()));
    assert!(steps().any(|s| s.meaning.status.is_some() && &*s.origin == "gather"));
    assert!(steps().any(|s| s.origin.is_empty()));
    let explained = run.to_bytes(PlanForm::Explain);
    assert!(matches!(explained, Err(PlanFileError::NoExplanations { plan }) if plan == "sketch"));
}

/// A dispatch of the explain form without a meaning is a fault, as is one of the run form with a meaning.
#[test]
fn the_checker_knows_the_forms() {
    let mut silent = plans::everything().into_run_form();
    silent.form = PlanForm::Explain;
    assert!(CheckedPlan::new(silent).is_err());
    let mut loud = plans::everything();
    loud.form = PlanForm::Run;
    assert!(CheckedPlan::new(loud).is_err());
}

#[test]
fn other_bytes_are_refused() {
    assert!(matches!(Plan::load(b""), Err(PlanFileError::NotAPlan)));
    assert!(matches!(Plan::load(b"GGUF and more of it"), Err(PlanFileError::NotAPlan)));
    let mut other = file(PlanForm::Run);
    other[8] += 1;
    seal(&mut other);
    let refused = Plan::load(&other).expect_err("another version");
    assert!(
        matches!(refused, PlanFileError::Version { found, known: FORMAT_VERSION } if found == FORMAT_VERSION + 1)
    );
    let mut longer = file(PlanForm::Run);
    longer.push(0);
    assert!(matches!(Plan::load(&longer), Err(PlanFileError::Length { .. })));
    seal(&mut longer);
    assert!(matches!(Plan::load(&longer), Err(PlanFileError::Malformed(_))));
}

#[test]
fn files_cut_anywhere_are_refused() {
    let whole = file(PlanForm::Explain);
    for end in 0..whole.len() {
        let mut cut = whole[..end].to_vec();
        assert!(Plan::load(&cut).is_err(), "{end} bytes");
        seal(&mut cut);
        assert!(Plan::load(&cut).is_err(), "{end} bytes with a checksum");
    }
}

#[test]
fn every_bit_counts() {
    let mut bytes = file(PlanForm::Run);
    for i in 0..bytes.len() {
        bytes[i] ^= 1 << (i % 8);
        assert!(Plan::load(&bytes).is_err(), "byte {i}");
        bytes[i] ^= 1 << (i % 8);
    }
    assert!(Plan::load(&bytes).is_ok());
}

/// Every built-in kernel as another build might have it.
fn other_build(
    change: impl Fn(KernelDecl) -> KernelDecl,
    code: impl Fn(Fingerprint) -> Fingerprint,
) -> Kernels {
    let (built_in, mut other) = (Kernels::built_in(), Kernels::default());
    for decl in pumice_plan::kernels::all() {
        let of = |name: &str| code(built_in.code(decl.name, name).expect("built in"));
        let codes: Vec<(&'static str, Fingerprint)> =
            decl.variants.iter().map(|v| (v.name, of(v.name))).collect();
        other.register(change(*decl), &codes).expect("new");
    }
    other
}

#[test]
fn plans_for_other_kernels_are_refused_by_name() {
    let bytes = file(PlanForm::Run);
    let load = |kernels: &Kernels| Plan::load_with(&bytes, kernels).map(drop);
    assert!(load(&other_build(|d| d, |c| c)).is_ok());
    assert!(matches!(load(&Kernels::default()), Err(PlanFileError::UnknownKernel { .. })));
    let code = load(&other_build(|d| d, |c| Fingerprint::of(&c.0))).expect_err("other code");
    assert!(matches!(&code, PlanFileError::OtherCode { variant, .. } if variant == "plain"), "{code}");
    let file = |d: KernelDecl| KernelDecl {
        file: if d.name == "gather_words" { "other.comp" } else { d.file },
        ..d
    };
    let declaration = load(&other_build(file, |c| c)).expect_err("another declaration");
    assert!(matches!(&declaration, PlanFileError::OtherDeclaration { kernel } if kernel == "gather_words"));
    assert!(declaration.to_string().contains("`gather_words`"), "{declaration}");
}

#[test]
fn calls_of_unknown_kernels_are_not_saved() {
    let mut plan = plans::everything();
    let steps = plan.runs[0].program.steps.iter_mut();
    let call = steps.filter_map(|s| match &mut s.kind {
        StepKind::Dispatch { call, .. } => Some(call),
        _ => None,
    });
    call.last().expect("a dispatch").variant = "none".into();
    assert!(
        matches!(plan.to_bytes(PlanForm::Run), Err(PlanFileError::UnknownVariant { variant, .. }) if variant == "none")
    );
}

/// Where this fails, the format has changed: raise [`FORMAT_VERSION`] and write the new fingerprint here. (Or the
/// profile of lavapipe has other figures: then the new fingerprint alone.)
#[test]
fn the_format_has_a_version() {
    let mut bytes = file(PlanForm::Explain);
    let built_in = Kernels::built_in();
    for decl in pumice_plan::kernels::all() {
        let code = decl.variants.iter().filter_map(|v| built_in.code(decl.name, v.name));
        for fingerprint in code.chain(built_in.declaration(decl.name)) {
            while let Some(at) = bytes.windows(32).position(|w| w == fingerprint.0) {
                bytes[at..at + 32].fill(0);
            }
        }
    }
    seal(&mut bytes);
    assert_eq!(
        (FORMAT_VERSION, Fingerprint::of(&bytes).to_string().as_str()),
        (13, "a6e3e88700b209c235e7f6f340cd4f1fc0f592089eedbfea6d4683dffea207a3")
    );
}

/// Plans that differ in one scalar differ in no byte outside the sections that steer, but for the checksum.
#[test]
fn sections_that_steer_hold_what_steers() {
    let plan = plans::everything();
    let mut other = plan.clone();
    other.scalars[0].default += 1.0;
    let [a, b] = [plan, other].map(|p| p.to_bytes(PlanForm::Run).expect("saved"));
    let sections = steering(&a).expect("a file");
    assert_eq!((a.len(), sections.len()), (b.len(), 2 + 3 * plans::everything().runs.len()));
    let changed: Vec<usize> = (HEADER..a.len()).filter(|&i| a[i] != b[i]).collect();
    assert!(
        !changed.is_empty() && changed.iter().all(|i| sections[1].contains(i)),
        "{changed:?} {sections:?}"
    );
}
