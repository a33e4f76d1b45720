-- The tenants that wait for a pool stand in a round. The first request of a tenant has the tenant's place; those behind it have
-- none. A request that waits for a shared pool has a place of its own.
CREATE INDEX queue_by_tenant ON queue (garden, project, hyperscaler_type, shared, eu_access, tenant, ticket);
ALTER TABLE queue ADD COLUMN turn BIGINT;
UPDATE queue SET turn = ticket WHERE tenant IS NULL OR ticket = (
    SELECT MIN(line.ticket) FROM queue AS line
    WHERE line.garden = queue.garden AND line.project = queue.project
      AND line.hyperscaler_type = queue.hyperscaler_type AND line.shared = queue.shared
      AND line.eu_access = queue.eu_access AND line.tenant = queue.tenant
);
CREATE INDEX queue_by_turn ON queue (garden, project, hyperscaler_type, shared, eu_access, wants_free, turn);
