import { writeSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/** Ends a run with one line that says how many tests passed, failed and were skipped. */
export class Tally implements Reporter {
  #line = '';

  constructor() {
    // Vitest may still warn after the run, about a process that does not close. On exit nothing comes after us.
    process.once('exit', () => {
      if (this.#line !== '') writeSync(process.stdout.fd, `${this.#line}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // Pending at the end of a run: it never got to say.
        count[state === 'pending' ? 'failed' : state] += 1;
      }
      // A file that cannot be loaded and a hook that throws have no test to fail.
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    this.#line = `${count.passed} passed, ${count.failed} failed${skipped}`;
  }
}
