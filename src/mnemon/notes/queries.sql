-- name: put
-- The note holds the value; one that is there is overwritten.
insert into notes (org_id, user_id, namespace, key, value, ttl_s, expires_at, created_at, updated_at)
values (%(org_id)s, %(user_id)s, %(namespace)s, %(key)s, %(value)s, %(ttl_s)s, %(expires_at)s, %(now)s, %(now)s)
on conflict (org_id, user_id, namespace, key) do update
set value = excluded.value, ttl_s = excluded.ttl_s, expires_at = excluded.expires_at,
    updated_at = excluded.updated_at, version = notes.version + 1;

-- name: put_if_absent
-- The note holds the value, unless there is one.
insert into notes (org_id, user_id, namespace, key, value, ttl_s, expires_at, created_at, updated_at)
values (%(org_id)s, %(user_id)s, %(namespace)s, %(key)s, %(value)s, %(ttl_s)s, %(expires_at)s, %(now)s, %(now)s)
on conflict (org_id, user_id, namespace, key) do nothing;

-- name: delete
delete from notes
where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s and key = %(key)s;

-- name: clear
-- Every note in the namespace and in those below it is gone.
delete from notes
where org_id = %(org_id)s and user_id = %(user_id)s
  and namespace[:cardinality(%(namespace)s::text[])] = %(namespace)s::text[];

-- name: pop
-- The last note of the namespace is gone, and given back.
delete from notes
where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s and place = (
  select max(place) from notes
  where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s
    and (expires_at is null or expires_at > %(now)s))
returning *;

-- name: sweep
-- The person's expired notes are gone.
delete from notes where org_id = %(org_id)s and user_id = %(user_id)s and expires_at <= %(now)s;

-- name: next_expiry
-- When the next of the person's notes expires.
select min(expires_at) as at from notes where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: drop_vectors
delete from note_vectors
where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s and key = %(key)s;

-- name: drop_texts
delete from note_texts
where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s and key = %(key)s;

-- name: add_text
insert into note_texts (org_id, user_id, namespace, key, part, content)
values (%(org_id)s, %(user_id)s, %(namespace)s, %(key)s, %(part)s, %(content)s);

-- name: add_vector
insert into note_vectors (org_id, user_id, namespace, key, model, part, vector)
values (%(org_id)s, %(user_id)s, %(namespace)s, %(key)s, %(model)s, %(part)s, %(vector)s::vector);

-- name: waiting_texts
-- Texts of the person that have no vector of this model yet.
select t.namespace, t.key, t.part, t.content from note_texts t
where t.org_id = %(org_id)s and t.user_id = %(user_id)s and not exists (
  select from note_vectors v
  where v.org_id = t.org_id and v.user_id = t.user_id and v.namespace = t.namespace and v.key = t.key
    and v.part = t.part and v.model = %(model)s)
order by t.namespace, t.key, t.part limit %(most)s;

-- name: count_texts
-- The texts of every person of the organization, and how many of them have a vector of this model.
select count(t.user_id) as texts, count(v.user_id) as done
from note_texts t left join note_vectors v
  on v.org_id = t.org_id and v.user_id = t.user_id and v.namespace = t.namespace and v.key = t.key
  and v.part = t.part and v.model = %(model)s
where t.org_id = %(org_id)s;

-- name: drop_other_vectors
-- What a program made itself stays: nobody else can make it again.
delete from note_vectors
where org_id = %(org_id)s and user_id = %(user_id)s and model <> %(model)s and model <> %(caller)s;

-- name: one
select * from notes
where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s and key = %(key)s
  and (expires_at is null or expires_at > %(now)s);

-- name: refresh
-- Each of these notes lasts its whole time again.
update notes set expires_at = %(now)s + make_interval(secs => ttl_s)
where org_id = %(org_id)s and user_id = %(user_id)s and ttl_s is not null and place = any(%(places)s);

-- name: search
-- Notes below the namespace that meet every condition; nearest first where a vector is given.
with near as (
  select namespace, key, max(1 - (vector <=> %(vector)s::vector)) as score
  from note_vectors
  where org_id = %(org_id)s and user_id = %(user_id)s and model = %(model)s
    and %(vector)s::text is not null and vector_dims(vector) = %(dimension)s
    -- Nothing is near to what has no words.
    and vector_norm(vector) > 0 and vector_norm(%(vector)s::vector) > 0
  group by namespace, key
)
select notes.*, near.score
from notes left join near on near.namespace = notes.namespace and near.key = notes.key
where notes.org_id = %(org_id)s and notes.user_id = %(user_id)s
  and notes.namespace[:cardinality(%(namespace)s::text[])] = %(namespace)s::text[]
  and (not %(exact)s or cardinality(notes.namespace) = cardinality(%(namespace)s::text[]))
  and (notes.expires_at is null or notes.expires_at > %(now)s)
  and (%(vector)s::text is null or near.score is not null)
  and (%(before)s::text is null or notes.key collate "C" < %(before)s)
  and (%(after)s::text is null or notes.key collate "C" > %(after)s)
  and not exists (
    select 1 from jsonb_array_elements(%(conditions)s::jsonb) as c
    cross join lateral (select array(select jsonb_array_elements_text(c -> 'path'))) as p (path)
    cross join lateral (select notes.value #> p.path, c -> 'value') as x (held, wanted)
    where not coalesce(case c ->> 'op'
      when 'eq' then held = wanted
      when 'contains' then held @> wanted
      when 'ne' then held is distinct from wanted
      when 'gt' then jsonb_typeof(held) = jsonb_typeof(wanted) and held > wanted
      when 'gte' then jsonb_typeof(held) = jsonb_typeof(wanted) and held >= wanted
      when 'lt' then jsonb_typeof(held) = jsonb_typeof(wanted) and held < wanted
      when 'lte' then jsonb_typeof(held) = jsonb_typeof(wanted) and held <= wanted
    end, false))
order by near.score desc nulls last,
  case when %(order)s = 'key' then notes.key collate "C" end,
  case when %(order)s = '-key' then notes.key collate "C" end desc,
  case when %(order)s = 'place' then notes.place end,
  case when %(order)s = '-place' then notes.place end desc,
  case when %(order)s = '-updated' then notes.updated_at end desc, notes.place desc
limit %(most)s offset %(offset)s;

-- name: namespaces
-- The namespaces that hold something, cut to a depth, that begin and end as the patterns say; '*' stands for any label.
select distinct namespace[:%(depth)s] as namespace
from notes
where org_id = %(org_id)s and user_id = %(user_id)s and (expires_at is null or expires_at > %(now)s)
  and cardinality(namespace) >= greatest(cardinality(%(prefix)s::text[]), cardinality(%(suffix)s::text[]))
  and not exists (
    select 1 from unnest(%(prefix)s::text[]) with ordinality as w (label, at)
    where label <> '*' and namespace[at::int] is distinct from label)
  and not exists (
    select 1 from unnest(%(suffix)s::text[]) with ordinality as w (label, at)
    where label <> '*'
      and namespace[cardinality(namespace) - cardinality(%(suffix)s::text[]) + at::int] is distinct from label)
order by 1 limit %(most)s offset %(offset)s;
