/**
 * The settings in force. A new file is read and checked as a whole before it replaces them; a file that is refused leaves
 * the old ones in force, and the reason is kept for the alert `config-refused`.
 */
import { readFileSync } from 'node:fs';
import { formatIssue } from './json-reader.ts';
import { type ParsedConfig, parseConfig } from './parse.ts';
import { type SecretReader, systemSecrets } from './secret.ts';
import type { AlertSettings } from './settings.ts';

/** Named in the alert and the log; `--check-config` lists all. */
const ISSUES_SHOWN = 3;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads a file and checks it. Throws a `ConfigError` with every mistake, one a line. */
export function loadConfig(
  path: string,
  fleet?: string,
  secrets: SecretReader = systemSecrets,
): AlertSettings {
  const parsed = readConfig(path, fleet, secrets);
  if (typeof parsed === 'string') throw new ConfigError(parsed);
  if (parsed.isGood) return parsed.settings;
  throw new ConfigError(parsed.issues.map((issue) => `${path}: ${formatIssue(issue)}`).join('\n'));
}

/** A string says why the file cannot be read at all. */
function readConfig(path: string, fleet: string | undefined, secrets: SecretReader): ParsedConfig | string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return `expected ${path} to be a file that can be read, got ${code}`;
  }
  return parseConfig(text, fleet, secrets);
}

export class SettingsHolder {
  readonly #listeners = new Set<() => void>();
  #current: AlertSettings;
  #refusal: string | null = null;

  constructor(first: AlertSettings) {
    this.#current = first;
  }

  get current(): AlertSettings {
    return this.#current;
  }

  /** Why the last file was refused; null when it was taken. */
  get refusal(): string | null {
    return this.#refusal;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the file again. Returns whether it is in force now. */
  reload(path: string, secrets: SecretReader = systemSecrets): boolean {
    const parsed = readConfig(path, this.#current.fleet, secrets);
    this.#refusal = refusalOf(parsed, this.#current);
    if (this.#refusal === null && typeof parsed !== 'string' && parsed.isGood)
      this.#current = parsed.settings;
    for (const listener of this.#listeners) listener();
    return this.#refusal === null;
  }
}

function refusalOf(parsed: ParsedConfig | string, current: AlertSettings): string | null {
  if (typeof parsed === 'string') return parsed;
  if (parsed.isGood) return fixedChangeOf(parsed.settings, current);
  const more = parsed.issues.length - ISSUES_SHOWN;
  const shown = parsed.issues.slice(0, ISSUES_SHOWN).map(formatIssue).join('; ');
  return `${shown}${more > 0 ? `; and ${more} more` : ''}`;
}

/** What cannot change while the monitor runs; null when nothing of it does. */
function fixedChangeOf({ fleet, stateUrl }: AlertSettings, current: AlertSettings): string | null {
  // The name is part of every key in Redis: another name is another state, and so is another Redis.
  if (fleet !== current.fleet)
    return `expected the fleet to stay ${current.fleet}, got ${fleet}: restart the monitor`;
  return stateUrl?.reveal() === current.stateUrl?.reveal()
    ? null
    : 'expected state.redis to stay as it was, got another: restart the monitor';
}
