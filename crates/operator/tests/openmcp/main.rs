//! What the controllers of the ClusterProvider do on API servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod access;
mod access_ends;
mod access_kills;
mod configs;
mod desk;
mod foreign;
mod gardens;
mod generic;
mod lives;
mod minting;
mod oidc;
mod platform;
mod scheduler;
mod takeover;
mod whole;

use allotment_testing::{case, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        case!(configs::a_config_is_offered_and_withdrawn),
        case!(configs::g10_g21_a_kubeconfig_that_is_refused_says_why_and_a_changed_secret_is_noticed),
        case!(configs::g9_a_garden_that_hangs_holds_up_no_other),
        case!(configs::g8_a_restart_beside_a_garden_that_is_away_takes_nothing_back),
        case!(configs::g12_g22_deletion_waits_for_who_refers_and_goes_on_by_itself),
        case!(configs::g13_a_profile_that_is_gone_is_in_nobodys_way),
        case!(configs::a_project_can_have_a_cloud_profile_of_its_own)
            .only_on_real("the embedded garden has no NamespacedCloudProfiles"),
        case!(configs::g14_g15_profiles_follow_their_cloud_profile),
        case!(foreign::a_cluster_config_of_a_tenant_does_not_choose_the_account),
        case!(foreign::no_shoot_is_made_in_an_account_that_is_not_for_it),
        case!(foreign::references_into_another_namespace_are_denied_until_they_are_allowed),
        case!(foreign::a_cluster_that_the_scheduler_gave_away_needs_no_permission),
        case!(lives::g1_a_cluster_lives_from_its_profile_to_its_end),
        case!(lives::g2_g3_g24_what_is_asked_for_comes_once_and_goes),
        case!(lives::g5_g19_environments_and_providers_do_not_touch_each_other),
        case!(lives::g12_what_is_torn_away_by_force_does_not_keep_a_cluster),
        case!(lives::g16_g18_what_gardener_says_of_a_shoot_is_told),
        case!(lives::g17_a_deletion_ends_whatever_became_of_the_shoot),
        case!(lives::x1_finalizers_of_others_are_never_lost_and_are_waited_for),
        case!(lives::two_leaders_at_once_make_each_shoot_once_and_leave_none),
        case!(lives::people_can_have_it_left_alone_or_looked_at),
        case!(access::a_kubeconfig_works_and_is_limited),
        case!(access::changed_permissions_take_the_old_ones_away),
        case!(access::what_is_changed_behind_our_back_is_put_back),
        case!(access::what_can_never_be_granted_is_denied_and_taken_back),
        case!(access::a_name_that_somebody_else_has_is_told_and_left_alone),
        case!(access::g6_two_environments_and_two_providers_never_touch_each_other),
        case!(access::g7_a_token_is_renewed_in_time_and_granted_while_it_is_valid),
        case!(access::g8_a_restart_changes_nothing),
        case!(access::g11_a_lost_reference_to_the_secret_is_written_again),
        case!(access::g20_names_that_are_too_long_for_a_label_are_no_trouble),
        case!(access::g23_a_request_is_granted_as_soon_as_its_cluster_is_ready),
        case!(minting::a_token_whose_secret_cannot_be_written_is_asked_for_once),
        case!(minting::a_secret_that_somebody_deletes_again_and_again_costs_a_few_tokens),
        case!(minting::whoever_takes_over_with_old_news_of_secrets_asks_for_no_second_token),
        case!(access_ends::a_deleted_request_leaves_nothing_behind),
        case!(access_ends::a_request_inherits_nothing_from_one_that_was_torn_away),
        case!(access_ends::g4_a_request_ends_when_its_cluster_is_gone),
        case!(access_ends::g4_a_request_ends_though_its_cluster_is_anothers_now),
        case!(access_ends::a_request_that_nothing_names_ends_beside_a_cluster_that_nobody_offers),
        case!(access_ends::g4_a_request_ends_when_its_shoot_is_gone),
        case!(access_ends::a_request_whose_time_is_over_leaves_nothing_behind),
        case!(access_ends::a_token_is_in_its_secret_and_nowhere_else),
        case!(access_ends::a_lock_takes_access_back_and_its_end_grants_it_again),
        case!(access_kills::whoever_is_killed_leaves_nothing_behind),
        case!(takeover::what_upstreams_provider_granted_is_gone_on_with),
        case!(takeover::what_upstreams_provider_granted_ends_with_its_request),
        case!(oidc::a_login_is_denied_where_the_cluster_cannot_do_it_and_granted_where_it_can),
        case!(generic::o9_what_is_missing_is_told_and_what_comes_is_noticed_at_once),
        case!(generic::o8_labels_that_were_there_are_verified),
        case!(generic::a_request_is_deleted_when_its_time_is_over),
        case!(generic::g20_a_profile_whose_name_is_too_long_for_a_label_is_handed_over),
        case!(generic::annotations_are_obeyed_and_a_denial_of_the_provider_stays),
        case!(generic::the_examples_are_accepted_and_handed_over),
        case!(scheduler::an_exclusive_cluster_comes_and_goes_with_its_request),
        case!(scheduler::o1_o2_what_a_request_brings_reaches_its_cluster_and_no_other),
        case!(scheduler::o3_a_name_that_is_taken_is_waited_for),
        case!(scheduler::o4_shared_clusters_are_filled_up_to_their_limit),
        case!(scheduler::o5_a_request_waits_for_the_deletion_of_its_cluster),
        case!(scheduler::o9_an_unknown_purpose_is_denied),
        case!(scheduler::x1_finalizers_of_others_are_never_lost),
        case!(scheduler::a_cluster_that_is_gone_is_made_anew),
        case!(whole::a_request_becomes_a_cluster_and_a_kubeconfig_and_all_of_it_goes),
        case!(whole::everything_goes_in_the_wrong_order_too),
    ])
}
