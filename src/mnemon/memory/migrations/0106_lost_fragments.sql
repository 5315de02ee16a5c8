-- Until now all folds of a named entity had one key, so that a later fold replaced an earlier one whose fragments stayed
-- archived. They become active again; the fold names them, so that forgetting one still takes along its text in there.
with lost as (
  select m.org_id, m.user_id, m.id, f.id as fold_id
  from memories m
  join memories f on f.org_id = m.org_id and f.user_id = m.user_id and m.note = 'folded into ' || f.id
  where m.archive_reason = 'folded' and f.source = 'curated_fold' and not m.id = any(f.sources)
), named as (
  update memories f set sources = f.sources || l.ids
  from (select org_id, user_id, fold_id, array_agg(id order by id) as ids from lost group by org_id, user_id, fold_id) l
  where f.org_id = l.org_id and f.user_id = l.user_id and f.id = l.fold_id
)
update memories m set status = 'ACTIVE', archive_reason = null, archived_at = null, valid_to = null, note = null
from lost l where m.org_id = l.org_id and m.user_id = l.user_id and m.id = l.id;
