/** `holdfast ls`: who holds what. */
import { LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import { LOCK_COLUMNS } from '../locks/lock-view.ts';
import { printJson, printLines, printNotice } from '../output.ts';
import { renderTable } from '../table.ts';

export interface ListFlags extends ReaderFlags {
  readonly limit: number;
  readonly all?: boolean;
}

export async function ls(prefix: string, flags: ListFlags): Promise<number> {
  const reader = await LockReader.open(flags);
  try {
    const list = await reader.list(prefix, flags);
    if (flags.json) {
      printJson(list);
    } else {
      if (list.locks.length > 0) printLines(renderTable(list.locks, LOCK_COLUMNS, process.stdout.columns));
      // Not on standard output: in a pipe nothing is nothing.
      else process.stderr.write(process.stderr.isTTY ? 'nobody holds a lock\n' : '');
      if (!list.isComplete) printNotice(`there are more than ${flags.limit}; see --limit`);
    }
    return 0;
  } finally {
    await reader.close();
  }
}
