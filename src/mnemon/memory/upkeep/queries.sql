-- name: global_memories
-- What every persona may know, weightiest and newest first.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and status = 'ACTIVE' and persona_id is null
order by pinned desc, importance desc, updated_at desc, id limit %(most)s;

-- name: fragments_of
-- What is archived as folded into any of these. A fragment whose note was changed by hand is known by the fold's list.
select m.* from memories m
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.archive_reason = 'folded'
  and (m.note = any(%(notes)s) or (m.note is null or m.note not like 'folded into mem\_%%') and m.id in (
    select unnest(f.sources) from memories f
    where f.org_id = %(org_id)s and f.user_id = %(user_id)s and f.id = any(%(ids)s)))
order by m.created_at, m.id;

-- name: folds_containing
-- Folds in use, by themselves or within another fold, that any of these is a part of.
select * from memories
where org_id = %(org_id)s and user_id = %(user_id)s and source = 'curated_fold' and sources && %(ids)s::text[]
  and (status = 'ACTIVE' or archive_reason = 'folded')
order by created_at, id;

-- name: latest_spine
-- With those of its sources that no longer say what they said when it was written.
select version, lines, message_count, total_messages, made_by, at, array(
  select m.id from memories m
  where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.id = any(spines.sources)
    and (m.valid_from > spines.at or (m.status <> 'ACTIVE' and m.archive_reason <> 'folded'))
  union all
  select t.id from todos t
  where t.org_id = %(org_id)s and t.user_id = %(user_id)s and t.id = any(spines.sources) and t.status <> 'open'
) as gone
from spines
where org_id = %(org_id)s and user_id = %(user_id)s order by version desc limit 1;

-- name: spines
select version, lines, message_count, total_messages, made_by, at from spines
where org_id = %(org_id)s and user_id = %(user_id)s and (%(before)s::integer is null or version < %(before)s)
order by version desc limit %(most)s;

-- name: add_spine
-- Only the next one: two writers at once make one version.
insert into spines (org_id, user_id, version, lines, sources, message_count, total_messages, made_by, rejected, at)
values (%(org_id)s, %(user_id)s, %(version)s, %(lines)s, %(sources)s, %(message_count)s, %(total_messages)s,
  %(made_by)s, %(rejected)s, %(now)s)
on conflict (org_id, user_id, version) do nothing;

-- name: spines_from
-- Versions with a line made from any of these.
select version, lines, message_count, total_messages, made_by, at from spines
where org_id = %(org_id)s and user_id = %(user_id)s and sources && %(sources)s::text[];

-- name: rewrite_spine
update spines set lines = %(lines)s, sources = %(sources)s, rejected = '[]'
where org_id = %(org_id)s and user_id = %(user_id)s and version = %(version)s;

-- name: seed
select profile, loaded_at from user_seeds where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: put_seed
insert into user_seeds (org_id, user_id, profile, loaded_at)
values (%(org_id)s, %(user_id)s, %(profile)s, %(now)s)
on conflict (org_id, user_id) do update set profile = excluded.profile, loaded_at = excluded.loaded_at;

-- name: add_curator_run
insert into curator_runs (org_id, user_id, id, folded, archived, rejected, made_by, at)
values (%(org_id)s, %(user_id)s, %(id)s, %(folded)s, %(archived)s, %(rejected)s, %(made_by)s, %(now)s);

-- name: curator_runs
select id, folded, archived, rejected, made_by, at from curator_runs
where org_id = %(org_id)s and user_id = %(user_id)s order by id desc limit %(most)s;
