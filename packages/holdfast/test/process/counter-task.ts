/** What a counting process is told and what it says: see `children/counter.ts`. */
import type { ClientKind } from './children/store.ts';

export interface CounterTask {
  readonly port: number;
  readonly client: ClientKind;
  readonly guard: 'lock' | 'mutex' | 'none';
  readonly callers: number;
  /** How many increments this process makes; null for as many as it can until it is told to stop. */
  readonly increments: number | null;
  /** Null for the default. */
  readonly handovers: number | null;
  readonly leaseMs: number;
  /** The servers that decide who has the lock, when they are others than the one that has the counter. */
  readonly quorum?: readonly number[];
  /** Of several: how long one may take to answer. */
  readonly nodeTimeoutMs?: number;
}

export interface CounterLine {
  /** Said when it is ready to begin. */
  readonly session?: string;
  /** Said at the end: sections that wrote. */
  readonly increments?: number;
  /** Said at the end: sections that found their lease lost. */
  readonly losses?: number;
}

export const COUNTER = 'counter';
export const LOG = 'log';
export const LOCK = 'guard';
