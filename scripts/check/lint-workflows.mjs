// Lints .github/workflows with actionlint, from PATH or through Go: `npm run lint:workflows`.
import { spawnSync } from 'node:child_process';
import { ROOT } from '../run.mjs';

const GO_PACKAGE = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.7';

/** @type {ReadonlyArray<readonly [command: string, args: readonly string[]]>} */
const WAYS = [
  ['actionlint', []],
  ['go', ['run', GO_PACKAGE]],
];

for (const [command, args] of WAYS) {
  const { error, status } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit' });
  if (error !== undefined) continue;
  if (status === 0) console.log('ok   workflows');
  process.exit(status ?? 1);
}
console.error('Neither actionlint nor Go is on PATH: the workflows were not looked at.');
process.exitCode = process.env['CI'] === undefined ? 0 : 1;
