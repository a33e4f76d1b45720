-- A ledger as version 1 wrote it. Never changed: every later version must be able to open it.

CREATE TABLE ledger (one BIGINT PRIMARY KEY CHECK (one = 1), id {text} NOT NULL, version BIGINT NOT NULL);

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

INSERT INTO ledger (one, id, version) VALUES (1, '0e4c6d1c-5c7f-4a44-8d0a-3f1b6a5e9c11', 1);
INSERT INTO leaders VALUES ('live', 'garden-kyma', 7, 'allotment-0', '2026-11-15T08:00:00.000000Z');
INSERT INTO locks VALUES ('live', 'garden-kyma', 'tenant/ga-1'), ('live', 'garden-kyma', 'pool/aws/0/0');
INSERT INTO accounts VALUES
    ('live', 'garden-kyma', 'aws-1', 'aws', 0, 0, 'claimed', 'ga-1', 0, NULL, 7, 2, '2026-11-15T08:00:01.000000Z'),
    ('live', 'garden-kyma', 'aws-2', 'aws', 0, 0, 'dirty', NULL, 0, '401 from AWS', 6, 1, '2026-11-14T08:00:01.500000Z'),
    ('live', 'garden-kyma', 'gcp-s', 'gcp', 1, 0, 'free', NULL, 0, NULL, 7, 3, '2026-11-15T08:00:01.000000Z');
INSERT INTO assignments VALUES
    ('live', 'garden-kyma', 'uid-1', 'ns', 'one', 'ga-1', 'aws-1', 'aws', 0, 0, 'ns/one', '2026-11-15T08:00:01.000000Z'),
    ('live', 'garden-kyma', 'uid-2', 'ns', 'two', NULL, 'gcp-s', 'gcp', 1, 0, NULL, '2026-11-15T08:00:02.000000Z');
INSERT INTO queue VALUES
    ('live', 'garden-kyma', 'uid-3', 'ns', 'three', 'ga-2', 'aws', 0, 0, 1, '2026-11-15T08:00:03.000000Z');
INSERT INTO history (at, garden, project, account, event, tenant, request_uid, request, actor, because, epoch) VALUES
    ('2026-11-14T08:00:01.500000Z', 'live', 'garden-kyma', 'aws-2', 'dirty', NULL, NULL, NULL, 'allotment-1', 'label', 6),
    ('2026-11-15T08:00:01.000000Z', 'live', 'garden-kyma', 'aws-1', 'assigned', 'ga-1', 'uid-1', 'ns/one', 'allotment-0', 'rule 1', 7),
    ('2026-11-15T08:00:02.000000Z', 'live', 'garden-kyma', 'gcp-s', 'assigned', NULL, 'uid-2', 'ns/two', 'allotment-0', 'rule 2', 7);
