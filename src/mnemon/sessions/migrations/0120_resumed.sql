-- A message that names an ended session goes to the one that resumed it: found by what that one resumed.
create index sessions_resumed on sessions (org_id, user_id, resumed_from) where resumed_from is not null;
