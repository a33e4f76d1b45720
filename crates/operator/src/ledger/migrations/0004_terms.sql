-- Which term of leadership raised the leader to which epoch. A copy of this ledger that somebody else leads has other terms under
-- the same epochs.
CREATE TABLE terms (
    garden {text} NOT NULL,
    project {text} NOT NULL,
    epoch BIGINT NOT NULL,
    term {text} NOT NULL,
    PRIMARY KEY (garden, project, epoch)
);
