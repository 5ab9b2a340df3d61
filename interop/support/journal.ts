/**
 * A file to which every owner, whatever its language, appends one line when it enters and one when it leaves. The kernel
 * orders the appends of all processes. So the file is the order of the owners, and two owners at once show as two lines
 * `enter` without a `leave` in between.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Violation } from '../../packages/holdfast/test/support/violation.ts';

/** One ownership. Times are of the machine's wall clock. */
export interface Turn {
  readonly who: string;
  readonly enteredMs: number;
  readonly leftMs: number;
  /** 0 for a lock without one. */
  readonly fence: number;
}

export function journalIn(folder: string, name: string): string {
  return join(folder, `${name}.journal`);
}

/** The ownerships in their order. Two at once are a violation. */
export function readTurns(path: string): readonly Turn[] {
  return turnsOf(readFileSync(path, 'utf8').split('\n').slice(0, -1));
}

export function turnsOf(lines: readonly string[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (let index = 0; index < lines.length; index += 2) {
    const enter = wordsOf(lines[index]);
    const leave = wordsOf(lines[index + 1]);
    const isTurn = enter.verb === 'enter' && leave.verb === 'leave' && enter.who === leave.who;
    if (!isTurn) {
      const around = lines.slice(Math.max(0, index - 2), index + 4).join('; ');
      throw new Violation(`two owners at once, line ${index + 1} of ${lines.length}: ${around}`);
    }
    turns.push({ who: enter.who, enteredMs: enter.atMs, leftMs: leave.atMs, fence: enter.fence });
  }
  return turns;
}

function wordsOf(line = ''): { verb: string; who: string; atMs: number; fence: number } {
  const [verb = '', who = '', at, fence] = line.split(' ');
  return { verb, who, atMs: Number(at), fence: Number(fence) };
}
