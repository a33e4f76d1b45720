-- The account of the cloud behind a pool entry: recorded while the account was free and never used, or by a person.
CREATE TABLE cloud_accounts (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    account {text} NOT NULL,
    cloud_account {text} NOT NULL,
    recorded_at {text} NOT NULL,
    recorded_by {text} NOT NULL,
    -- JSON: the items that were there before the first tenant.
    baseline {text},
    -- past_shoots has every Shoot since then; NULL: some may be missing.
    shoots_since {text},
    PRIMARY KEY (garden, project, account)
);
CREATE INDEX cloud_accounts_by_id ON cloud_accounts (garden, project, cloud_account);

-- The Shoots that an account has had since it was last proven empty.
CREATE TABLE past_shoots (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    account {text} NOT NULL,
    technical_id {text} NOT NULL,
    -- JSON: the ids of existing networks and the like that its infrastructureConfig names.
    existing {text} NOT NULL,
    seen_at {text} NOT NULL,
    PRIMARY KEY (garden, project, account, technical_id)
);

-- The cleaning of a dirty account. The version rises with every write, and a write is conditional on it.
CREATE TABLE cleanings (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    account {text} NOT NULL,
    version BIGINT NOT NULL,
    -- JSON.
    record {text} NOT NULL,
    PRIMARY KEY (garden, project, account)
);

-- The last proof that an account is empty. The history keeps the digests of all.
CREATE TABLE proofs (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    account {text} NOT NULL,
    proven_at {text} NOT NULL,
    digest {text} NOT NULL,
    -- JSON.
    proof {text} NOT NULL,
    PRIMARY KEY (garden, project, account)
);

-- The control plane and the namespace of the operators that the leader serves: the fence in the garden may lose them.
ALTER TABLE leaders ADD COLUMN control_plane {text};
ALTER TABLE leaders ADD COLUMN installation {text};
