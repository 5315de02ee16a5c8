-- name: tombstones
select hash, at from tombstones where org_id = %(org_id)s and user_id = %(user_id)s and hash = any(%(hashes)s);

-- name: lay_tombstone
insert into tombstones (org_id, user_id, hash, at) values (%(org_id)s, %(user_id)s, %(hash)s, %(at)s)
on conflict (org_id, user_id, hash) do update set at = greatest(tombstones.at, excluded.at);
