/** What a counting process is told and what it says: see `children/counter.ts`. */
import type { ClientKind } from '../children/store.ts';

export interface CounterTask {
  readonly port: number;
  readonly client: ClientKind;
  readonly guard: 'lock' | 'mutex' | 'none';
  readonly callers: number;
  /** How many increments this process makes; null for as many as it can until it is told to stop. */
  readonly increments: number | null;
  /** Null for the default, and for as long as there is somebody to hand over to. */
  readonly handovers: number | null;
  readonly leaseMs: number;
  /** The servers that decide who has the lock, when they are others than the one that has the counter. */
  readonly quorum?: readonly number[];
  /** Of several: how long one may take to answer. */
  readonly nodeTimeoutMs?: number;
  /** The sentinels that name the server that decides, when it is another than the one that has the counter. */
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[];
  /** How many replicas of it must have the lock. */
  readonly replicas?: number;
  /** Whether the counter refuses an owner once it has met a later one. */
  readonly checksFence?: boolean;
}

export interface CounterLine {
  /** Said when it is ready to begin. */
  readonly session?: string;
  /** Said at the end: sections that wrote. */
  readonly increments?: number;
  /** Said at the end: sections that found their lease lost. */
  readonly losses?: number;
  /** Said at the end: sections that a fenced counter refused. */
  readonly refusals?: number;
  /** Said at the end: those among them that held their lease all the same. There were two owners. */
  readonly violations?: number;
  /** Said at the end: the longest time in which no section of this process came to its end. */
  readonly pauseMs?: number;
}

export const COUNTER = 'counter';
export const LOG = 'log';
/** The largest fence that a fenced counter has met. */
export const FENCE = 'fence';
/** What the sentinels call the server that they watch over. */
export const PRIMARY = 'primary';
export const LOCK_NAME = 'guard';
