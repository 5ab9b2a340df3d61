/** Holds JSON against the schemas that the package publishes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { expect } from 'vitest';

const SCHEMAS = resolve(import.meta.dirname, '../../schemas');

const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
for (const file of readdirSync(SCHEMAS)) ajv.addSchema(JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')));

/** Reads one JSON text and expects it to be as the schema says. */
export function readAs<Value = Record<string, unknown>>(schema: string, text: string): Value {
  const value: unknown = JSON.parse(text);
  const isValid = ajv.validate(`holdfast-cli/${schema}.schema.json`, value);
  expect(isValid ? [] : ajv.errors, text).toEqual([]);
  // The schema has just said so.
  return value as Value;
}
