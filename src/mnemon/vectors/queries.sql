-- name: begin_active
-- The first model that writes vectors is the one that is searched.
insert into active_embedders (org_id, model, since) values (%(org_id)s, %(model)s, %(now)s)
on conflict (org_id) do nothing;

-- name: flip_active
insert into active_embedders (org_id, model, since, settled) values (%(org_id)s, %(model)s, %(now)s, false)
on conflict (org_id) do update set model = excluded.model, since = excluded.since, settled = false;

-- name: other_active
-- The operator's view: organizations whose vectors are of another model.
select org_id, model from active_embedders where model <> %(model)s order by org_id;

-- name: widths
-- The operator's view: how many dimensions an organization's vectors of the model have, told by one of them.
select a.org_id, w.width
from active_embedders a cross join lateral (
  select vector_dims(e.vector) as width from embeddings e
  where e.org_id = a.org_id and e.model = a.model order by e.user_id limit 1) w
where a.model = %(model)s and w.width <> %(dimension)s order by a.org_id;

-- name: unsettled
-- The operator's view: organizations that were flipped and not looked after since.
select org_id from active_embedders where model = %(model)s and not settled order by org_id;

-- name: settle
update active_embedders set settled = true where org_id = %(org_id)s and model = %(model)s;

-- name: people
select user_id from users where org_id = %(org_id)s and user_id > %(after)s order by user_id limit %(most)s;
