//! What happens in a run, as lines that people can read, change and run again.

use super::edit::Edit;
use crate::{
    cleanup,
    cluster::Deed,
    hostile,
    openmcp::{self, Providers},
    stage::past,
};
use allotment_core::cleanup::Cloud;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// A whole run: the world, what its people do, and what goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The world.
    pub options: Options,
    /// What people do, and what happens to the operators' processes: when, in milliseconds, and what.
    pub actions: Vec<(u64, Action)>,
    /// What goes wrong.
    pub faults: BTreeMap<Spot, Harm>,
}

/// The world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Options {
    /// For delays.
    pub seed: u64,
    /// How many tenants.
    pub tenants: u64,
    /// How many accounts for one tenant each.
    pub dedicated: u64,
    /// How many of these with EU access, beside the others.
    pub eu: u64,
    /// How many shared accounts.
    pub shared: u64,
    /// The most clusters in an account of a tenant that may have several.
    pub limit: u32,
    /// The first so many tenants may have several accounts.
    pub several: u64,
    /// The most accounts of one tenant; 0: no cap.
    pub cap: u32,
    /// The workers of an operator.
    pub workers: u64,
    /// The longest time that a call takes when nothing is wrong.
    pub latency: u64,
    /// How often the cleaner comes, in milliseconds.
    pub clean: u64,
    /// Whether an operator that starts again is the same to its Lease.
    pub same_name: bool,
    /// When the faults stop, in milliseconds.
    pub calm: u64,
    /// Whether Clusters are looked after, too, and Shoots by a gardenlet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clusters: u64,
    /// How many KubeconfigRequests of a Cluster are made, at most.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub accesses: u64,
    /// How long a step of the gardenlet takes, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub step: u64,
    /// How many Clusters a minute get what they did not ask for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pace: u64,
    /// How many Clusters a hostile tenant makes, at most; 0: there is none, and everybody is trusted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hostile: u64,
    /// How much others have done in the pool before we come.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub used: u64,
    /// The time between two listings of the cleanup operator, in milliseconds; 0: there is none, and a person cleans.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub settle: u64,
    /// How many cleanup operators lead whatever their Lease says, until it is calm; 0: the one that has the Lease.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub leaders: u64,
    /// The cloud of all accounts; none: AWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<Cloud>,
    /// The providers of openMCP, and where they are; none: nobody is there but the other operators.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub openmcp: Option<Providers>,
}

impl Options {
    /// The cloud of all accounts.
    pub fn cloud(&self) -> Cloud {
        self.cloud.unwrap_or(Cloud::Aws)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it like that")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What people do, and what happens to the operators' processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Action {
    /// A tenant asks.
    Ask {
        /// The new request's name.
        request: String,
        /// Whose.
        tenant: String,
        /// What for.
        want: Want,
    },
    /// A tenant's cluster is deleted: its Shoot first, then the request.
    Delete {
        /// Which request.
        request: String,
    },
    /// A request is deleted by hand, whatever its Shoot does.
    Remove {
        /// Which.
        request: String,
    },
    /// The finalizers of a request are removed.
    Unhold {
        /// Which.
        request: String,
    },
    /// A request is made anew under the same name.
    Renew {
        /// Which.
        request: String,
    },
    /// Another tool takes an account, if nobody has it.
    Take {
        /// Which.
        account: String,
        /// For whom.
        tenant: String,
    },
    /// A label is set by hand, or removed where there is no value.
    Label {
        /// Of which account.
        account: String,
        /// Which label.
        key: String,
        /// Its value.
        value: Option<String>,
    },
    /// The labels of an account are removed by somebody who did not look into it.
    Wipe {
        /// Which.
        account: String,
    },
    /// An account is put in quarantine by hand.
    Quarantine {
        /// Which.
        account: String,
    },
    /// A quarantine is lifted by hand.
    Lift {
        /// Of which account.
        account: String,
    },
    /// The entry of an account is deleted and made anew at once, as another object.
    Replace {
        /// Of which account.
        account: String,
    },
    /// The entry of an account is deleted.
    Drop {
        /// Of which account.
        account: String,
    },
    /// A new account comes into the pool, or one that was dropped comes back.
    Add {
        /// Which.
        account: String,
    },
    /// Somebody else makes a Shoot.
    Grow {
        /// Its name.
        shoot: String,
        /// In which account.
        account: String,
    },
    /// Somebody else makes a Shoot, with the label of a request that is for another pool.
    Stray {
        /// Its name.
        shoot: String,
        /// In which account.
        account: String,
        /// The request that its label names.
        request: String,
    },
    /// And deletes it.
    Fell {
        /// Its name.
        shoot: String,
    },
    /// The cloud refuses the credentials of an account.
    Refuse {
        /// Which.
        account: String,
    },
    /// And takes them again.
    Accept {
        /// Of which account.
        account: String,
    },
    /// The process of an operator stands still, and then goes on as if nothing had been.
    Pause {
        /// Which operator.
        replica: usize,
        /// For how long, in milliseconds.
        time: u64,
    },
    /// The process of an operator ends.
    Kill {
        /// Which operator.
        replica: usize,
    },
    /// Somebody changes a field.
    Edit(Edit),
    /// The past comes back.
    #[serde(untagged)]
    Past(past::Deed),
    /// Something that has to do with Clusters.
    #[serde(untagged)]
    Cluster(Deed),
    /// Something that has to do with the cleaning of accounts.
    #[serde(untagged)]
    Cleanup(cleanup::Deed),
    /// Something that a hostile tenant does, or the platform because of it.
    #[serde(untagged)]
    Hostile(hostile::Deed),
    /// Something that has to do with openMCP.
    #[serde(untagged)]
    Openmcp(openmcp::Deed),
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Want {
    /// An account of the tenant's own, by provider and selector.
    Own,
    /// The same, by plan and rules.
    Plan,
    /// One with EU access, by plan and region.
    Eu,
    /// A shared one, by selector.
    Shared,
    /// A shared one, by plan and rules.
    Trial,
    /// Something that no rule grants.
    Nothing,
}

/// A place where something can go wrong: the so-many-th time that an operator does something. Operator 2 stands for both,
/// and `write` for everything that an operator writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Which operator.
    pub replica: usize,
    /// What it does.
    pub operation: String,
    /// Which time, from 1.
    pub number: u64,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "harm", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they are those of the fault layer; crashes are of the process")]
pub enum Harm {
    Delay { time: u64 },
    Refuse { code: u16 },
    RefuseAfter { code: u16 },
    LoseRequest,
    LoseAnswer,
    HangBefore,
    HangAfter,
    Stale { back: u64 },
    WatchDrop { after: usize },
    WatchExpire { after: usize },
    WatchCoalesce,
    WatchStall { time: u64 },
    CrashBefore,
    CrashAfter,
}

impl Harm {
    /// The word for it in the table of what was tried.
    pub fn word(self) -> &'static str {
        match self {
            Self::Delay { .. } => "delay",
            Self::Refuse { .. } => "refused",
            Self::RefuseAfter { .. } => "refused after",
            Self::LoseRequest => "lost request",
            Self::LoseAnswer => "lost answer",
            Self::HangBefore => "hang before",
            Self::HangAfter => "hang after",
            Self::Stale { .. } => "stale",
            Self::WatchDrop { .. } => "drop",
            Self::WatchExpire { .. } => "expire",
            Self::WatchCoalesce => "coalesce",
            Self::WatchStall { .. } => "stall",
            Self::CrashBefore => "crash before",
            Self::CrashAfter => "crash after",
        }
    }
}

/// Why a script cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ScriptError {
    /// Where, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, actions, faults } = self;
        writeln!(formatter, "world {}", words(options, ""))?;
        for (at, action) in actions {
            writeln!(formatter, "at {at} {}", words(action, "do"))?;
        }
        for (Spot { replica, operation, number }, harm) in faults {
            let operation = operation.replace(' ', "-");
            writeln!(formatter, "fault {replica} {operation} {number} {}", words(harm, "harm"))?;
        }
        Ok(())
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let (mut options, mut actions, mut faults) = (None, Vec::new(), BTreeMap::new());
        for (place, line) in text.lines().enumerate() {
            let wrong = |why: String| ScriptError { line: place + 1, why };
            let line = line.split('#').next().unwrap_or_default().trim();
            let parts: Vec<&str> = line.split_whitespace().collect();
            match parts.as_slice() {
                [] => (),
                ["world", rest @ ..] => options = Some(read(rest, "").map_err(wrong)?),
                ["at", time, rest @ ..] => {
                    actions.push((number(time).map_err(wrong)?, read(rest, "do").map_err(wrong)?));
                }
                ["fault", replica, operation, count, rest @ ..] => {
                    let replica = usize::try_from(number(replica).map_err(wrong)?).unwrap_or(usize::MAX);
                    let operation = operation.replace('-', " ");
                    let spot = Spot { replica, operation, number: number(count).map_err(wrong)? };
                    faults.insert(spot, read(rest, "harm").map_err(wrong)?);
                }
                [word, ..] => {
                    return Err(wrong(format!("a line begins with world, at or fault, not with {word:?}")));
                }
            }
        }
        let options = options.ok_or_else(|| ScriptError {
            line: 1,
            why: "there is no line that begins with world".to_owned(),
        })?;
        Ok(Self { options, actions, faults })
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

/// `tag key=value …`.
fn words<T: Serialize>(value: &T, tag: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(value) else { return String::new() };
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let tagged = fields.get(tag).map(word);
    let others = fields.iter().filter(|(key, _)| *key != tag);
    let others = others.map(|(key, value)| format!("{key}={}", word(value)));
    tagged.into_iter().chain(others).collect::<Vec<_>>().join(" ")
}

fn read<T: DeserializeOwned>(words: &[&str], tag: &str) -> Result<T, String> {
    let mut fields = Map::new();
    for word in words {
        match word.split_once('=') {
            Some((key, text)) => {
                let plain = || Value::String(text.to_owned());
                // `true` is also the value of a label.
                let value = match serde_json::from_str(text) {
                    Ok(Value::Bool(_)) if key == "value" => plain(),
                    Ok(value) => value,
                    Err(_) => plain(),
                };
                fields.insert(key.to_owned(), value);
            }
            None => {
                fields.insert(tag.to_owned(), Value::String((*word).to_owned()));
            }
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_as_it_is_written() {
        let text = "\
world seed=7 tenants=2 dedicated=3 eu=0 shared=1 limit=2 several=1 cap=0 workers=2 latency=20 clean=5000 same-name=true calm=60000
at 10 ask request=r1 tenant=t1 want=own
at 20 label account=a1 key=dirty value=true
at 30 label account=a1 key=dirty value=null
at 40 pause replica=1 time=30000
at 50 lose-commits commits=3
at 60 fence edit=other-ledger
fault 0 tenant-label 2 lose-answer
fault 2 write 17 crash-after
";
        let script: Script = text.parse().unwrap();
        assert_eq!(script.actions.len(), 6);
        let mut again = script.to_string();
        again = again.replace("calm=60000 ", "");
        assert_eq!(script.to_string().parse::<Script>().unwrap(), script, "{again}");
        assert!("at 1 dance".parse::<Script>().unwrap_err().to_string().starts_with("line 1: "));
    }
}
