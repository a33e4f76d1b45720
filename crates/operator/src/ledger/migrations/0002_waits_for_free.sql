-- Who waits for something else than a free account (the tenant's cap, a quarantine) does not keep free accounts from those
-- behind.
ALTER TABLE queue ADD COLUMN wants_free BIGINT NOT NULL DEFAULT 1 CHECK (wants_free IN (0, 1));
