//! Runs a property on many generated values, and shrinks the one that breaks it.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Runs `property` on `cases` values of `strategy`, ten times as many in an optimised build.
///
/// The seed is fixed, so that a run can be repeated; `PROPTEST_RNG_SEED` sets another one, and
/// `PROPTEST_CASES` another number of cases.
///
/// # Panics
///
/// If `property` does not hold, with the smallest value found for which it does not.
pub fn forall<S: Strategy>(
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), String>,
) {
    let defaults = Config::default();
    let config = Config {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() {
            defaults.cases
        } else if cfg!(debug_assertions) {
            cases
        } else {
            cases * 10
        },
        rng_seed: match defaults.rng_seed {
            RngSeed::Random => RngSeed::Fixed(0x70_11_9A_7E),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: None,
        max_shrink_iters: 1_000,
        ..defaults
    };
    let outcome = TestRunner::new(config).run(strategy, |value| {
        property(value).map_err(TestCaseError::fail)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
