//! The suite itself is tested: faults are planted in the embedded server, and cases that pass without have to fail with.

use crate::{cases, script::Case};
use allotment_apiserver::planted::Planted;

/// The cases that are to notice a fault; one is enough.
pub fn witnesses(fault: Planted) -> Vec<Case> {
    let names = names(fault);
    let mut cases = cases::all();
    cases.retain(|case| names.contains(&case.name.as_str()));
    assert_eq!(cases.len(), names.len(), "{fault:?} has a witness that is not a case: {names:?}");
    cases
}

fn names(fault: Planted) -> &'static [&'static str] {
    match fault {
        Planted::GenerationNotBumped => &["generation::counts_changes_of_the_spec"],
        Planted::GenerationBumpedByStatus => &["generation::counts_changes_of_the_spec"],
        Planted::ConflictNotSeen => &["configmap::updated", "patch::version_as_a_precondition"],
        Planted::UidPreconditionIgnored => &["configmap::updated", "apply::wants_a_matching_uid"],
        Planted::StatusWrittenWithObject => &["status::is_apart_from_the_spec"],
        Planted::FinalizerIgnored => &["finalizers::hold_until_removed_by_json_patch"],
        Planted::NewFinalizerWhileDeleting => &["finalizers::may_be_removed_one_by_one"],
        Planted::UnchangedWriteKept => &["update::without_a_change_keeps_the_version"],
        Planted::DryRunKept => &["configmap::dry_run"],
        Planted::BookmarkTooEarly => &["watch::initial_events_end_with_a_bookmark"],
        Planted::DeletionNotWatched => &["watch::tells_changes_in_order"],
        Planted::LeavingSelectorNotTold => &["watch::selectors_turn_changes_into_comings_and_goings"],
        Planted::LabelSelectorIgnored => &["label_selector::equals"],
        Planted::PageRepeatsLast => &["pages::follow_each_other"],
        Planted::ExpiredWatchGoesOn => &["watch::from_a_version_long_gone"],
        Planted::OrphansCollected => &["garbage::orphans"],
        Planted::GarbageStays => &["garbage::background"],
        Planted::ForegroundDoesNotWait => &["garbage::foreground_waits_for_dependents"],
        Planted::EndingNamespaceTakesMore => &["namespaces::wait_for_finalizers"],
        Planted::DefaultsLeftOut => &["schema::defaults"],
        Planted::UnknownFieldsKept => &["schema::prunes"],
        Planted::RulesNotChecked => &["cel::transition_rule"],
        Planted::ApplyAlwaysForced => &["apply::names_the_conflicts"],
        Planted::OwnersNotTracked => &["update::moves_ownership_of_fields"],
        Planted::TokenOutlivesItsSecret => &["tokens::end_with_the_secret_they_are_bound_to"],
        Planted::EverybodyMayEverything => &["configmap::forbidden"],
        Planted::EscalationAllowed => &["rbac::nobody_gives_more_than_they_have"],
        Planted::DeletePreconditionIgnored => &["configmap::deleted"],
        Planted::PolicyNotEnforced => &["policy::denies_every_way_to_write"],
        Planted::PolicyIgnoresDeletion => &["policy::denies_deletions"],
    }
}
