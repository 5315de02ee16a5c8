-- A write asks for the claims against its keys, to end those that say what the memory now says; few rows are claims.
create index memories_claims on memories (org_id, user_id, claim_of) where claim_of is not null;
