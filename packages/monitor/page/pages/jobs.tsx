/** Jobs: did it run, where, how long, how did it end, and when is the next? */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { JobView, JobsPage as Page } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import type { ApiError } from '../data/http.ts';
import { poll } from '../data/polling.ts';
import { count, duration, moment, seconds, visible } from '../data/words.ts';
import { isStale } from '../parts/banners.tsx';
import { Shape, type ShapeName } from '../parts/marks.tsx';
import { Empty, Failure, Skeleton } from '../parts/states.tsx';

/** The monitor reads jobs while somebody asks for them. */
const ASK_EVERY_MS = 2_000;

interface Shown {
  readonly words: string;
  readonly shape: ShapeName;
  readonly isBad: boolean;
  readonly meaning: string;
}

const STATES: Readonly<Record<JobView['state'], Shown>> = {
  running: { words: 'running', shape: 'dot', isBad: false, meaning: 'A process runs it now.' },
  done: { words: 'done', shape: 'tick', isBad: false, meaning: 'It ran, and its body returned.' },
  failed: { words: 'failed', shape: 'cross', isBad: true, meaning: 'It ran, and its body threw.' },
  retry: {
    words: 'will retry',
    shape: 'triangle',
    isBad: true,
    meaning: 'An attempt failed; another follows.',
  },
  dead: {
    words: 'died',
    shape: 'cross',
    isBad: true,
    meaning: 'The process that ran it lost its lock, and its end is not known.',
  },
  missed: { words: 'missed', shape: 'triangle', isBad: true, meaning: 'Nobody started it in time.' },
  baseline: {
    words: 'new',
    shape: 'ring',
    isBad: false,
    meaning: 'The job is new: it waits for its next slot.',
  },
};

export function JobsPage(): JSX.Element {
  const page = useSignal<Page | null>(null);
  const error = useSignal<ApiError | null>(null);
  const attempt = useSignal(0);
  useEffect(() => poll({ path: 'api/v1/jobs', everyMs: ASK_EVERY_MS, body: page, error }), [attempt.value]);
  return (
    <main class={isStale() ? 'page stale' : 'page'}>
      <h1>
        Jobs <small>the last run of each, and the next slot</small>
      </h1>
      {error.value !== null ? (
        <Failure
          error={error.value}
          onRetry={() => {
            attempt.value += 1;
          }}
        />
      ) : page.value === null || (page.value.readAt === null && page.value.count === 0) ? (
        <Skeleton />
      ) : page.value.count === 0 ? (
        <Empty title="There are no jobs">
          <p>
            A job is here once <code>locks.schedule</code>, <code>locks.runJob</code> or{' '}
            <code>holdfast run --once-per</code> has asked for a slot of it.
          </p>
        </Empty>
      ) : (
        <JobTable jobs={page.value.jobs} />
      )}
      {page.value !== null && error.value === null && <ReadWhen page={page.value} />}
    </main>
  );
}

function ReadWhen({ page }: { readonly page: Page }): JSX.Element {
  const more = page.count - page.jobs.length;
  return (
    <p class="quiet">
      {page.readAt === null
        ? `${count(page.count)} found so far; the first walk over all keys is not over.`
        : `Read ${seconds(now.value - page.readAt)} ago. Times are those of the Redis server.`}
      {more > 0 && ` ${count(more)} more are not shown.`}
    </p>
  );
}

function JobTable({ jobs }: { readonly jobs: readonly JobView[] }): JSX.Element {
  return (
    <table class="trail jobs">
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">Last run</th>
          <th scope="col">State</th>
          <th scope="col">Took</th>
          <th scope="col">Where</th>
          <th scope="col">Next</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <JobRow key={job.name} job={job} />
        ))}
      </tbody>
    </table>
  );
}

function JobRow({ job }: { readonly job: JobView }): JSX.Element {
  const { words, shape, isBad, meaning } = STATES[job.state];
  return (
    <tr tabIndex={-1} data-item>
      <td>
        <b>{visible(job.name)}</b> <span class="quiet">{visible(job.schedule ?? 'by hand')}</span>
      </td>
      <td data-label="last">
        <time>{moment(job.slot, now.value)}</time>
      </td>
      <td>
        <span class={isBad ? 'mark is-late' : 'mark'} title={meaning}>
          <Shape name={shape} /> {words}
        </span>
        {job.attempt > 1 && <span class="quiet"> attempt {job.attempt}</span>}
        {job.error !== null && <div class="quiet">{visible(job.error)}</div>}
      </td>
      <td data-label="took">{job.tookMs === null ? '–' : duration(job.tookMs)}</td>
      <td data-label="on">{job.host === null ? '–' : visible(job.host)}</td>
      <td data-label="next">{job.next === null ? '–' : <time>{moment(job.next, now.value)}</time>}</td>
    </tr>
  );
}
