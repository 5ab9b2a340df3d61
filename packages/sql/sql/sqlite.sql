CREATE TABLE IF NOT EXISTS "holdfast_fence" (
  resource TEXT NOT NULL PRIMARY KEY,
  fence INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS "holdfast_key" (
  key TEXT NOT NULL PRIMARY KEY,
  print TEXT NOT NULL DEFAULT '',
  hits INTEGER NOT NULL DEFAULT 0,
  result BLOB,
  created INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS "holdfast_key_created" ON "holdfast_key" (created);
