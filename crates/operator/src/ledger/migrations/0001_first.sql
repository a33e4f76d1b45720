-- {text} and {id} are what each database calls them, see migrate.rs. Yes is 1, no is 0. A time is RFC 3339 in UTC with six
-- digits after the point, so that it sorts as text.

-- Who leads a garden project, and under which epoch.
CREATE TABLE leaders (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    epoch BIGINT NOT NULL,
    holder {text} NOT NULL,
    since {text} NOT NULL,
    PRIMARY KEY (garden, project)
);

-- Rows that exist to be locked: a tenant or a pool may have no other row yet.
CREATE TABLE locks (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    key {text} NOT NULL,
    PRIMARY KEY (garden, project, key)
);

-- An account without a row is free. The version is the id of the last history entry about the account: it changes with
-- the row and with the account's assignments, and never comes back.
CREATE TABLE accounts (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    name {text} NOT NULL,
    hyperscaler_type {text} NOT NULL,
    shared BIGINT NOT NULL CHECK (shared IN (0, 1)),
    eu_access BIGINT NOT NULL CHECK (eu_access IN (0, 1)),
    holding {text} NOT NULL CHECK (holding IN ('free', 'claiming', 'claimed', 'draining', 'dirty')),
    tenant {text},
    leaving BIGINT NOT NULL CHECK (leaving IN (0, 1)),
    quarantine {text},
    epoch BIGINT NOT NULL,
    version BIGINT NOT NULL,
    since {text} NOT NULL,
    PRIMARY KEY (garden, project, name),
    CHECK (holding = 'dirty' OR (holding = 'free') = (tenant IS NULL)),
    CHECK (shared = 0 OR holding IN ('free', 'dirty'))
);
CREATE INDEX accounts_by_tenant ON accounts (garden, project, tenant);

-- A request is in one account at most. The pool is the one it was decided in.
CREATE TABLE assignments (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    request_uid {text} NOT NULL,
    namespace {text} NOT NULL,
    name {text} NOT NULL,
    tenant {text},
    account {text} NOT NULL,
    hyperscaler_type {text} NOT NULL,
    shared BIGINT NOT NULL CHECK (shared IN (0, 1)),
    eu_access BIGINT NOT NULL CHECK (eu_access IN (0, 1)),
    cluster {text},
    since {text} NOT NULL,
    PRIMARY KEY (garden, project, request_uid),
    FOREIGN KEY (garden, project, account) REFERENCES accounts (garden, project, name),
    CHECK ((shared = 1) = (tenant IS NULL))
);
CREATE INDEX assignments_by_account ON assignments (garden, project, account);

-- Requests that wait for an account of a pool, in the order of arrival.
CREATE TABLE queue (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    request_uid {text} NOT NULL,
    namespace {text} NOT NULL,
    name {text} NOT NULL,
    tenant {text},
    hyperscaler_type {text} NOT NULL,
    shared BIGINT NOT NULL CHECK (shared IN (0, 1)),
    eu_access BIGINT NOT NULL CHECK (eu_access IN (0, 1)),
    ticket BIGINT NOT NULL,
    since {text} NOT NULL,
    PRIMARY KEY (garden, project, request_uid),
    UNIQUE (garden, project, hyperscaler_type, shared, eu_access, ticket)
);

-- Everything that ever happened. Nothing is ever taken away.
CREATE TABLE history (
    id {id},
    at {text} NOT NULL,
    garden {text} NOT NULL,
    project {text} NOT NULL,
    account {text},
    event {text} NOT NULL,
    tenant {text},
    request_uid {text},
    request {text},
    actor {text} NOT NULL,
    because {text} NOT NULL,
    epoch BIGINT NOT NULL
);
CREATE INDEX history_by_account ON history (garden, project, account, id);
CREATE INDEX history_by_request ON history (garden, project, request_uid, id);
