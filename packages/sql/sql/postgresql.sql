CREATE TABLE IF NOT EXISTS "holdfast_fence" (
  resource text COLLATE "C" PRIMARY KEY,
  fence bigint NOT NULL
);

CREATE TABLE IF NOT EXISTS "holdfast_key" (
  key text COLLATE "C" PRIMARY KEY,
  print text COLLATE "C" NOT NULL DEFAULT '',
  hits bigint NOT NULL DEFAULT 0,
  result bytea,
  created timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS "holdfast_key_created" ON "holdfast_key" (created);
