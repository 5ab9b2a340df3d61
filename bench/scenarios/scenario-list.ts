/** The scenarios, in the order in which they run and are printed. */

import { callers } from './callers.ts';
import { farProcess } from './far-process.ts';
import { fenceInSql } from './fence-in-sql.ts';
import { fenceInSqlite } from './fence-in-sqlite.ts';
import { handOff } from './hand-off.ts';
import { heap } from './heap.ts';
import { linger } from './linger.ts';
import { monitor } from './monitor/monitor.ts';
import { once } from './once.ts';
import { oneCaller } from './one-caller.ts';
import { processes } from './processes.ts';
import { quorum } from './quorum.ts';
import { renewal } from './renewal.ts';
import { sale } from './sale.ts';
import type { Scenario } from './scenario.ts';
import { telemetry } from './telemetry/telemetry.ts';
import { waiters } from './waiters.ts';
import { wake } from './wake.ts';

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
