-- The entries before which uses of accounts may be unknown.
CREATE INDEX history_knowledge ON history (garden, project, id) WHERE event IN ('took-over', 'rebuilt');
