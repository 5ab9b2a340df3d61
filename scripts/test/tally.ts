import { writeSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/** Ends a run with one line that says how many tests passed, failed and were skipped. */
export class Tally implements Reporter {
  #line = '';

  constructor() {
    // Written on exit, because Vitest may print warnings after the end of the run.
    process.once('exit', () => {
      if (this.#line !== '') writeSync(process.stdout.fd, `${this.#line}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // A test that is pending at the end of the run never finished.
        count[state === 'pending' ? 'failed' : state] += 1;
      }
      // A file that does not load and a hook that throws fail without a test.
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    this.#line = `${count.passed} passed, ${count.failed} failed${skipped}`;
  }
}
