/** `holdfast ls`: who holds what. */
import { JOB_COLUMNS, type JobView, makeJobView } from '../locks/job-view.ts';
import { LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import { LOCK_COLUMNS } from '../locks/lock-view.ts';
import { printJson, printLines, printNotice } from '../output.ts';
import { renderTable } from '../table.ts';

export interface ListFlags extends ReaderFlags {
  readonly limit: number;
  readonly all?: boolean;
  readonly jobs?: boolean;
}

export async function ls(prefix: string, flags: ListFlags): Promise<number> {
  const reader = await LockReader.open(flags);
  try {
    if (flags.jobs === true) return await lsJobs(prefix, flags, reader);
    const list = await reader.list(prefix, flags);
    if (flags.json) {
      printJson(list);
    } else {
      if (list.locks.length > 0) printLines(renderTable(list.locks, LOCK_COLUMNS, process.stdout.columns));
      // On standard error, so that an empty list is empty output in a pipe.
      else process.stderr.write(process.stderr.isTTY ? 'nobody holds a lock\n' : '');
      if (!list.isComplete) printNotice(`there are more than ${flags.limit}; see --limit`);
    }
    return 0;
  } finally {
    await reader.close();
  }
}

async function lsJobs(prefix: string, flags: ListFlags, reader: LockReader): Promise<number> {
  const jobs: JobView[] = [];
  let isComplete = true;
  for await (const job of reader.locks.jobs({ prefix })) {
    if (jobs.length === flags.limit) {
      isComplete = false;
      break;
    }
    jobs.push(makeJobView(job));
  }
  jobs.sort((a, b) => (a.name < b.name ? -1 : 1));
  if (flags.json) printJson({ jobs, isComplete });
  else if (jobs.length > 0) printLines(renderTable(jobs, JOB_COLUMNS, process.stdout.columns));
  else process.stderr.write(process.stderr.isTTY ? 'there is no job\n' : '');
  if (!isComplete && !flags.json) printNotice(`there are more than ${flags.limit}; see --limit`);
  return 0;
}
