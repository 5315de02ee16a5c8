-- name: insert_organization
insert into organizations (org_id, created_at) values (%(org_id)s, %(now)s) on conflict (org_id) do nothing

-- name: organizations
-- Every organization with its number of live keys: the operator's view.
select o.org_id, o.created_at,
  (select count(*) from keys k where k.org_id = o.org_id and k.revoked_at is null) as keys
from organizations o order by o.org_id

-- name: organization_exists
select 1 as found from organizations where org_id = %(org_id)s

-- name: insert_key
insert into keys (org_id, key_id, name, secret, grants, bound_user, created_at, expires_at)
values (%(org_id)s, %(key_id)s, %(name)s, %(secret)s, %(grants)s, %(bound_user)s, %(now)s, %(expires_at)s)

-- name: key_by_digest
select key_id, name, secret, grants, bound_user, created_at, expires_at, revoked_at, used_at
from keys where org_id = %(org_id)s and secret = %(secret)s

-- name: key_end
select expires_at, revoked_at from keys where org_id = %(org_id)s and key_id = %(key_id)s

-- name: keys
select key_id, name, secret, grants, bound_user, created_at, expires_at, revoked_at, used_at
from keys where org_id = %(org_id)s order by key_id

-- name: touch_key
update keys set used_at = %(now)s where org_id = %(org_id)s and key_id = %(key_id)s

-- name: revoke_key
update keys set revoked_at = coalesce(revoked_at, %(now)s) where org_id = %(org_id)s and key_id = %(key_id)s

-- name: revoke_again
-- A restored key that was revoked after the backup.
update keys set revoked_at = %(at)s where org_id = %(org_id)s and key_id = %(key_id)s and revoked_at is null

-- name: end_signins_of_key
-- Whoever signed in with a key that was revoked is signed out.
delete from signins where org_id = %(org_id)s and actor = %(actor)s

-- name: append_audit
-- Locks the head of one of the organization's lanes until the transaction ends: sent with the commit, see
-- `Tx.at_commit`.
call append_audit(%(org_id)s, %(id)s, %(now)s, %(actor)s, %(action)s, %(target)s)

-- name: audit_heads
select lane, seq, hash from audit_heads where org_id = %(org_id)s

-- name: audit_links
-- The entries in the order of their lanes, after this one; a time that is no moment is read as null.
select org_id, lane, seq, id, case when isfinite(at) then (extract(epoch from at) * 1000000)::bigint end as at_us,
  actor, action, target, hash, linked_lane, linked_seq, linked_hash
from audit
where org_id = %(org_id)s and (%(lane)s::smallint is null or (lane, seq, id) > (%(lane)s, %(seq)s, %(id)s))
order by lane, seq, id limit %(most)s

-- name: audit_sight
-- Whether the login reads every organization's log; for the operator.
select current_user as login, case
  when has_table_privilege('audit', 'select') and has_table_privilege('audit_heads', 'select')
    and has_table_privilege('organizations', 'select')
  then not (row_security_active('audit') or row_security_active('audit_heads') or row_security_active('organizations'))
  else false end as whole

-- name: audit_lost_link
-- The first entry that names an entry of another lane which is not there, or has another hash.
select a.lane, a.seq, a.linked_lane, a.linked_seq, b.hash is null as gone
from audit a
left join audit b on b.org_id = a.org_id and b.org_id = %(org_id)s and b.lane = a.linked_lane and b.seq = a.linked_seq
where a.org_id = %(org_id)s and a.linked_lane is not null and b.hash is distinct from a.linked_hash
order by a.linked_lane, a.linked_seq, a.lane, a.seq limit 1

-- name: audit
-- Newest first, from the entry before this one; without one from the end of time. Without an `or`, so that the index on
-- time serves both.
select id, at, actor, action, target from audit
where org_id = %(org_id)s and (at, id) < (
  select at, id from audit where org_id = %(org_id)s and id = %(before)s
  union all select 'infinity', '' where %(before)s::text is null)
order by at desc, id desc limit %(most)s

-- name: reply_lock
-- Whether we are the only one answering this key now; held until the transaction ends.
select pg_try_advisory_xact_lock(hashtextextended(%(org_id)s || '/' || %(caller)s || '/' || %(key)s, 0)) as ours

-- name: reply
select fingerprint, status, body, subject from replies
where org_id = %(org_id)s and caller = %(caller)s and key = %(key)s and expires_at > %(now)s

-- name: keep_reply
insert into replies (org_id, caller, key, fingerprint, status, body, subject, concerns, expires_at)
values (
  %(org_id)s, %(caller)s, %(key)s, %(fingerprint)s, %(status)s, %(body)s, %(subject)s, %(concerns)s, %(expires_at)s)
on conflict (org_id, caller, key) do update set fingerprint = excluded.fingerprint, status = excluded.status,
  body = excluded.body, subject = excluded.subject, concerns = excluded.concerns, expires_at = excluded.expires_at

-- name: drop_old_replies
-- A few at a time, with each write.
delete from replies where org_id = %(org_id)s and (org_id, caller, key) in (
  select org_id, caller, key from replies
  where org_id = %(org_id)s and expires_at <= %(now)s limit 20 for update skip locked)

-- name: insert_signin
insert into signins (org_id, digest, kind, actor, grants, created_at, expires_at)
values (%(org_id)s, %(digest)s, %(kind)s, %(actor)s, %(grants)s, %(now)s, %(expires_at)s)

-- name: signin
-- A session lasts no longer than the key that opened it, and may no more than that key may now. `key_id` and the key's
-- columns are null where a link opened it.
select s.actor, s.grants, s.expires_at, k.key_id, k.grants as key_grants, k.expires_at as key_expires_at
from signins s left join keys k on k.org_id = s.org_id and k.key_id = s.actor
where s.org_id = %(org_id)s and s.digest = %(digest)s and s.kind = %(kind)s and s.expires_at > %(now)s
  and k.revoked_at is null and (k.expires_at is null or k.expires_at > %(now)s)

-- name: end_signin
delete from signins where org_id = %(org_id)s and digest = %(digest)s and kind = %(kind)s
returning actor, grants, expires_at

-- name: drop_old_signins
delete from signins where org_id = %(org_id)s and expires_at <= %(now)s
