//! Lists and relists of the kinds that the index follows.

use super::{ClusterName, Followed, Index, Task};
use crate::runtime::{keep, kept::Progress};
use kube::api::ObjectMeta;

impl keep::Index for Index {
    type Followed = Followed;
    type Task = Task;

    fn is_complete(&self) -> bool {
        self.clusters.is_listed()
            && self.requests.is_listed()
            && self.shoots.is_listed()
            && self.profiles.is_listed()
            && self.adoptions.is_listed()
            && (!self.follows_namespaced || self.namespaced_profiles.is_listed())
            && self.locks.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Clusters => &mut self.clusters,
            Followed::Requests => &mut self.requests,
            Followed::Shoots => &mut self.shoots,
            Followed::Profiles => &mut self.profiles,
            Followed::NamespacedProfiles => &mut self.namespaced_profiles,
            Followed::Locks => self.locks.progress(),
            Followed::Adoptions => &mut self.adoptions,
        }
    }

    fn returned(&mut self, what: Followed, metadata: &ObjectMeta) {
        if matches!(what, Followed::Clusters) {
            self.returned.insert(ClusterName::of(metadata));
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<Task> {
        match what {
            Followed::Clusters => {
                let gone = self.clusters.missing().into_iter();
                gone.flat_map(|name| self.forget_cluster(&name)).collect()
            }
            Followed::Requests => {
                let gone = self.requests.missing().into_iter();
                gone.flat_map(|name| self.forget_request(&name)).collect()
            }
            Followed::Shoots => {
                let gone = self.shoots.missing().into_iter();
                gone.flat_map(|name| self.forget_shoot(&name)).collect()
            }
            Followed::Adoptions => {
                let gone = self.adoptions.missing().into_iter();
                gone.flat_map(|name| self.forget_adoption(&name)).collect()
            }
            Followed::Profiles => {
                self.profiles.missing().iter().for_each(|name| drop(self.profiles.remove(name)));
                self.all_clusters()
            }
            Followed::NamespacedProfiles => {
                let gone = self.namespaced_profiles.missing();
                gone.iter().for_each(|name| drop(self.namespaced_profiles.remove(name)));
                self.all_clusters()
            }
            Followed::Locks => {
                if self.locks.listed() {
                    self.all_clusters()
                } else {
                    Vec::new()
                }
            }
        }
    }
}
