/** The tables. The files in `sql/` have the same statements, for migrations that are kept as files. */
import type { Dialect } from '../connections/connection.ts';
import type { Tables } from './names.ts';

type Schema = (tables: Tables) => readonly string[];

/** Compared byte by byte: under a language's rules two different names could be equal. */
const postgresql: Schema = ({ fences, keys, keysByAge }) => [
  `CREATE TABLE IF NOT EXISTS ${fences} (
  resource text COLLATE "C" PRIMARY KEY,
  fence bigint NOT NULL
)`,
  `CREATE TABLE IF NOT EXISTS ${keys} (
  key text COLLATE "C" PRIMARY KEY,
  print text COLLATE "C" NOT NULL DEFAULT '',
  hits bigint NOT NULL DEFAULT 0,
  result bytea,
  created timestamptz NOT NULL DEFAULT now()
)`,
  `CREATE INDEX IF NOT EXISTS ${keysByAge} ON ${keys} (created)`,
];

/** VARBINARY: every other type ignores case, accents or spaces at the end. InnoDB: other engines have no transactions. */
const mysql: Schema = ({ fences, keys, keysByAge }) => [
  `CREATE TABLE IF NOT EXISTS ${fences} (
  resource VARBINARY(1024) NOT NULL PRIMARY KEY,
  fence BIGINT UNSIGNED NOT NULL,
  seen BIGINT UNSIGNED NOT NULL DEFAULT 0
) ENGINE = InnoDB`,
  `CREATE TABLE IF NOT EXISTS ${keys} (
  \`key\` VARBINARY(1024) NOT NULL PRIMARY KEY,
  print VARBINARY(128) NOT NULL DEFAULT '',
  hits BIGINT UNSIGNED NOT NULL DEFAULT 0,
  result LONGBLOB,
  created DATETIME(3) NOT NULL,
  INDEX ${keysByAge} (created)
) ENGINE = InnoDB`,
];

/** STRICT (SQLite 3.37): without it a number could be stored, and compared, as a text. */
const sqlite: Schema = ({ fences, keys, keysAlone, keysByAge }) => [
  `CREATE TABLE IF NOT EXISTS ${fences} (
  resource TEXT NOT NULL PRIMARY KEY,
  fence INTEGER NOT NULL
) STRICT`,
  `CREATE TABLE IF NOT EXISTS ${keys} (
  key TEXT NOT NULL PRIMARY KEY,
  print TEXT NOT NULL DEFAULT '',
  hits INTEGER NOT NULL DEFAULT 0,
  result BLOB,
  created INTEGER NOT NULL
) STRICT`,
  `CREATE INDEX IF NOT EXISTS ${keysByAge} ON ${keysAlone} (created)`,
];

const SCHEMAS: Readonly<Record<Dialect, Schema>> = { postgresql, mysql, sqlite };

export function schemaOf(dialect: Dialect, tables: Tables): readonly string[] {
  return SCHEMAS[dialect](tables);
}
