//! What must hold between Clusters of openMCP and their Shoots, where several providers work in the same gardens.

use super::astray::Astray;
use crate::openmcp::instance::Instance;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// What a Cluster asks of its Shoot: the least minor version, and the bounds of its nodes.
type Asked = (u32, (i64, i64));

/// Everything that can be seen of Clusters and Shoots at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estate {
    /// The Clusters, by platform and name.
    pub orders: BTreeMap<String, Order>,
    /// The Shoots, by garden, namespace and name.
    pub plots: BTreeMap<String, Plot>,
    /// Clusters, by UID, with the generations that a Shoot was once like, working and healthy.
    pub fitted: BTreeSet<(String, i64)>,
    /// The minor version and the nodes of the Shoots of Clusters, by the UID of these, when they last worked.
    pub well: BTreeMap<String, (u32, i64)>,
    /// What the Clusters, by UID, asked for last, and in which generation.
    pub asked: BTreeMap<String, (i64, Asked)>,
    /// Every Shoot that a provider ever made, by UID, with the UID of its Cluster.
    pub made: BTreeMap<String, String>,
    /// Clusters, by UID, that somebody tore away from their finalizers: nobody can see to what is left of them.
    pub torn: BTreeSet<String>,
    /// Clusters, by UID, for which somebody allowed a new Shoot in the place of a missing one.
    pub forced: BTreeSet<String>,
}

/// A Cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    /// Which.
    pub uid: String,
    /// Of its spec.
    pub generation: i64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has a provider's finalizer.
    pub held: bool,
    /// The provider whose profile it names, if there can be one.
    pub owner: Option<Instance>,
    /// How far it is, as its status says.
    pub phase: String,
    /// The generation that its status is about.
    pub observed: i64,
    /// The Shoot that its status names.
    pub shoot: Option<String>,
    /// All that its provider has written there.
    pub told: String,
    /// The least minor version of Kubernetes that it asks for.
    pub minor: u32,
    /// The most nodes that it asks for; none: what it names is not there.
    pub nodes: Option<i64>,
    /// Between what these are whatever its ProviderConfig and its ClusterConfigs say at a moment: a cache may not know yet.
    pub bounds: (i64, i64),
}

/// A Shoot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Which.
    pub uid: String,
    /// The provider that its labels name.
    pub owner: Option<Instance>,
    /// The UID of the Cluster that its labels name.
    pub cluster: Option<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether Gardener has done what this generation says, all its conditions hold, and there is an address.
    pub ready: bool,
    /// Whether Gardener has given up.
    pub given_up: bool,
    /// The minor version of Kubernetes.
    pub minor: u32,
    /// The most nodes.
    pub nodes: i64,
    /// Whether somebody else made it, whatever its labels say.
    pub forged: bool,
}

impl Estate {
    /// What must hold at any moment.
    pub fn violations(&self) -> Vec<Astray> {
        let mut first: BTreeMap<&String, &String> = BTreeMap::new();
        let mut found = Vec::new();
        for (name, plot) in self.plots.iter().filter(|(_, plot)| !plot.forged) {
            let Some(cluster) = &plot.cluster else { continue };
            if let Some(other) = first.insert(cluster, name) {
                found.push(Astray::TwoShoots(self.name_of(cluster), other.clone(), name.clone()));
            }
        }
        found
    }

    /// Remembers which generations of Clusters have a Shoot that is like that. To be called after every write of anybody.
    pub fn note_fitted(&mut self) {
        for order in self.orders.values() {
            let own = self.plots.values().filter(|plot| plot.cluster.as_ref() == Some(&order.uid));
            for plot in own.filter(|plot| plot.ready && !plot.deleting) {
                self.well.insert(order.uid.clone(), (plot.minor, plot.nodes));
            }
            // Whoever reads may see the Shoot from before, which was well, though it is not at this moment. And what is no change
            // to the Shoot needs no other Shoot.
            let fits = self.well.get(&order.uid).is_some_and(|(minor, nodes)| order.allows(*minor, *nodes));
            let asks = (order.minor, order.bounds);
            let before = self.asked.insert(order.uid.clone(), (order.generation, asks));
            let fitted = before.is_some_and(|(generation, asked)| {
                asked == asks && self.fitted.contains(&(order.uid.clone(), generation))
            });
            if fits || fitted {
                self.fitted.insert((order.uid.clone(), order.generation));
            }
        }
    }

    /// What is wrong with a write of a provider to a Shoot. It is remembered what was made.
    pub fn shoot_write(
        &mut self,
        by: &Instance,
        name: &str,
        before: Option<&Plot>,
        after: Option<&Plot>,
    ) -> Vec<Astray> {
        let mut found = Vec::new();
        let is_anothers = |plot: &Plot| plot.owner.as_ref() != Some(by);
        if before.is_some_and(is_anothers) || after.is_some_and(is_anothers) {
            found.push(Astray::WroteAnothers(who(by), format!("Shoot {name}")));
        }
        match (before, after) {
            (None, Some(after)) => found.extend(self.created(name, after)),
            (Some(before), _) => {
                let goes = !before.deleting && after.is_none_or(|after| after.deleting);
                let cluster = before.cluster.clone().unwrap_or_default();
                let wanted = self.orders.iter().find(|(_, order)| order.uid == cluster && !order.deleting);
                if let Some((order, _)) = wanted.filter(|_| goes) {
                    found.push(Astray::DeletedWhileWanted(name.to_owned(), order.clone()));
                }
            }
            (None, None) => (),
        }
        found
    }

    /// A Shoot is made once, and again only if somebody says so.
    fn created(&mut self, name: &str, plot: &Plot) -> Option<Astray> {
        let cluster = plot.cluster.clone().unwrap_or_default();
        self.made.insert(plot.uid.clone(), cluster.clone());
        self.well.remove(&cluster);
        if self.torn.contains(&cluster) {
            return None;
        }
        let Some((name_of_order, order)) = self.orders.iter().find(|(_, order)| order.uid == cluster) else {
            return Some(Astray::MadeForNobody(name.to_owned()));
        };
        let is_allowed = self.forced.remove(&cluster);
        // One that goes before the status ever named it has lost nothing.
        (order.shoot.is_some() && !is_allowed)
            .then(|| Astray::MadeAgain(name.to_owned(), name_of_order.clone()))
    }

    /// What is wrong with a write of somebody's process to a Cluster.
    pub fn cluster_write(
        &self,
        by: &Instance,
        name: &str,
        before: Option<&Order>,
        after: Option<&Order>,
    ) -> Vec<Astray> {
        let mut found = Vec::new();
        // One that is made is the scheduler's, and nobody's before.
        let Some(before) = before else { return found };
        let is_told = |after: &Order| after.told != before.told || after.held != before.held;
        if after.is_none_or(is_told) && before.owner.as_ref() != Some(by) && (before.held || after.is_some())
        {
            found.push(Astray::WroteAnothers(who(by), name.to_owned()));
        }
        let is_let_go = before.held && after.is_none_or(|after| !after.held || after.uid != before.uid);
        if is_let_go {
            let own =
                |(_, plot): &(&String, &Plot)| !plot.forged && plot.cluster.as_ref() == Some(&before.uid);
            found.extend(
                self.plots
                    .iter()
                    .filter(own)
                    .map(|(shoot, _)| Astray::LetGoTooEarly(name.to_owned(), format!("Shoot {shoot}"))),
            );
        }
        let Some(after) = after else { return found };
        let is_news = before.phase != after.phase || before.observed != after.observed;
        if after.phase == "Ready" && is_news && !self.fitted.contains(&(after.uid.clone(), after.observed)) {
            found.push(Astray::ReadyTooEarly(name.to_owned()));
        }
        if let Some(shoot) = after.shoot.as_ref().filter(|shoot| before.shoot.as_ref() != Some(*shoot))
            && self.made.get(shoot) != Some(&after.uid)
        {
            found.push(Astray::TookOver(name.to_owned(), shoot.clone()));
        }
        found
    }

    /// What must hold too when nothing is left to do. `serves` says whether a provider is there.
    pub fn at_rest(&self, serves: impl Fn(&Instance) -> bool) -> Vec<Astray> {
        let mut found = self.violations();
        for (name, order) in &self.orders {
            found.extend(self.unsettled(name, order, order.owner.as_ref().is_some_and(&serves)));
        }
        let is_there = |uid: &String| self.orders.values().any(|order| order.uid == *uid);
        for (name, plot) in self.plots.iter().filter(|(_, plot)| plot.owner.is_some()) {
            if !plot.cluster.as_ref().is_some_and(is_there) {
                found.push(Astray::LeftBehind(format!("Shoot {name}")));
            }
        }
        found
    }

    fn unsettled(&self, name: &str, order: &Order, is_served: bool) -> Option<Astray> {
        let unanswered = |why: &str| Some(Astray::Unanswered(name.to_owned(), why.to_owned()));
        if order.deleting {
            return Some(Astray::NeverGone(name.to_owned()));
        }
        if !is_served {
            return if order.held { unanswered("it is held by nobody") } else { None };
        }
        if order.phase != "Ready" || order.observed != order.generation {
            return unanswered(&format!("it is {:?}", order.phase));
        }
        let is_own = |plot: &&Plot| order.shoot.as_ref() == Some(&plot.uid);
        match self.plots.values().find(is_own) {
            Some(plot) if plot.fits(order) && plot.cluster.as_ref() == Some(&order.uid) => None,
            Some(_) => unanswered("its Shoot is not as it should be"),
            None => unanswered("its Shoot is not there"),
        }
    }

    fn name_of(&self, uid: &str) -> String {
        let found = self.orders.iter().find(|(_, order)| order.uid == uid);
        found.map_or_else(|| format!("a Cluster with UID {uid}"), |(name, _)| name.clone())
    }
}

impl Plot {
    /// Whether it is what is asked for, works and is healthy.
    fn fits(&self, order: &Order) -> bool {
        let works = self.ready && !self.deleting;
        works && order.allows(self.minor, self.nodes) && Some(self.nodes) == order.nodes
    }
}

impl Order {
    /// Whether a Shoot may be like that, as far as the Cluster itself says it.
    fn allows(&self, minor: u32, nodes: i64) -> bool {
        let (least, most) = self.bounds;
        minor >= self.minor && (least..=most).contains(&nodes)
    }
}

/// How people call a provider.
pub fn who(instance: &Instance) -> String {
    format!("{}/{}", instance.environment, instance.provider)
}
