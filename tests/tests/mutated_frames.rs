//! Frames are input: a plan whose frame words, expressions, scalars, grids or advance were changed, or the bytes of its
//! file that say so, is not read, or refused, when it is checked or before the binding at which it is wrong, or it runs
//! and touches no byte outside its views: at every binding of its symbols, not only those that the checker samples. A
//! plan wrong only at s = 37 ended in SIGSEGV.
//!
//! `cargo run -p pumice-tests --example frame_mutants` runs more.

mod on_device {
    use pumice_tests::frame_mutants::{Mutants, Tally};

    fn mutants(count: u64) {
        let mutants = Mutants::new();
        let mut tally = Tally::default();
        (0..count).for_each(|seed| mutants.try_seed(seed, &mut tally));
        tally.assert_clean();
        let kinds = [tally.not_read, tally.refused, tally.refused_at_a_binding, tally.ran];
        assert!(kinds.iter().all(|&kind| kind >= count / 100), "the mutants are of one kind: {tally}");
        assert!(tally.reported >= count / 100, "no mutant reports: {tally}");
    }

    #[test]
    fn mutated_frames_are_refused_or_touch_no_other_byte_at_any_binding() {
        mutants(400);
    }
}
