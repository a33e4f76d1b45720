//! Which zones a worker pool is in. Zones can be added to a live pool and never taken away: the clouds' own validation
//! refuses that.

use super::{
    facts::{has_machine, has_volume},
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::{gardener::Zone, kyma::Provider};

/// What a pool asks of zones.
pub(super) struct Ask<'a> {
    /// Where the pool stands in the Cluster, such as `spec.infrastructure`.
    pub field: &'a str,
    pub machine: &'a str,
    pub volume: Option<&'a str>,
    /// The zones that the Cluster names.
    pub named: Option<&'a [String]>,
    /// The zones that the pool is in.
    pub live: &'a [String],
}

impl Ask<'_> {
    fn fits(&self, zone: &Zone) -> bool {
        has_machine(zone, self.machine) && has_volume(zone, self.volume)
    }

    /// Where the pool is, it has to stay, and whatever it asks for must be there.
    fn check_live(&self, scene: &Scene<'_>) -> Result<(), Problem> {
        let zones: Vec<&Zone> =
            scene.region.zones.iter().filter(|zone| self.live.contains(&zone.name)).collect();
        let Some(zone) = zones.iter().find(|zone| !self.fits(zone)) else { return Ok(()) };
        let (field, name) = (self.field, &zone.name);
        if has_machine(zone, self.machine) {
            let what = format!(
                "{} is not to be had in zone {name}, where the pool has nodes",
                self.volume.unwrap_or("")
            );
            return Err(Problem::new(format!("{field}.volume.type"), what));
        }
        let what = format!("{} is not to be had in zone {name}, where the pool has nodes", self.machine);
        Err(Problem::new(format!("{field}.machineType"), what).allowed(scene.facts.machines_in(&zones)))
    }

    /// The zones that the Cluster names, after those where the pool is.
    fn check_named(&self, scene: &Scene<'_>, named: &[String]) -> Result<Vec<String>, Problem> {
        let field = format!("{}.zones", self.field);
        if let Some(left) = self.live.iter().find(|zone| !named.contains(zone)) {
            let what = format!("the pool is in zone {left}, and zones cannot be taken away from it");
            return Err(Problem::new(field, what).allowed([self.live.join(" + ")]));
        }
        let new: Vec<String> = named.iter().filter(|zone| !self.live.contains(zone)).cloned().collect();
        let fitting = scene.region.zones.iter().filter(|zone| self.fits(zone)).map(|zone| &zone.name);
        for name in &new {
            if !scene.region.zones.iter().any(|zone| zone.name == *name) {
                let what = format!("region {} has no zone {name:?}", scene.region.name);
                return Err(Problem::new(field, what).allowed(fitting));
            }
            if !fitting.clone().any(|fitting| fitting == name) {
                let what = format!("zone {name} does not have {}", self.machine);
                return Err(Problem::new(field, what).allowed(fitting));
            }
        }
        Ok(self.live.iter().cloned().chain(new).collect())
    }
}

/// The zones of the first pool: those where it is, and as many more as it takes of those that have the machine type.
/// `others` are machine types of pools that go where the first one goes: zones with them are taken first.
pub(super) fn of_first_pool(
    scene: &Scene<'_>,
    ask: &Ask<'_>,
    number: usize,
    others: &[&str],
    findings: &mut Findings,
) -> Option<Vec<String>> {
    findings.take(first(scene, ask, number, others))
}

fn first(scene: &Scene<'_>, ask: &Ask<'_>, number: usize, others: &[&str]) -> Result<Vec<String>, Problem> {
    let (live, region) = (ask.live, scene.region);
    let field = "spec.infrastructure.numberOfZones";
    if region.zones.is_empty() && scene.provider == Provider::Azure {
        return match number {
            1 if ask.named.is_none() => Ok(live.to_vec()),
            _ => Err(Problem::new(field, format!("region {} has no zones", region.name)).allowed([1])),
        };
    }
    ask.check_live(scene)?;
    let fitting: Vec<&Zone> = region.zones.iter().filter(|zone| ask.fits(zone)).collect();
    if fitting.is_empty() && live.is_empty() {
        let what = format!("no zone of region {} has {}", region.name, ask.machine);
        let somewhere = region.zones.iter().flat_map(|zone| scene.facts.machines_in(&[zone]));
        let somewhere: std::collections::BTreeSet<&str> = somewhere.collect();
        return Err(Problem::new("spec.infrastructure.machineType", what).allowed(somewhere));
    }
    if let Some(named) = ask.named {
        return ask.check_named(scene, named);
    }
    let most = live.len() + fitting.iter().filter(|zone| !live.contains(&zone.name)).count();
    if number < live.len() {
        let what = format!("the cluster is in {} zones, and zones cannot be taken away from it", live.len());
        return Err(Problem::new(field, what).allowed(live.len()..=most));
    }
    if number > most {
        let what = format!(
            "region {} has {most} zones with {}, and {number} are asked for",
            region.name, ask.machine
        );
        return Err(Problem::new(field, what).allowed(live.len().max(1)..=most));
    }
    let mut new = spread(scene, &fitting, live, others);
    new.truncate(number - live.len());
    let in_order = region.zones.iter().filter(|zone| new.contains(&zone.name.as_str()));
    Ok(live.iter().cloned().chain(in_order.map(|zone| zone.name.clone())).collect())
}

/// The zones that could be added, the best first: with all machine types, then from a place that the Cluster's lot decides,
/// so that many Clusters with one zone do not end up in the same one.
fn spread<'a>(scene: &Scene<'_>, fitting: &[&'a Zone], live: &[String], others: &[&str]) -> Vec<&'a str> {
    let free: Vec<&Zone> = fitting.iter().copied().filter(|zone| !live.contains(&zone.name)).collect();
    let start = usize::try_from(scene.lot() % (fitting.len().max(1) as u64)).unwrap_or_default();
    let (before, after): (Vec<_>, Vec<_>) = free.into_iter().enumerate().partition(|(n, _)| *n < start);
    let turned = after.into_iter().chain(before).map(|(_, zone)| zone);
    let (best, rest): (Vec<_>, Vec<_>) =
        turned.partition(|zone| others.iter().all(|machine| has_machine(zone, machine)));
    best.into_iter().chain(rest).map(|zone| zone.name.as_str()).collect()
}

/// The zones of a further pool: those that it names, else those of the first pool that have its machine type.
pub(super) fn of_further_pool(
    scene: &Scene<'_>,
    ask: &Ask<'_>,
    first: &[String],
    findings: &mut Findings,
) -> Option<Vec<String>> {
    findings.take(further(scene, ask, first))
}

fn further(scene: &Scene<'_>, ask: &Ask<'_>, first: &[String]) -> Result<Vec<String>, Problem> {
    ask.check_live(scene)?;
    if let Some(named) = ask.named {
        return ask.check_named(scene, named);
    }
    if first.is_empty() {
        return Ok(ask.live.to_vec());
    }
    let fits = |name: &String| scene.region.zones.iter().any(|zone| zone.name == *name && ask.fits(zone));
    let new = first.iter().filter(|name| !ask.live.contains(name) && fits(name));
    let zones: Vec<String> = ask.live.iter().chain(new).cloned().collect();
    if !zones.is_empty() {
        return Ok(zones);
    }
    let what = format!("no zone of the first pool ({}) has {}", first.join(", "), ask.machine);
    let zones: Vec<&Zone> = scene.region.zones.iter().filter(|zone| first.contains(&zone.name)).collect();
    Err(Problem::new(format!("{}.machineType", ask.field), what).allowed(scene.facts.machines_in(&zones)))
}
