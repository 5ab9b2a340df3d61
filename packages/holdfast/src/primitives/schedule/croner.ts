/** Loads `croner`, an optional peer of this package, when a cron pattern is used for the first time. */
import { createRequire } from 'node:module';
import { LockConfigError } from '../../errors.ts';

/** As much of croner's `Cron` as is used: never its timers. */
export interface CronPattern {
  nextRun(after: Date): Date | null;
}

interface Croner {
  readonly Cron: new (pattern: string, options: { readonly timezone: string }) => CronPattern;
}

/** The version that the behaviour around daylight saving was tested with. */
const INSTALL = 'npm install croner@^11';

let loaded: Croner | null = null;

/** Throws how to install it where it is missing. `load` is for tests. */
export function loadCroner(load: () => unknown = requireCroner): Croner {
  if (loaded !== null && load === requireCroner) return loaded;
  let croner: unknown;
  try {
    croner = load();
  } catch (error) {
    const message = `expected the package croner for cron patterns, and it cannot be loaded; install it: ${INSTALL}`;
    throw new LockConfigError(message, { cause: error });
  }
  if (!isCroner(croner)) {
    throw new LockConfigError(`expected croner 11, got another version; install it: ${INSTALL}`);
  }
  if (load === requireCroner) loaded = croner;
  return croner;
}

function isCroner(value: unknown): value is Croner {
  return typeof value === 'object' && value !== null && 'Cron' in value && typeof value.Cron === 'function';
}

/** At once, not by `import()`: a pattern that is wrong is refused by the call that brings it. */
function requireCroner(): unknown {
  // The package is built as CommonJS too, which has no `import.meta`.
  const here = typeof __filename === 'string' ? __filename : import.meta.url;
  return createRequire(here)('croner');
}
