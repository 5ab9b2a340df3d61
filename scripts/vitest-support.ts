import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule, TestSuite } from 'vitest/node';

/** What the contract said of one row of the matrix. */
export interface SupportRow {
  readonly title: string;
  readonly passed: number;
  readonly failed: number;
}

/** Written by a run of the matrix, read by the test that keeps the page of the clients current. */
export const SUPPORT_FILE: string = fileURLToPath(new URL('../docs/support.json', import.meta.url));

/** Writes down which rows of the contract passed, in runs of the matrix. A row that a filter left out stays as it was. */
export class Support implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const contract = modules.find(({ moduleId }) => moduleId.endsWith('/contract/contract.test.ts'));
    if (contract === undefined || process.env['HOLDFAST_MATRIX'] !== '1') return;
    const before = readRows();
    const rows = [...contract.children.suites()].flatMap(
      (suite) => rowOf(suite) ?? before.find(({ title }) => title === suite.name) ?? [],
    );
    writeFileSync(SUPPORT_FILE, `${JSON.stringify(rows, null, 2)}\n`);
  }
}

function readRows(): readonly SupportRow[] {
  return existsSync(SUPPORT_FILE) ? (JSON.parse(readFileSync(SUPPORT_FILE, 'utf8')) as SupportRow[]) : [];
}

/** Null when it did not run as a whole. */
function rowOf(suite: TestSuite): SupportRow | null {
  const states = [...suite.children.allTests()].map((test) => test.result().state);
  if (states.length === 0 || states.includes('skipped')) return null;
  const passed = states.filter((state) => state === 'passed').length;
  return { title: suite.name, passed, failed: states.length - passed };
}
