-- name: nearest
-- What stands nearest to the query by cosine; a text without words has no direction and comes last. A claim is among it
-- only where what it contradicts is not held.
select m.*, 1 - (e.vector <=> %(vector)s::halfvec) as similarity
from memories m
join embeddings e on e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory'
  and e.id = m.id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.status = 'ACTIVE'
  and (m.persona_id is null or m.persona_id = %(persona_id)s) and m.type = any(%(types)s)
  and (m.claim_of is null or not exists (
    select from memories f
    where f.org_id = m.org_id and f.user_id = m.user_id and f.memory_key = m.claim_of and f.status = 'ACTIVE'
      and (f.persona_id is null or f.persona_id = m.persona_id)))
order by e.vector <=> %(vector)s::halfvec, m.id
limit %(most)s;

-- name: not_embedded
-- What has no vector of this model yet: found by its words.
select m.*, null::float8 as similarity
from memories m
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.status = 'ACTIVE'
  and (m.persona_id is null or m.persona_id = %(persona_id)s) and m.type = any(%(types)s)
  and (m.claim_of is null or not exists (
    select from memories f
    where f.org_id = m.org_id and f.user_id = m.user_id and f.memory_key = m.claim_of and f.status = 'ACTIVE'
      and (f.persona_id is null or f.persona_id = m.persona_id)))
  and not exists (
    select from embeddings e
    where e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory' and e.id = m.id);

-- name: claims_of_held
-- Claims that contradict what is held: they are shown beside it and are no candidates themselves.
select m.*, null::float8 as similarity
from memories m
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.status = 'ACTIVE' and m.claim_of is not null
  and (m.persona_id is null or m.persona_id = %(persona_id)s) and m.type = any(%(types)s)
  and exists (
    select from memories f
    where f.org_id = m.org_id and f.user_id = m.user_id and f.memory_key = m.claim_of and f.status = 'ACTIVE'
      and (f.persona_id is null or f.persona_id = m.persona_id));

-- name: every_candidate
-- All that recall may weigh, with the cosine where both sides are embedded.
select m.*, 1 - (e.vector <=> %(vector)s::halfvec) as similarity
from memories m
left join embeddings e on e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory'
  and e.id = m.id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.status = 'ACTIVE'
  and (m.persona_id is null or m.persona_id = %(persona_id)s) and m.type = any(%(types)s);

-- name: candidates_as_of
-- What was held at that time: the current version where it held already and was not archived, else the one that held.
select m.*, 1 - (e.vector <=> %(vector)s::halfvec) as similarity
from memories m
left join embeddings e on e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory'
  and e.id = m.id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s
  and (m.persona_id is null or m.persona_id = %(persona_id)s) and m.type = any(%(types)s)
  and m.valid_from <= %(as_of)s and (m.archived_at is null or m.archived_at > %(as_of)s);

-- name: versions_as_of
-- Past versions that held at that time, each with the memory it belongs to.
select m.*, v.number, v.content as past_content, v.importance as past_importance, v.confidence as past_confidence,
  v.mentions as past_mentions,
  v.source as past_source, v.origin as past_origin, v.trust as past_trust, v.trust_level as past_trust_level,
  v.valid_from as past_valid_from, v.valid_to as past_valid_to,
  1 - (e.vector <=> %(vector)s::halfvec) as similarity
from memory_versions v
join memories m on m.org_id = v.org_id and m.user_id = v.user_id and m.id = v.memory_id
left join embeddings e on e.org_id = v.org_id and e.user_id = v.user_id and e.model = %(model)s and e.kind = 'version'
  and e.id = v.memory_id || '/' || v.number
where v.org_id = %(org_id)s and v.user_id = %(user_id)s
  and (m.persona_id is null or m.persona_id = %(persona_id)s) and m.type = any(%(types)s)
  and v.valid_from <= %(as_of)s and v.valid_to > %(as_of)s;

-- name: nearest_messages
-- What was said with this persona, or with none, and stands nearest to the query.
select s.*, 1 - (e.vector <=> %(vector)s::halfvec) as similarity
from messages s
join embeddings e on e.org_id = s.org_id and e.user_id = s.user_id and e.model = %(model)s and e.kind = 'message'
  and e.id = s.id
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.persona_id is not distinct from %(persona_id)s
  and s.content <> ''
  and not (s.role = 'assistant' and starts_with(s.content, 'No language model is connected, so this is memory alone'))
order by e.vector <=> %(vector)s::halfvec, s.id
limit %(most)s;

-- name: messages_not_embedded
select s.*, null::float8 as similarity
from messages s
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.persona_id is not distinct from %(persona_id)s
  and s.content <> ''
  and not (s.role = 'assistant' and starts_with(s.content, 'No language model is connected, so this is memory alone'))
  and not exists (
    select from embeddings e
    where e.org_id = s.org_id and e.user_id = s.user_id and e.model = %(model)s and e.kind = 'message' and e.id = s.id);

-- name: every_message
-- All that was said with this persona, or with none, until a time.
select s.*, 1 - (e.vector <=> %(vector)s::halfvec) as similarity
from messages s
left join embeddings e on e.org_id = s.org_id and e.user_id = s.user_id and e.model = %(model)s
  and e.kind = 'message' and e.id = s.id
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.persona_id is not distinct from %(persona_id)s
  and s.content <> ''
  and not (s.role = 'assistant' and starts_with(s.content, 'No language model is connected, so this is memory alone'))
  and (%(as_of)s::timestamptz is null or s.at <= %(as_of)s::timestamptz);

-- name: not_weighed
-- What recall may not use now, for this persona or at that time; nearest first.
select m.*, 1 - (e.vector <=> %(vector)s::halfvec) as similarity
from memories m
left join embeddings e on e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory'
  and e.id = m.id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.type = any(%(types)s)
  and (m.persona_id <> coalesce(%(persona_id)s::text, '')
    or case when %(as_of)s::timestamptz is null then m.status = 'ARCHIVED'
       else m.valid_from > %(as_of)s::timestamptz or m.archived_at <= %(as_of)s::timestamptz end)
order by e.vector <=> %(vector)s::halfvec nulls last, m.id
limit %(most)s

-- name: is_read_only
select current_setting('transaction_read_only')::boolean as read_only

-- name: keep_count
-- So many recalls more on that day. Never waits: whoever finds the organization taken leaves the count to the next.
insert into recall_days (org_id, day, number)
select %(org_id)s, %(day)s, %(number)s
where pg_try_advisory_xact_lock(hashtextextended('recall_days/' || %(org_id)s, 0))
on conflict (org_id, day) do update set number = recall_days.number + excluded.number

-- name: recall_days
select day, number from recall_days where org_id = %(org_id)s and day >= %(since)s order by day

-- name: index_version
-- How far a person's rows are written, in which database.
select u.revision, u.forgettings, u.created_at,
  (select d.oid::bigint from pg_database d where d.datname = current_database()) as database
from users u where u.org_id = %(org_id)s and u.user_id = %(user_id)s;

-- name: whole_memories
-- All that a persona may recall, as an index holds it.
select m.id, m.revision, true, m.type, m.content, m.entity_refs, m.entity_label, m.pinned, m.importance, m.valid_from,
  m.created_at, m.updated_at, m.memory_key, m.claim_of, m.persona_id, m.source, m.trust, m.trust_level, e.vector
from memories m
left join embeddings e on e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory'
  and e.id = m.id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.status = 'ACTIVE'
  and (m.persona_id is null or m.persona_id = %(persona_id)s::text);

-- name: whole_messages
select s.id, s.revision, s.place, s.session_id, s.role, s.name, s.content, s.at, s.turn_id, e.vector
from messages s
left join embeddings e on e.org_id = s.org_id and e.user_id = s.user_id and e.model = %(model)s
  and e.kind = 'message' and e.id = s.id
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.persona_id is not distinct from %(persona_id)s::text
  and s.content <> ''
  and not (s.role = 'assistant' and starts_with(s.content, 'No language model is connected, so this is memory alone'));

-- name: newer_memories
-- What was written since a revision, archived ones too: they leave the index.
select m.id, m.revision, m.status = 'ACTIVE', m.type, m.content, m.entity_refs, m.entity_label, m.pinned, m.importance,
  m.valid_from, m.created_at, m.updated_at, m.memory_key, m.claim_of, m.persona_id, m.source, m.trust, m.trust_level,
  e.vector
from memories m
left join embeddings e on e.org_id = m.org_id and e.user_id = m.user_id and e.model = %(model)s and e.kind = 'memory'
  and e.id = m.id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.revision > %(since)s
  and (m.persona_id is null or m.persona_id = %(persona_id)s::text);

-- name: newer_messages
-- Without their vectors: those are newer too, and come with newer_vectors.
select s.id, s.revision, s.place, s.session_id, s.role, s.name, s.content, s.at, s.turn_id, null::halfvec
from messages s
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.revision > %(since)s
  and s.persona_id is not distinct from %(persona_id)s::text
  and not (s.role = 'assistant' and starts_with(s.content, 'No language model is connected, so this is memory alone'));

-- name: newer_vectors
select e.kind, e.id, e.vector, e.revision
from embeddings e
where e.org_id = %(org_id)s and e.user_id = %(user_id)s and e.revision > %(since)s and e.model = %(model)s
  and e.kind in ('memory', 'message');

-- name: messages_by_ids
select s.* from messages s where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.id = any(%(ids)s);
