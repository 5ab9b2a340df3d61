/** The plots of one server. They are made when the card comes into sight; in a narrow window by a tap on the figure. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { PlottedLimits, ServerCard } from '../../src/api/types.ts';
import { monitorTime } from '../data/clock.ts';
import { type Columns, fetchColumns, grow, type PlottedName } from '../data/series.ts';
import { picture } from '../data/store.ts';
import { link } from '../data/stream.ts';
import { isNarrow } from '../data/width.ts';
import { bytes, count, milliseconds, percent } from '../data/words.ts';
import { Plot } from '../parts/plot.tsx';

/** Where the default rules warn: memory-high, cpu-high, connections-high, latency-high. For monitors without rules. */
const DEFAULT_LIMITS: PlottedLimits = {
  memoryShare: 0.8,
  cpuShare: 0.8,
  clientsShare: 0.8,
  roundTripMs: 50,
};

/** Marks at whole megabytes and gigabytes. */
const BYTE_STEPS = Array.from({ length: 28 }, (_, power) => 2 ** (power + 14));

interface Tile {
  readonly title: string;
  readonly words: string;
  readonly lines: readonly PlottedName[];
  readonly threshold: number | null;
  readonly isOver: boolean;
  readonly format: (value: number) => string;
  readonly steps?: readonly number[];
}

const LIMIT_WORDS = { maxmemory: '', config: ' (configured)', host: ' (memory of its host)' } as const;

function shareOf(share: number | null, limit: number | null): number | null {
  return share === null || limit === null || limit === 0 ? null : limit * share;
}

function isAbove(value: number | null, threshold: number | null): boolean {
  return value !== null && threshold !== null && value > threshold;
}

function known<T>(value: T | null, words: (value: T) => string): string {
  return value === null ? 'not known' : words(value);
}

function tilesOf(card: ServerCard, limits: PlottedLimits): readonly Tile[] {
  const { memoryUsed, memoryLimit, cpu, clients, clientsLimit, roundTripP50Ms, roundTripP99Ms } = card;
  const ofLimit =
    memoryLimit === null || memoryUsed === null
      ? ', no limit known'
      : ` of ${bytes(memoryLimit)}, ${percent(memoryUsed / memoryLimit)}${card.memoryLimitFrom === null ? '' : LIMIT_WORDS[card.memoryLimitFrom]}`;
  const memoryWarn = shareOf(limits.memoryShare, memoryLimit);
  const clientsWarn = shareOf(limits.clientsShare, clientsLimit);
  return [
    {
      title: 'Memory',
      words: known(memoryUsed, (used) => `${bytes(used)}${ofLimit}`),
      lines: ['memoryUsed'],
      threshold: memoryWarn,
      isOver: isAbove(memoryUsed, memoryWarn),
      format: bytes,
      steps: BYTE_STEPS,
    },
    {
      title: 'CPU of the main thread',
      words: known(cpu, percent),
      lines: ['cpu'],
      threshold: limits.cpuShare,
      isOver: isAbove(cpu, limits.cpuShare),
      format: percent,
    },
    {
      title: 'Clients',
      words: known(
        clients,
        (used) => `${count(used)}${clientsLimit === null ? '' : ` of ${count(clientsLimit)}`}`,
      ),
      lines: ['clients'],
      threshold: clientsWarn,
      isOver: isAbove(clients, clientsWarn),
      format: count,
    },
    {
      title: 'Commands',
      words: known(card.commandsPerSecond, (rate) => `${count(rate)}/s`),
      lines: ['commandsPerSecond'],
      threshold: null,
      isOver: false,
      format: count,
    },
    {
      title: 'Round trip p50 / p99',
      words: known(
        roundTripP50Ms,
        (half) => `${milliseconds(half)} / ${known(roundTripP99Ms, milliseconds)}`,
      ),
      lines: ['roundTripP50Ms', 'roundTripP99Ms'],
      threshold: limits.roundTripMs,
      isOver: isAbove(roundTripP99Ms, limits.roundTripMs),
      format: milliseconds,
    },
  ];
}

export function ServerPlots({ card }: { readonly card: ServerCard }): JSX.Element {
  const home = useRef<HTMLDivElement>(null);
  const isInSight = useSignal(false);
  const columns = useSignal<{ readonly columns: Columns; readonly stepMs: number } | null>(null);
  const revision = useSignal(0);
  const isLive = link.value.state === 'live';
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => {
      isInSight.value = entries.some(({ isIntersecting }) => isIntersecting);
    });
    if (home.current !== null) watcher.observe(home.current);
    return () => watcher.disconnect();
  }, []);
  // Once more after each cut: the figures of the time without a stream are only there.
  useEffect(() => {
    if (!isInSight.value || !isLive) return;
    let isOver = false;
    fetchColumns(card.id).then(
      (fetched) => {
        if (!isOver) columns.value = fetched;
      },
      // The figures above the plots are live without the history.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [card.id, isInSight.value, isLive]);
  useEffect(() => {
    if (columns.value !== null && grow(columns.value.columns, card, monitorTime(), columns.value.stepMs))
      revision.value += 1;
  }, [card]);
  return (
    <div class="tiles" ref={home}>
      {tilesOf(card, picture.value?.limits ?? DEFAULT_LIMITS).map((tile) => (
        <PlotTile
          key={tile.title}
          tile={tile}
          columns={columns.value?.columns ?? null}
          revision={revision.value}
        />
      ))}
    </div>
  );
}

interface PlotTileProps {
  readonly tile: Tile;
  readonly columns: Columns | null;
  readonly revision: number;
}

function PlotTile({ tile, columns, revision }: PlotTileProps): JSX.Element {
  const isOpen = useSignal(false);
  const point = useSignal<string | null>(null);
  const isPlotted = columns !== null && columns.times.length > 1 && (!isNarrow.value || isOpen.value);
  const words = (
    <>
      <span>{tile.title}</span> <b class={tile.isOver ? 'is-late' : undefined}>{point.value ?? tile.words}</b>
    </>
  );
  return (
    <div class="tile">
      {isNarrow.value ? (
        <button
          type="button"
          class="tile-title"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          {words}
        </button>
      ) : (
        <p class="tile-title">{words}</p>
      )}
      {isPlotted ? (
        <Plot
          times={columns.times}
          lines={tile.lines.map((name) => columns[name])}
          threshold={tile.threshold}
          format={tile.format}
          {...(tile.steps === undefined ? {} : { steps: tile.steps })}
          revision={revision}
          onPoint={(at) => {
            point.value = at;
          }}
        />
      ) : (
        !isNarrow.value && <div class="plot quiet">{columns === null ? '' : 'Too few points yet.'}</div>
      )}
    </div>
  );
}
