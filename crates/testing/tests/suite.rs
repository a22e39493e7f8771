//! The suite passes a store that is right, and notices each way in which one may be wrong.

mod naive;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate_testing::conformance::{self as suite, ManualBench};

use self::naive::{Flaw, Naive};

mod right {
    use super::naive::{Flaw, Naive};

    tollgate_testing::store_conformance!(|clock| Naive::new(clock, Flaw::None));
}

/// Whether `test` fails for a store with `flaw`.
macro_rules! notices {
    ($test:ident, $flaw:ident) => {{
        let bench = ManualBench::new(|clock| Naive::new(clock, Flaw::$flaw));
        let outcome = catch_unwind(AssertUnwindSafe(|| suite::$test(&bench)));
        assert!(
            outcome.is_err(),
            concat!(stringify!($test), " misses ", stringify!($flaw))
        );
    }};
}

#[test]
fn joined_and_cut_keys_are_noticed() {
    notices!(keys_with_different_parts_never_meet, JoinsParts);
    notices!(keys_with_different_parts_never_meet, ForgetsKinds);
    notices!(keys_are_neither_cut_nor_folded, CutsKeys);
}

#[test]
fn shared_limits_are_noticed() {
    notices!(limits_on_one_store_share_no_state, SharesLimits);
    notices!(a_name_is_bound_once, BindsTwice);
}

#[test]
fn batches_in_part_are_noticed() {
    notices!(all_quotas_are_charged_or_none, ChargesInPart);
    notices!(a_quota_that_can_never_pass_spares_the_others, ChargesInPart);
    notices!(charges_of_different_limiters_are_all_or_none, ChargesInPart);
    notices!(several_quotas_answer_as_the_oracle, ChargesInPart);
    notices!(charges_of_one_key_add_up, DoesNotAddUp);
}

#[test]
fn lost_updates_are_noticed() {
    notices!(threads_admit_exactly_the_limit, LosesUpdates);
    notices!(threads_that_meet_a_new_key_admit_one, LosesUpdates);
    notices!(threads_charge_all_quotas_or_none, LosesUpdates);
    notices!(threads_lose_nothing_that_is_given_back, LosesUpdates);
}

#[test]
fn wrong_times_are_noticed() {
    notices!(retries_are_honest, CoarseClock);
    notices!(retries_of_several_quotas_are_honest, CoarseClock);
    notices!(single_keys_answer_as_the_oracle, CoarseClock);
    notices!(single_keys_answer_as_the_oracle, BelievesTheClock);
    notices!(several_keys_answer_as_the_oracle, BelievesTheClock);
    notices!(what_is_admitted_obeys_the_quota, ForgetsDebts);
}

#[test]
fn wrong_verbs_are_noticed() {
    notices!(a_peek_spends_nothing, PeeksForReal);
    notices!(admits_the_limit_and_says_what_remains, ForgetsDebts);
}
