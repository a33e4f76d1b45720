-- Entries of the history that nobody needs one by one any more, counted. An entry without an account or tenant is counted under ''.
CREATE TABLE history_months (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    account {text} NOT NULL,
    -- As in 2026-11.
    month {text} NOT NULL,
    tenant {text} NOT NULL,
    event {text} NOT NULL,
    entries BIGINT NOT NULL,
    PRIMARY KEY (garden, project, account, month, tenant, event)
);

-- When an account was last found empty, without reading all that happened to it since.
CREATE INDEX history_cleaned ON history (garden, project, account, id) WHERE event = 'cleaned';

-- Tenants share a fixed number of rows from now on: whoever invents tenants adds none.
DELETE FROM locks WHERE key LIKE 'tenant/%';
