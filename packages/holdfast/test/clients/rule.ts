/** How a rule of the suite becomes a test: unless the client declines it, which is told at the end. */
import { afterAll, test } from 'vitest';
import type { Flavour } from './caller.ts';

export type Rule = (title: string, body: () => Promise<void>) => void;

/** Call it inside `describe`. */
export function ruleOf({ declines = {} }: Flavour, suite: string): Rule {
  const declined: string[] = [];
  afterAll(() => {
    if (declined.length > 0) console.info(`${suite}, declined:\n- ${declined.join('\n- ')}`);
  });
  return (title, body) => {
    const reason = declines[title];
    if (reason === undefined) test(title, body);
    else declined.push(`${title}: ${reason}`);
  };
}
