/** What a seed is played with, and what came of it. */
import type { ScriptEngine } from '../../../testing/src/lua/script-engine.ts';
import type { Verdict } from './checks/judge.ts';
import type { PlantedBug } from './planted/bug.ts';

export interface ScenarioOptions {
  readonly seed: number;
  readonly engine: ScriptEngine;
  /** Whether every step is kept in words. */
  readonly isTold?: boolean;
  readonly bug?: PlantedBug;
  /** How many nodes must agree; drawn by the seed when it is not said. */
  readonly nodes?: number;
}

export interface Outcome {
  readonly seed: number;
  readonly verdicts: readonly Verdict[];
  readonly hash: string;
  readonly lines: readonly string[];
  /** True time that went by. */
  readonly virtualMs: number;
  /** Scripts that nodes ran. */
  readonly operations: number;
  readonly grants: number;
  readonly faults: number;
  readonly title: string;
}
