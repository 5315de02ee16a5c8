-- Of whose attribute a memory is a value: the entity's key and the attribute, `person:self|lives_in`. Empty: of none that
-- is known. Null: not read yet, which the next writing of the person makes good.
alter table memories add column slot text;
-- The name and the role of each entity of `entity_refs`. Null: one entity, which the memory is about.
alter table memories add column entity_labels text[];
alter table memories add column entity_roles text[];
-- The days that relative dates in its text mean: `tomorrow: 2026-05-05`. Null: it has none.
alter table memories add column dates text[];
-- The importance that a pinned memory has again once it is unpinned.
alter table memories add column unpinned_importance smallint;
alter table memories alter column slot set statistics 0;
alter table memories alter column entity_labels set statistics 0;
alter table memories alter column entity_roles set statistics 0;
alter table memories alter column dates set statistics 0;
create index memories_by_slot on memories (org_id, user_id, slot);
