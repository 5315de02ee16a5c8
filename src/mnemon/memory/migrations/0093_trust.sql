-- Trust as an order. `trust` keeps its two words; the level is one of six. Rows without a level, from an earlier release
-- or export, are judged by their source when they are read.
alter table memories
  add column trust_level text
    check (trust_level in ('operator', 'person', 'agent', 'tool', 'document', 'unknown')),
  -- Which one of its sources said it, like `tool:crm`; null: the source itself.
  add column origin text,
  -- The key of what a more trusted source says, beside which this stands as a claim.
  add column claim_of text;
alter table memory_versions
  add column trust_level text
    check (trust_level in ('operator', 'person', 'agent', 'tool', 'document', 'unknown')),
  add column origin text;
