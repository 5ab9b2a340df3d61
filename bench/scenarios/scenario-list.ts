/** The scenarios, in the order in which they run and are printed. */

import { callers } from './callers.ts';
import { farProcess } from './hand-off/far-process.ts';
import { handOff } from './hand-off/hand-off.ts';
import { linger } from './hand-off/linger.ts';
import { wake } from './hand-off/wake.ts';
import { heap } from './heap.ts';
import { monitor } from './monitor/monitor.ts';
import { once } from './once.ts';
import { oneCaller } from './one-caller.ts';
import { processes } from './processes.ts';
import { quorum } from './quorum.ts';
import { renewal } from './renewal.ts';
import { sale } from './sale.ts';
import type { Scenario } from './scenario.ts';
import { fenceInSql } from './sql/fence-in-sql.ts';
import { fenceInSqlite } from './sql/fence-in-sqlite.ts';
import { telemetry } from './telemetry/telemetry.ts';
import { waiters } from './waiters.ts';

export const SCENARIOS: readonly Scenario[] = [
  oneCaller,
  linger,
  telemetry,
  callers,
  waiters,
  processes,
  handOff,
  farProcess,
  wake,
  quorum,
  renewal,
  once,
  heap,
  sale,
  fenceInSql,
  fenceInSqlite,
  monitor,
];
