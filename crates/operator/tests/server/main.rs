//! What the operators do on API servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod access;
mod access_kills;
mod accounts;
mod adoptions;
mod brought;
mod claims;
mod cleanup;
mod cleanup_clouds;
mod cleanup_identity;
mod cleanup_kills;
mod cleanup_twins;
mod clusters;
mod desk;
mod failures;
mod fair;
mod fences;
mod forged;
mod isolation;
mod ledgers;
mod locks;
mod minting;
mod occupied;
mod overheard;
mod protection;
mod releases;
mod rendering;
mod restored;
mod returned;
mod revoking;
mod stage;
mod targets;
mod templates;

use allotment_testing::{case, run};
use std::process::ExitCode;

const NO_IDENTITIES: &str = "the embedded garden has no WorkloadIdentities";

fn main() -> ExitCode {
    run(vec![
        case!(claims::fifty_first_requests_of_one_tenant_claim_one_account),
        case!(claims::a_limit_is_filled_and_never_passed),
        case!(claims::a_plan_goes_where_its_rule_says),
        case!(claims::shared_accounts_are_filled_evenly),
        case!(claims::what_cannot_be_granted_is_denied),
        case!(claims::an_empty_pool_makes_wait_and_a_new_account_is_taken_within_a_second),
        case!(claims::entries_that_no_pool_wants_are_left_alone),
        case!(claims::an_account_that_somebody_else_takes_is_let_go),
        case!(claims::new_rules_decide_again_about_what_was_denied),
        case!(claims::a_pool_of_secrets_works_the_same),
        case!(claims::a_pool_of_secret_bindings_works_the_same),
        case!(failures::a_request_repeats_what_the_garden_answers),
        case!(failures::a_request_says_that_a_server_cannot_be_reached_and_not_where_it_is),
        case!(failures::a_cluster_repeats_what_the_garden_answers),
        case!(failures::a_kubeconfig_request_repeats_what_the_control_plane_answers),
        case!(failures::those_that_wait_are_told_of_lasting_failures_though_nobody_wakes_them),
        case!(failures::those_that_wait_are_told_that_nothing_is_handed_out),
        case!(failures::a_cluster_that_waits_for_an_account_is_told_of_its_requests_failure),
        case!(occupied::an_account_with_somebodys_shoot_is_not_handed_out),
        case!(occupied::another_account_is_handed_out_in_the_place_of_an_occupied_one),
        case!(occupied::a_shoot_that_comes_right_before_a_claim_is_seen),
        case!(occupied::a_shoot_on_another_binding_with_the_same_credentials_occupies),
        case!(occupied::entries_with_the_same_credentials_go_to_one_tenant),
        case!(occupied::one_account_of_two_tenants_is_reported_and_gets_nothing_new),
        case!(occupied::the_binding_that_we_make_for_a_secret_is_no_second_entry),
        case!(occupied::a_shoot_whose_request_has_no_seat_counts),
        case!(fair::a_tenant_with_many_requests_does_not_delay_another),
        case!(fair::those_who_wait_are_served_by_turns_as_accounts_come),
        case!(fair::room_in_an_account_serves_its_tenant_whoever_else_waits),
        case!(fair::too_many_waiting_requests_are_refused_until_there_is_room),
        case!(fair::too_many_clusters_are_refused_until_there_is_room),
        case!(fair::too_many_kubeconfig_requests_are_refused_until_there_is_room),
        case!(releases::the_last_cluster_makes_an_account_dirty),
        case!(releases::a_request_holds_its_account_while_its_shoot_lives),
        case!(releases::foreign_shoots_keep_an_account),
        case!(releases::free_while_reusing_never_dirties_a_used_account),
        case!(releases::a_cleaned_account_is_used_again),
        case!(releases::a_cleaned_account_with_a_shoot_is_put_in_quarantine),
        case!(restored::an_account_whose_shoot_is_back_with_its_garden_is_not_dirty),
        case!(releases::a_request_whose_finalizer_was_removed_gives_back),
        case!(releases::refused_credentials_put_an_account_in_quarantine),
        case!(cleanup::a_returned_account_is_emptied_and_claimed_by_another_tenant),
        case!(cleanup::a_plan_deletes_nothing),
        case!(cleanup::an_item_that_no_list_shows_keeps_an_account_dirty),
        case!(cleanup::an_item_that_cannot_be_deleted_is_named),
        case!(cleanup::an_item_that_appears_while_it_settles_keeps_an_account_dirty),
        case!(cleanup::credentials_of_another_account_touch_nothing),
        case!(cleanup::an_account_without_a_recorded_id_is_never_touched),
        case!(cleanup::two_leaders_clean_an_account_once),
        case!(cleanup_identity::an_account_of_a_workload_identity_is_emptied_and_claimed_by_another_tenant)
            .only_on_real(NO_IDENTITIES),
        case!(cleanup_identity::a_workload_identity_whose_role_is_gone_frees_nothing_and_shows_no_token)
            .only_on_real(NO_IDENTITIES),
        case!(cleanup_identity::the_rights_that_a_workload_identity_needs_are_those_of_the_chart)
            .only_on_real(NO_IDENTITIES),
        case!(cleanup_identity::an_account_of_an_internal_secret_is_emptied),
        case!(cleanup_clouds::a_returned_subscription_of_azure_is_emptied_and_handed_on),
        case!(cleanup_clouds::a_returned_project_of_google_is_emptied_and_handed_on),
        case!(cleanup_clouds::a_returned_account_of_alibaba_is_emptied_and_handed_on),
        case!(cleanup_clouds::refused_subscriptions_of_azure_are_stuck_until_the_refusal_is_lifted),
        case!(cleanup_clouds::refused_projects_of_google_are_stuck_until_the_refusal_is_lifted),
        case!(cleanup_clouds::refused_accounts_of_alibaba_are_stuck_until_the_refusal_is_lifted),
        case!(cleanup_clouds::a_subscription_of_a_workload_identity_is_refused_without_trust_and_emptied_with_it)
            .only_on_real(NO_IDENTITIES),
        case!(cleanup_clouds::a_project_of_a_workload_identity_is_refused_without_trust_and_emptied_with_it)
            .only_on_real(NO_IDENTITIES),
        case!(cleanup_kills::a_cleaner_that_is_killed_again_and_again_ends_all_the_same),
        case!(cleanup_kills::credentials_that_are_revoked_in_the_middle_are_told_about),
        case!(cleanup_kills::a_changed_mode_or_keep_list_stops_deletions_under_way),
        case!(cleanup_kills::an_id_is_replaced_on_purpose_only_and_beside_the_right_ledger),
        case!(cleanup_twins::an_account_is_not_emptied_while_another_entry_that_leads_to_it_is_in_use),
        case!(cleanup_twins::entries_that_are_recorded_as_one_account_go_to_one_tenant),
        case!(cleanup_twins::accounts_of_a_used_pool_are_not_taken_in),
        case!(rendering::shoots_of_aws_are_accepted),
        case!(rendering::shoots_of_gcp_are_accepted),
        case!(rendering::shoots_of_azure_are_accepted),
        case!(rendering::shoots_of_openstack_are_accepted),
        case!(rendering::shoots_of_alicloud_are_accepted),
        case!(rendering::shoots_without_zones_are_accepted),
        case!(rendering::whatever_can_be_asked_for_comes_and_goes),
        case!(rendering::what_others_add_to_lists_stays),
        case!(rendering::what_gardener_updates_is_not_taken_back),
        case!(templates::every_field_of_a_shoot_is_decided_about),
        case!(templates::a_tenant_refers_only_to_what_is_allowed_by_name),
        case!(targets::administrators_are_who_the_list_says),
        case!(targets::a_binding_in_the_way_is_told_about),
        case!(targets::one_kubeconfig_serves_all_who_ask),
        case!(targets::stale_access_is_forgotten),
        case!(targets::a_shoot_that_cannot_be_reached_says_why),
        case!(targets::a_cluster_that_was_brought_is_reached),
        case!(targets::a_cluster_that_was_brought_says_nothing_of_our_network),
        case!(targets::admin_kubeconfigs_are_written_nowhere),
        case!(clusters::a_cluster_is_made_changed_and_taken_away),
        case!(accounts::no_shoot_is_made_where_a_credentials_binding_disagrees),
        case!(accounts::no_shoot_is_made_where_a_secret_binding_disagrees),
        case!(accounts::no_shoot_is_made_where_a_secret_disagrees),
        case!(clusters::a_cluster_waits_for_an_account),
        case!(clusters::what_cannot_be_made_is_told_and_takes_nothing),
        case!(clusters::a_missing_shoot_is_made_anew_only_when_asked_for),
        case!(clusters::administrators_come_and_go),
        case!(clusters::issuers_are_rolled_out_with_a_config_map_of_their_own),
        case!(clusters::a_shoot_that_gardener_gave_up_is_retried),
        case!(clusters::a_cluster_that_the_tenant_brings_is_used_and_left_alone),
        case!(adoptions::the_annotation_alone_adopts_nothing),
        case!(adoptions::the_platform_has_a_shoot_adopted),
        case!(adoptions::a_copy_of_the_clusters_own_shoot_is_adopted_too),
        case!(adoptions::what_stands_against_an_adoption_is_told_to_the_platform_only),
        case!(protection::a_protected_cluster_that_is_deleted_keeps_everything_until_it_is_confirmed),
        case!(protection::whoever_may_edit_a_cluster_lifts_its_protection),
        case!(protection::a_released_shoot_keeps_its_account_and_is_adopted),
        case!(protection::a_deleted_namespace_takes_no_protected_shoot),
        case!(protection::a_deleted_definition_takes_no_protected_shoot),
        case!(clusters::a_changed_configuration_is_rolled_out_in_turns),
        case!(clusters::a_request_deleted_by_hand_keeps_its_account_while_the_cluster_lives),
        case!(clusters::a_cluster_whose_finalizer_was_removed_leaves_nothing_behind),
        case!(forged::a_forged_status_takes_no_shoot),
        case!(forged::a_forged_shoot_name_makes_no_second_shoot_and_keeps_none),
        case!(forged::a_forged_status_opens_no_shoot),
        case!(forged::a_forged_owner_and_finalizer_delete_nothing),
        case!(forged::a_config_map_that_somebody_deleted_is_put_back),
        case!(forged::a_cluster_whose_shoot_changed_hands_or_is_gone_is_not_ready),
        case!(forged::a_cluster_that_only_says_that_it_is_ready_is_found),
        case!(access::a_kubeconfig_can_do_what_was_asked_for_and_nothing_else),
        case!(revoking::a_leaked_token_is_ended_after_the_new_one_is_published),
        case!(revoking::a_revocation_goes_on_after_a_restart),
        case!(revoking::what_is_revoked_is_refused_and_can_be_granted_anew),
        case!(revoking::what_is_revoked_or_rotated_in_between_is_not_forgotten),
        case!(access::tokens_are_rotated_in_time_and_no_reader_is_refused),
        case!(access::a_kubeconfig_can_go_into_a_secret),
        case!(access::a_namespace_that_is_not_open_for_secrets_is_told),
        case!(access::policies_bound_what_can_be_had),
        case!(access::what_is_changed_in_the_cluster_is_put_back),
        case!(access::a_changed_request_takes_the_old_rules_away),
        case!(access::old_rules_go_though_the_new_ones_cannot_be_made),
        case!(access::rotated_credentials_of_a_shoot_make_a_new_kubeconfig),
        case!(access::what_is_missing_is_told),
        case!(access::roles_are_bound_to_namespaces),
        case!(access::the_example_is_issued_as_it_is_written),
        case!(minting::a_token_that_cannot_be_published_is_asked_for_once),
        case!(minting::removing_an_optional_field_costs_one_token),
        case!(locks::a_lock_revokes_and_no_annotation_lifts_it),
        case!(locks::a_lock_covers_what_it_names_and_nothing_else),
        case!(locks::a_lock_takes_cluster_admin_back),
        case!(revoking::a_deleted_request_leaves_nothing_behind),
        case!(revoking::what_was_never_granted_is_revoked_at_once),
        case!(revoking::a_grant_is_taken_back_when_its_cluster_is_gone_and_its_shoot_is_not),
        case!(access_kills::whoever_is_killed_leaves_no_grant_behind_and_no_revoked_token_valid),
        case!(brought::a_grant_leaves_a_cluster_that_the_tenant_brought_with_its_cluster),
        case!(ledgers::another_ledger_is_noticed),
        case!(ledgers::a_claim_whose_request_is_gone_is_drained_after_a_rebuild),
        case!(ledgers::an_old_ledger_is_noticed),
        case!(ledgers::an_empty_ledger_beside_a_used_pool_is_made_anew),
        case!(fences::a_database_that_lost_commits_is_noticed_before_the_next_request_is_bound),
        case!(fences::a_standby_that_takes_over_without_the_last_commits_is_noticed),
        case!(fences::an_older_ledger_of_the_same_epoch_is_noticed),
        case!(fences::two_installations_on_copies_of_one_ledger_do_not_both_hand_out),
        case!(fences::a_second_installation_on_the_same_ledger_halts),
        case!(fences::a_fence_that_lost_fields_is_compared_with_the_ledger),
        case!(fences::a_fence_that_cannot_be_written_halts),
        case!(fences::a_removed_fence_halts_whoever_starts_and_whoever_runs),
        case!(fences::an_emptied_fence_halts_and_can_be_made_anew),
        case!(fences::a_label_on_the_fence_stops_nobody),
        case!(fences::a_first_start_takes_over_what_labels_say),
        case!(fences::an_assignment_that_was_lost_is_given_back_where_a_shoot_proves_it),
        case!(ledgers::a_foreign_ledger_is_made_anew),
        case!(ledgers::an_old_ledger_is_made_anew),
        case!(ledgers::a_request_that_only_says_that_it_is_bound_is_corrected),
        case!(ledgers::an_account_that_the_history_knows_goes_to_nobody_else),
        case!(ledgers::a_killed_operator_is_resumed),
        case!(ledgers::two_leaders_at_once_claim_once),
        case!(isolation::a_hostile_tenant_is_refused_with_a_sentence),
        case!(isolation::a_label_of_the_namespace_says_which_tenant_it_has),
    ])
}
