//! What must hold between Clusters, their requests and their Shoots, at any moment and at rest.

use super::wrong::Wrong;
use crate::pool::{AccountName, RequestUid};
use allotment_api::kyma::{ClusterPhase, SubscriptionPhase};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Everything that can be seen of Clusters at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The Clusters, by name.
    pub clusters: BTreeMap<String, Wish>,
    /// The Shoots that have to do with them, by name.
    pub shoots: BTreeMap<String, Stand>,
    /// Their requests.
    pub requests: BTreeMap<RequestUid, Owned>,
    /// ConfigMaps in the garden that belong to a Cluster, by name, with its UID.
    pub maps: BTreeMap<String, String>,
    /// Clusters, by UID, with the generations that a Shoot was once like, working and healthy.
    pub fitted: BTreeSet<(String, i64)>,
    /// Requests that were ever there, with the UID of the Cluster: somebody may tear one away between a decision and a write.
    pub owners: BTreeMap<RequestUid, String>,
    /// Clusters, by UID, whose finalizers somebody took off.
    pub torn: BTreeSet<String>,
    /// Requested features of each Cluster, by UID and generation. Generations before the observed one are dropped.
    pub asked: BTreeMap<String, BTreeMap<i64, Features>>,
}

/// A Cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// Which.
    pub uid: String,
    /// Of its spec.
    pub generation: i64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has our finalizer.
    pub held: bool,
    /// Whether it is protected from deletion, and nobody has confirmed that it goes.
    pub protected: bool,
    /// Whether a person asked us to leave it alone.
    pub paused: bool,
    /// Whether somebody allowed us to make a new Shoot in the place of a missing one.
    pub may_recreate: bool,
    /// The Shoot that somebody told us to take over.
    pub may_adopt: Option<String>,
    /// The name that its Shoot has, or would have.
    pub shoot_name: String,
    /// The Shoot that its status names.
    pub shoot_uid: Option<String>,
    /// How far it is, as its status says.
    pub phase: Option<ClusterPhase>,
    /// Why.
    pub reason: String,
    /// The generation that its status is about.
    pub observed: Option<i64>,
    /// What it asks for.
    pub asks: Features,
    /// Whether what it asks for can be had at all.
    pub is_valid: bool,
    /// Whether its selector and its label name different tenants.
    pub names_two_tenants: bool,
    /// Whether it names two tenants, or one that is not its namespace's: a Shoot keeps the issuers and administrators that it has then, and
    /// gets no others.
    pub is_withheld: bool,
}

/// What can be asked for, and what a Shoot has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Machine type, fewest and most nodes of a pool, by its name.
    pub pools: BTreeMap<String, (String, i32, i32)>,
    /// Those who may log in: the clients of issuers.
    pub clients: BTreeSet<String>,
    /// Users with cluster-admin.
    pub administrators: BTreeSet<String>,
    /// What the configuration says.
    pub disk: String,
}

/// A Shoot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stand {
    /// Which.
    pub uid: String,
    /// The request that its label names.
    pub request: Option<RequestUid>,
    /// The Cluster that its label names, by UID.
    pub cluster: Option<String>,
    /// The account it is in.
    pub account: Option<AccountName>,
    /// The version of Kubernetes.
    pub version: Vec<u32>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// How far Gardener is.
    pub stage: Stage,
    /// Whether all of Gardener's conditions hold.
    pub healthy: bool,
    /// What it has.
    pub has: Features,
    /// Whether somebody else made it, whatever its labels say.
    pub forged: bool,
}

/// How far Gardener is with a Shoot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It works on it, or has not begun.
    #[default]
    Working,
    /// It is as its spec says.
    Done,
    /// It has given up.
    GivenUp,
}

/// A request that a Cluster made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// Its name.
    pub name: String,
    /// The UID of the Cluster.
    pub owner: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// How far it is.
    pub phase: Option<SubscriptionPhase>,
    /// The account that it got.
    pub account: Option<AccountName>,
}

impl Fleet {
    /// What must hold at any moment.
    pub fn violations(&self) -> Vec<Wrong> {
        let mut first: BTreeMap<&RequestUid, &String> = BTreeMap::new();
        let mut found = Vec::new();
        for (name, stand) in self.shoots.iter().filter(|(_, stand)| !stand.forged) {
            let Some(request) = &stand.request else { continue };
            if let Some(other) = first.insert(request, name) {
                found.push(Wrong::TwoShoots(request.clone(), other.clone(), name.clone()));
            }
        }
        found
    }

    /// Remembers whose requests there are, and which generations of Clusters have a Shoot that is like that. To be called after every
    /// write of anybody.
    pub fn remember(&mut self) {
        for (uid, owned) in &self.requests {
            if !self.owners.contains_key(uid) {
                self.owners.insert(uid.clone(), owned.owner.clone());
            }
        }
        for wish in self.clusters.values() {
            let asked = self.asked.entry(wish.uid.clone()).or_default();
            let is_fitted = |generation: i64| self.fitted.contains(&(wish.uid.clone(), generation));
            // What is no change to the Shoot, like administrators, needs no other Shoot: whoever reads may see the one from
            // before, which was well, though it is not at this moment.
            let before = asked.range(..wish.generation).next_back();
            let is_same = before.is_some_and(|(generation, before)| {
                before.is_same_shoot(&wish.asks) && is_fitted(*generation)
            });
            asked.retain(|generation, _| Some(*generation) >= wish.observed);
            asked.insert(wish.generation, wish.asks.clone());
            let stand = self.shoots.get(&wish.shoot_name);
            // Whoever reports may have read a generation that was replaced meanwhile: it is reported by its number.
            let fits = |asks: &Features| {
                stand.is_some_and(|stand| stand.fits(&Wish { asks: asks.clone(), ..wish.clone() }))
            };
            let unfitted = asked.iter().filter(|(generation, _)| !is_fitted(**generation));
            let now: Vec<i64> = unfitted
                .filter(|(generation, asks)| (**generation == wish.generation && is_same) || fits(asks))
                .map(|(generation, _)| *generation)
                .collect();
            self.fitted.extend(now.into_iter().map(|generation| (wish.uid.clone(), generation)));
        }
    }

    /// What is wrong with a write of ours to a Shoot.
    pub fn shoot_write(&self, name: &str, before: Option<&Stand>, after: Option<&Stand>) -> Vec<Wrong> {
        let wish = self.clusters.iter().find(|(_, wish)| wish.shoot_name == name);
        match (before, after) {
            (Some(before), Some(after)) if before.uid == after.uid => self.changed(name, wish, before, after),
            (Some(before), None) => self.deleted(name, wish, before),
            (None, Some(after)) => self.created(name, wish, after),
            _ => Vec::new(),
        }
    }

    fn changed(
        &self,
        name: &str,
        wish: Option<(&String, &Wish)>,
        before: &Stand,
        after: &Stand,
    ) -> Vec<Wrong> {
        let shoot = || name.to_owned();
        if !before.deleting && after.deleting {
            return self.deleted(name, wish, before);
        }
        let mut found = Vec::new();
        // What belongs to nobody any more cannot be told; it is deleted, or nothing.
        if let Some((_, wish)) = wish
            && !self.may_write(wish, before)
        {
            found.push(Wrong::WroteAnothers(shoot(), before.uid.clone()));
        }
        if let (Some(old), Some(new)) = (&before.account, &after.account)
            && old != new
        {
            found.push(Wrong::Moved(shoot(), old.clone(), new.clone()));
        }
        if after.version < before.version {
            found.push(Wrong::TakenDown(shoot()));
        }
        found
    }

    /// A Shoot goes only with its Cluster.
    fn deleted(&self, name: &str, wish: Option<(&String, &Wish)>, before: &Stand) -> Vec<Wrong> {
        let shoot = || name.to_owned();
        match wish {
            Some((cluster, wish)) if !wish.deleting => {
                vec![Wrong::DeletedWhileWanted(shoot(), cluster.clone())]
            }
            Some((cluster, wish)) if wish.protected => {
                vec![Wrong::DeletedWhileProtected(shoot(), cluster.clone())]
            }
            Some((_, wish)) if !self.may_write(wish, before) => {
                vec![Wrong::WroteAnothers(shoot(), before.uid.clone())]
            }
            _ => Vec::new(),
        }
    }

    /// A Shoot is made once, and again only if somebody says so. Where somebody took the finalizer off the Cluster meanwhile,
    /// its request has to be there still: it keeps the account.
    fn created(&self, name: &str, wish: Option<(&String, &Wish)>, after: &Stand) -> Vec<Wrong> {
        let is_held = after.request.as_ref().is_some_and(|request| self.requests.contains_key(request));
        let owner = after.request.as_ref().and_then(|request| self.owners.get(request));
        let is_torn = owner.is_some_and(|owner| self.torn.contains(owner));
        match wish {
            None if is_held || is_torn => Vec::new(),
            None => vec![Wrong::MadeForNobody(name.to_owned())],
            Some((cluster, wish)) if wish.shoot_uid.is_some() && !wish.may_recreate => {
                vec![Wrong::MadeAgain(name.to_owned(), cluster.clone())]
            }
            Some(_) => Vec::new(),
        }
    }

    fn may_write(&self, wish: &Wish, shoot: &Stand) -> bool {
        let owner = shoot.request.as_ref().and_then(|request| self.owners.get(request));
        // What the status says proves nothing: it only makes a Shoot that came back under another UID somebody else's.
        let is_marked = shoot.cluster.as_ref().or(owner) == Some(&wish.uid);
        let is_expected = wish.shoot_uid.as_ref().is_none_or(|uid| *uid == shoot.uid) || wish.may_recreate;
        // What somebody else made goes with the Cluster, if it has its mark, and is nobody's before.
        let may_take = wish.deleting || (!shoot.forged && is_expected);
        wish.may_adopt.as_ref() == Some(&shoot.uid) || (is_marked && may_take)
    }

    /// What is wrong with a write of ours to a Cluster.
    pub fn cluster_write(&self, name: &str, before: &Wish, after: Option<&Wish>) -> Vec<Wrong> {
        let mut found = Vec::new();
        let is_let_go = before.held && after.is_none_or(|after| !after.held || after.uid != before.uid);
        if is_let_go {
            let own = self.requests.iter().filter(|(_, owned)| owned.owner == before.uid);
            let own: Vec<&RequestUid> = own.map(|(uid, _)| uid).collect();
            for (shoot, stand) in self.shoots.iter().filter(|(_, stand)| !stand.forged) {
                let is_own = before.shoot_uid.as_ref() == Some(&stand.uid)
                    || stand.request.as_ref().is_some_and(|request| own.contains(&request));
                if is_own {
                    found.push(Wrong::LetGoTooEarly(name.to_owned(), format!("Shoot {shoot}")));
                }
            }
            found.extend(
                own.iter().map(|uid| Wrong::LetGoTooEarly(name.to_owned(), format!("request {uid}"))),
            );
        }
        if let Some(after) = after
            && after.phase == Some(ClusterPhase::Ready)
            && (before.phase != after.phase || before.observed != after.observed)
            && !self.fitted.contains(&(after.uid.clone(), after.observed.unwrap_or_default()))
        {
            found.push(Wrong::ReadyTooEarly(name.to_owned()));
        }
        found
    }

    /// What must hold too when nothing is left to do.
    pub fn at_rest(&self) -> Vec<Wrong> {
        let mut found = self.violations();
        for (name, wish) in &self.clusters {
            found.extend(self.unsettled(name, wish));
        }
        found.extend(self.left_behind());
        found
    }

    fn unsettled(&self, name: &str, wish: &Wish) -> Option<Wrong> {
        if wish.deleting {
            return Some(Wrong::NeverGone(name.to_owned()));
        }
        let stand = self.shoots.get(&wish.shoot_name);
        let own = stand.filter(|stand| wish.shoot_uid.as_ref() == Some(&stand.uid));
        let request = self.requests.values().find(|owned| owned.owner == wish.uid);
        let has_phase = |phase| request.is_some_and(|request| request.phase == Some(phase));
        let is_true = match (wish.phase, wish.reason.as_str()) {
            (Some(ClusterPhase::Ready), _) => own.is_some_and(|own| {
                let (has, asks) = (&own.has.administrators, &wish.asks.administrators);
                let has_administrators = if wish.is_withheld { has.is_subset(asks) } else { has == asks };
                own.fits(wish) && has_administrators && own.has.disk == wish.asks.disk
            }),
            (Some(ClusterPhase::Failed), "ShootMissing") => own.is_none() && wish.shoot_uid.is_some(),
            (Some(ClusterPhase::Failed), "ShootTaken") => own.is_none() && stand.is_some(),
            (Some(ClusterPhase::Failed), "ShootFailed") => own.is_some_and(|own| own.stage == Stage::GivenUp),
            (Some(ClusterPhase::Failed), "OtherAccount") => {
                let got = request.and_then(|request| request.account.as_ref());
                own.is_some_and(|own| own.account.as_ref() != got)
            }
            (Some(ClusterPhase::Failed), "NoAccount") => request.is_some_and(|request| request.deleting),
            (Some(ClusterPhase::Invalid), "NoAccount") => has_phase(SubscriptionPhase::Denied),
            (Some(ClusterPhase::Invalid), "Invalid") => !wish.is_valid,
            (Some(ClusterPhase::Invalid), "TenantsDiffer") => wish.names_two_tenants,
            (Some(ClusterPhase::Waiting), _) => has_phase(SubscriptionPhase::Waiting),
            _ => false,
        };
        let is_told = is_true && wish.observed == Some(wish.generation);
        (!is_told).then(|| Wrong::Untrue(name.to_owned(), wish.phase, wish.reason.clone()))
    }

    fn left_behind(&self) -> Vec<Wrong> {
        let is_there = |owner: &String| self.clusters.values().any(|wish| wish.uid == *owner);
        let mut found = Vec::new();
        for owned in self.requests.values().filter(|owned| !is_there(&owned.owner)) {
            found.push(Wrong::LeftBehind(format!("request {}", owned.name)));
        }
        for (name, stand) in self.shoots.iter().filter(|(_, stand)| stand.request.is_some()) {
            let is_of = |wish: &Wish| wish.shoot_uid.as_ref() == Some(&stand.uid) || wish.shoot_name == *name;
            if !self.clusters.values().any(is_of) {
                found.push(Wrong::LeftBehind(format!("Shoot {name}")));
            }
        }
        for (name, owner) in &self.maps {
            if !is_there(owner) {
                found.push(Wrong::LeftBehind(format!("ConfigMap {name}")));
            }
        }
        found
    }
}

impl Stand {
    /// Whether it is what is asked for, works and is healthy.
    fn fits(&self, wish: &Wish) -> bool {
        let is_like_that = match wish.is_withheld {
            true => self.has.pools == wish.asks.pools,
            false => self.has.is_same_shoot(&wish.asks),
        };
        self.stage == Stage::Done && self.healthy && !self.deleting && is_like_that
    }
}

impl Features {
    /// Whether a Shoot for the one is right for the other.
    fn is_same_shoot(&self, other: &Self) -> bool {
        self.pools == other.pools && self.clients == other.clients
    }
}
