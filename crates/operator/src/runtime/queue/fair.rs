//! Turns between those for whom work is done.
//!
//! A key is a namespace; in a namespace of the platform, where objects of many tenants are, it is the tenant. Each key has a
//! line, and each turn takes one task from the next line: 3,000 tasks of one namespace delay a task of another by one. Our own
//! work (accounts, pools) takes every other turn as long as there is any, however many namespaces ask: accounts that are not
//! given back would keep everybody waiting.

use std::collections::{BTreeMap, VecDeque};

/// For whom a task is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FairKey {
    /// For everybody.
    Everybody,
    /// For those who use a namespace.
    Namespace(String),
    /// For a tenant, in whichever namespace.
    Tenant(String),
}

impl FairKey {
    /// The key of something in a namespace.
    pub fn namespace(namespace: &str) -> Self {
        Self::Namespace(namespace.to_owned())
    }

    /// The key of something in a namespace of the platform: the tenant's, if it is known.
    pub fn tenant_or_namespace(tenant: Option<&str>, namespace: &str) -> Self {
        tenant.map_or_else(|| Self::namespace(namespace), |tenant| Self::Tenant(tenant.to_owned()))
    }
}

/// Lines of tasks, one for each key.
#[derive(Debug)]
pub(super) struct Round<T> {
    everybodys: VecDeque<T>,
    /// Whether the last turn was everybody's.
    was_everybodys: bool,
    lines: BTreeMap<FairKey, VecDeque<T>>,
    /// The keys that have a line, the next one first.
    turns: VecDeque<FairKey>,
    len: usize,
}

impl<T> Default for Round<T> {
    fn default() -> Self {
        Self {
            everybodys: VecDeque::new(),
            was_everybodys: false,
            lines: BTreeMap::new(),
            turns: VecDeque::new(),
            len: 0,
        }
    }
}

impl<T> Round<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Puts a task at the end of the line of its key.
    pub(super) fn push(&mut self, key: FairKey, task: T) {
        self.len += 1;
        if key == FairKey::Everybody {
            self.everybodys.push_back(task);
            return;
        }
        let line = self.lines.entry(key.clone()).or_default();
        if line.is_empty() {
            self.turns.push_back(key);
        }
        line.push_back(task);
    }

    /// Takes the task whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        let is_everybodys = !self.was_everybodys || self.turns.is_empty();
        let everybodys = if is_everybodys { self.everybodys.pop_front() } else { None };
        self.was_everybodys = everybodys.is_some();
        let task = everybodys.or_else(|| self.pop_line())?;
        self.len -= 1;
        Some(task)
    }

    fn pop_line(&mut self) -> Option<T> {
        let key = self.turns.pop_front()?;
        let line = self.lines.get_mut(&key)?;
        let task = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&key);
        } else {
            self.turns.push_back(key);
        }
        task
    }
}
