-- How often a version's words were said. Until now a memory counted every statement of any of its texts; of those, each
-- past version has at least one, and which of the others was which is not on record.
alter table memory_versions add column mentions integer not null default 1;
update memories set mentions = greatest(1, mentions - (versions - 1)) where versions > 1;
