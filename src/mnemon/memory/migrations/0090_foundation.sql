-- What every turn is given of a person is found without looking at all that is known about them.
create index memories_foundation on memories (org_id, user_id)
  where status = 'ACTIVE' and (pinned or source = 'seeded_profile');
