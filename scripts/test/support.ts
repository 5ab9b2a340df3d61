import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule, TestSuite } from 'vitest/node';

/** The result of the contract for one row of the matrix. */
export interface SupportRow {
  readonly title: string;
  /** When it was tried, by UTC: 2026-11-16. A later change of the code may not have been tried. */
  readonly day: string;
  readonly passed: number;
  readonly failed: number;
}

/** Written by a run of the matrix. A test compares the documentation of clients with it. */
export const SUPPORT_FILE: string = fileURLToPath(new URL('../../docs/support.json', import.meta.url));

/** The files that ask the contract. */
const CONTRACT = ['contract', 'several-servers'].map((name) => `/contract/${name}.test.ts`);

/** Records which rows of the contract passed in a run of the matrix. A row that a filter left out stays as it was. */
export class Support implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const contract = CONTRACT.flatMap(
      (file) => modules.find(({ moduleId }) => moduleId.endsWith(file)) ?? [],
    );
    if (contract.length < CONTRACT.length || process.env['HOLDFAST_MATRIX'] !== '1') return;
    const before = readRows();
    const rows = contract
      .flatMap(({ children }) => [...children.suites()])
      .flatMap((suite) => rowOf(suite) ?? before.find(({ title }) => title === suite.name) ?? []);
    writeFileSync(SUPPORT_FILE, `${JSON.stringify(rows, null, 2)}\n`);
  }
}

function readRows(): readonly SupportRow[] {
  return existsSync(SUPPORT_FILE) ? (JSON.parse(readFileSync(SUPPORT_FILE, 'utf8')) as SupportRow[]) : [];
}

/** Null when a test of the row was skipped. */
function rowOf(suite: TestSuite): SupportRow | null {
  const states = [...suite.children.allTests()].map((test) => test.result().state);
  if (states.length === 0 || states.includes('skipped')) return null;
  const passed = states.filter((state) => state === 'passed').length;
  const day = new Date().toISOString().slice(0, 10);
  return { title: suite.name, day, passed, failed: states.length - passed };
}
