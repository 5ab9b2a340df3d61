/** What the command line may ask for. */
import { parseArgs } from 'node:util';
import type { Entrant } from './contestant.ts';
import { ROSTER } from './roster.ts';
import type { Scenario } from './scenario.ts';

export interface Asked {
  readonly isQuick: boolean;
  readonly isJson: boolean;
  readonly scenarios: readonly Scenario[];
  /** Whether nothing was left out. */
  readonly isWhole: boolean;
  isAsked(entrant: Entrant): boolean;
}

function checkContestants(names: readonly string[]): void {
  for (const name of names) {
    if (ROSTER.some(({ id }) => id.startsWith(name))) continue;
    const known = ROSTER.map(({ id }) => id).join(', ');
    throw new Error(`expected --contestant to be, or to begin, one of ${known}; got ${name}`);
  }
}

export function readArguments(scenarios: readonly Scenario[]): Asked {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      scenario: { type: 'string', multiple: true, default: [] },
      contestant: { type: 'string', multiple: true, default: [] },
    },
  });
  const names = scenarios.map(({ name }) => name);
  const unknown = values.scenario.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new Error(`expected --scenario to be one of ${names.join(', ')}; got ${unknown}`);
  }
  checkContestants(values.contestant);
  return {
    isQuick: values.quick,
    isJson: values.json,
    scenarios: scenarios.filter(({ name }) => values.scenario.length === 0 || values.scenario.includes(name)),
    isWhole: values.scenario.length === 0 && values.contestant.length === 0,
    isAsked: ({ id }) =>
      values.contestant.length === 0 || values.contestant.some((name) => id.startsWith(name)),
  };
}
