/** A walk for a terminal: one line for each file, in the order in which the request first enters it. */
import type { Walk, WalkedFile } from './walk.ts';

function functionText({ name, calls }: WalkedFile['functions'][number]): string {
  return calls === 1 ? name : `${name} ×${calls}`;
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

export function walkText({ request, about, files }: Walk): string {
  const functions = total(files.map((file) => file.functions.length));
  const calls = total(files.map((file) => file.calls));
  const width = Math.max(...files.map(({ file }) => file.length));
  const lines = files.map((file) => {
    const names = file.functions.map(functionText).join(', ');
    return `${String(file.calls).padStart(5)}  ${file.file.padEnd(width)}  ${names}`;
  });
  return [
    `${request}: ${about}`,
    `${files.length} files, ${functions} functions, ${calls} calls`,
    '',
    'calls  file, and its functions in the order of their first calls',
    ...lines,
    '',
  ].join('\n');
}
